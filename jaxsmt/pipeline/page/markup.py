"""HTML from nested calls. What is not already markup is escaped when it becomes part of it, so nothing is forgotten."""

import re
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = frozenset(("meta", "br", "hr", "col"))
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # HTML has no place for them


class Html(str):
    """Text that is markup."""


def escaped(value: object) -> Html:
    """Any value as markup that shows it; bytes of file names that are no text, and control characters, show as �."""
    if isinstance(value, Html):
        return value
    text = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return Html(escape(_CONTROL.sub("\ufffd", text), quote=True))


def joined(children: Iterable[Any], separator: str = "") -> Html:
    """Pieces one after the other; None is left out."""
    return Html(escaped(separator).join(escaped(child) for child in children if child is not None))


def tag(element: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. `class_` is class, `aria_label` aria-label; an attribute that is None or False is left out."""
    shown = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        shown.append(f" {key}" if value is True else f' {key}="{escaped(value)}"')
    start = f"<{element}{''.join(shown)}>"
    return Html(start if element in VOID else f"{start}{joined(children)}</{element}>")


def hidden(text: str) -> Html:
    """For those who hear the page."""
    return tag("span", text, class_="heard")


def details(summary: Any, *children: Any, class_: str | None = None) -> Html:
    """What opens on a click, or by the keyboard."""
    return tag("details", tag("summary", summary), *children, class_=class_)


def section(name: str, title: str, *children: Any) -> Html:
    """A part of the page that can be linked to; name: its id."""
    return tag("section", tag("h2", title, id=f"{name}-title"), *children, id=name, aria_labelledby=f"{name}-title")


def document(title: str, style: str, navigation: Iterable[tuple[str, str]], *children: Any) -> str:
    """A whole page that loads nothing, not even where some text in it would want to."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    links = (tag("li", tag("a", text, href=f"#{name}")) for name, text in navigation)
    body = tag(
        "body",
        tag("a", "Skip to the results", href="#main", class_="skip"),
        tag("header", tag("h1", title), tag("nav", tag("ul", *links), aria_label="Parts of this page")),
        tag("main", *children, id="main"),
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{body}\n</html>\n'
