"""Reads a page as a browser would: elements with their attributes and text; and what makes it a good one."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "br", "hr", "col"}
LOADING = {"script", "link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"}


@dataclass
class Element:
    """name, attributes and children, which are elements and strings."""

    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list = field(default_factory=list)

    def text(self, without: tuple[str, ...] = (), heard: bool = False) -> str:
        """All text below it, without some elements; heard: with what only those who hear the page get."""
        parts = []
        for child in self.children:
            if isinstance(child, str):
                parts.append(child)
            elif child.name not in without and (heard or child.attributes.get("class") != "heard"):
                parts.append(child.text(without, heard))
        return "".join(parts)

    def all(self, name: str, **attributes: str) -> list["Element"]:
        """Elements below it with a name and attributes."""
        found = []
        for child in self.children:
            if not isinstance(child, str):
                wanted = all(child.attributes.get(key.rstrip("_")) == value for key, value in attributes.items())
                found += [child] if wanted and name in (child.name, "*") else []
                found += child.all(name, **attributes)
        return found

    def one(self, name: str, **attributes: str) -> "Element":
        (found,) = self.all(name, **attributes)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [Element("document")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), attrs
        element = Element(tag, dict(attrs))
        self.stack[-1].children.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.stack[-1].children.append(data)


def read_page(html: str) -> Element:
    """The page; every element has its end where it must be."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.stack) == 1, [element.name for element in reader.stack]
    return reader.stack[0]


def rows_of(page: Element, caption: str) -> list[list[str]]:
    """The heads and rows of the table with a caption that begins so; names that rows share are in each of them."""
    (table,) = [own for own in page.all("table") if own.one("caption").text().startswith(caption)]
    made: list[list[str]] = []
    waiting: dict[int, tuple[str, int]] = {}
    for row in table.all("tr"):
        cells: list[str] = []
        for cell in row.all("th") + row.all("td"):
            while len(cells) in waiting and waiting[len(cells)][1] > 0:
                text, left = waiting[len(cells)]
                waiting[len(cells)] = text, left - 1
                cells.append(text)
            if "rowspan" in cell.attributes:
                waiting[len(cells)] = cell.text(), int(cell.attributes["rowspan"]) - 1
            cells.append(cell.text())
        made.append(cells)
    return made


def check_page(html: str) -> Element:
    """Loads nothing, has no script, and those who hear it or have no mouse find their way; returns the page."""
    page = read_page(html)
    for element in page.all("*"):
        assert element.name not in LOADING
        assert not [key for key in element.attributes if key.startswith("on") or key in ("src", "srcset", "data")]
        target = element.attributes.get("href", "#")
        assert target.startswith("#") or (":" not in target and not target.startswith("/")), target
    style = page.one("style").text()
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in html.replace("http-equiv", "")
    ids = [element.attributes["id"] for element in page.all("*") if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    assert {link.attributes["href"][1:] for link in page.all("a") if link.attributes["href"][0] == "#"} <= set(ids)
    assert page.one("html").attributes["lang"] == "en"
    assert len(page.all("h1")) == len(page.all("main")) == len(page.all("title")) - len(page.all("svg")) == 1
    levels = [int(element.name[1]) for element in page.all("*") if element.name in ("h1", "h2", "h3", "h4")]
    assert all(below <= above + 1 for above, below in pairwise(levels))
    assert page.one("body").all("*")[0].attributes["class"] == "skip"
    for table in page.all("table"):
        assert table.one("caption").text().strip()
        assert all(head.attributes["scope"] in ("row", "col") for head in table.all("th"))
    assert all(region.attributes["aria-label"] for region in page.all("div", role="group"))
    assert all(picture.attributes["aria-label"] for picture in page.all("svg"))
    assert all(fold.children[0].name == "summary" for fold in page.all("details"))
    return page
