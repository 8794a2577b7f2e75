"""Pictures of a page as SVG: curves with intervals, points in a plane, scores with their spread."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxsmt.pipeline.page.markup import Html, tag
from jaxsmt.pipeline.page.style import colour

_WIDTH, _HEIGHT = 640, 300
# of a picture that is a file: plain, since many programs that show one know little of CSS
FILE_STYLE = "svg{background:#fff}text{font:13px sans-serif;fill:#1b1f24}.dot{fill:#1d5fc4}.rest{fill:#e4e8ee}"
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 12, 54


@dataclass(frozen=True)
class Line:
    """Points of a curve, y in order of x = 1, 2, …; low, high: an interval around each; chosen: the x of a ring."""

    name: str
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    chosen: int | None = None


@dataclass(frozen=True)
class Spread:
    """A score with its deviation, 0 for none."""

    name: str
    value: float
    deviation: float


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high: at most `most`, steps of 1, 2 or 5 times a power of ten."""
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if span / (factor * power) <= most - 1)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


class _Plane:
    """From values to places of a picture."""

    def __init__(self, xs: tuple[float, float], ys: tuple[float, float]):
        self.xs, self.ys = _widened(xs), _widened(ys)

    def x(self, value: float) -> float:
        return round(_LEFT + (value - self.xs[0]) / (self.xs[1] - self.xs[0]) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.ys[0]) / (self.ys[1] - self.ys[0])
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    def points(self, pairs: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(a)},{self.y(b)}" for a, b in pairs)

    def grid(self, x_name: str, y_name: str, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> list[Html]:
        bottom, made = _HEIGHT - _BOTTOM, []
        for value in y_ticks:
            place = self.y(value)
            made.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=place, y2=place, class_="grid"))
            made.append(tag("text", f"{value:g}", x=_LEFT - 6, y=place + 4, text_anchor="end", class_="axis"))
        for value in x_ticks:
            made.append(tag("text", f"{value:g}", x=self.x(value), y=bottom + 22, text_anchor="middle", class_="axis"))
        made.append(tag("text", x_name, x=_WIDTH - _RIGHT, y=_HEIGHT - 6, text_anchor="end", class_="axis"))
        return [*made, tag("text", y_name, x=_LEFT + 4, y=_TOP + 14, class_="axis")]


def curves(lines: Sequence[Line], title: str, x_name: str, y_name: str) -> Html:
    """Curves over whole numbers, with their intervals as bands."""
    values = [value for line in lines for value in (*line.values, *line.low, *line.high)]
    longest = max((len(line.values) for line in lines), default=0)
    if not values:
        return Html("")
    plane = _Plane((1, longest), (min(values), max(values)))
    x_ticks = [value for value in ticks(1, max(longest, 2), 9) if value >= 1 and value == int(value)]
    made = plane.grid(x_name, y_name, [x for x in x_ticks if x <= longest], ticks(*plane.ys))
    for number, line in enumerate(lines):
        made.append(tag("g", *_curve(plane, line), class_=colour(number)))
    return _picture(title, made, [line.name for line in lines] if len(lines) > 1 else [])


def _curve(plane: _Plane, line: Line) -> list[Html]:
    made, pairs = [], list(enumerate(line.values, 1))
    if line.low:
        edge = [*enumerate(line.high, 1), *reversed(list(enumerate(line.low, 1)))]
        made.append(tag("polygon", points=plane.points(edge), class_="band"))
    made.append(tag("polyline", points=plane.points(pairs), class_="curve"))
    for x, y in pairs:
        is_chosen = x == line.chosen
        shape = {"r": 5, "class_": "ring"} if is_chosen else {"r": 2.8, "class_": "dot"}
        made.append(tag("circle", cx=plane.x(x), cy=plane.y(y), **shape))
    return made


def scatter(points: Sequence[tuple[float, float]], groups: Sequence[int], names: Sequence[str], title: str) -> Html:
    """Points in a plane, one colour for each group."""
    if not points:
        return Html("")
    columns = [[point[axis] for point in points] for axis in (0, 1)]
    plane = _Plane(*((min(column), max(column)) for column in columns))
    made = []
    for number in range(len(names)):
        own = [point for point, group in zip(points, groups, strict=True) if group == number]
        dots = (tag("circle", cx=plane.x(x), cy=plane.y(y), r=2.4, class_="dot") for x, y in own)
        made.append(tag("g", *dots, class_=colour(number)))
    return _picture(title, made, names)


def spreads(rows: Sequence[Spread], title: str, x_name: str) -> Html:
    """A line for each score: where it is, and its deviation to both sides."""
    if not rows:
        return Html("")
    low = min(row.value - row.deviation for row in rows)
    high = max(row.value + row.deviation for row in rows)
    plane, step = _Plane((low, high), (0, 1)), 30
    height = _TOP + step * len(rows) + _BOTTOM
    made: list[Html] = []
    for value in ticks(*plane.xs):
        x = plane.x(value)
        made.append(tag("line", x1=x, x2=x, y1=_TOP, y2=height - _BOTTOM, class_="grid"))
        made.append(tag("text", f"{value:g}", x=x, y=height - _BOTTOM + 22, text_anchor="middle", class_="axis"))
    for number, row in enumerate(rows):
        y = _TOP + step * number + step // 2
        ends = [plane.x(row.value - row.deviation), plane.x(row.value + row.deviation)]
        whisker = tag("line", x1=ends[0], x2=ends[1], y1=y, y2=y, class_="whisker") if row.deviation else None
        dot = tag("circle", cx=plane.x(row.value), cy=y, r=5.5, class_="dot")
        made.append(tag("g", whisker, dot, class_=colour(number)))
    made.append(tag("text", x_name, x=_WIDTH - _RIGHT, y=height - 6, text_anchor="end", class_="axis"))
    return _picture(title, made, [row.name for row in rows], height)


def bars(rows: Sequence[tuple[str, float]], title: str, is_file: bool = False) -> Html:
    """A bar with its name and its number for each share 0 to 1; is_file: it stands by itself, with its own colours."""
    step, top = 44, 8
    shapes: list[Html] = []
    for number, (name, share) in enumerate(rows):
        y = top + step * number
        shapes.append(tag("text", f"{name}: {100 * share:.0f} %", x=0, y=y + 14))
        place = {"x": 0, "y": y + 20, "height": 12}
        shapes.append(tag("rect", width=_WIDTH, class_="rest", **place))
        if share > 0:
            shapes.append(tag("rect", width=round(_WIDTH * min(share, 1.0), 1), class_="dot s0", **place))
    height = top + step * len(rows)
    return _svg(title, shapes, height, FILE_STYLE) if is_file else _picture(title, shapes, [], height)


def cloud(
    points: Sequence[tuple[float, float]], labels: Mapping[float, str], chosen: Sequence[bool], title: str, x_name: str,
    y_name: str,
) -> Html:  # fmt: skip
    """Points over an axis whose places have labels; chosen: those with a ring."""
    if not points:
        return Html("")
    xs, ys = ([point[axis] for point in points] for axis in (0, 1))
    plane = _Plane((min([*xs, *labels]), max([*xs, *labels])), (min(ys), max(ys)))
    made = plane.grid(x_name, y_name, [], ticks(*plane.ys))
    for value, label in labels.items():
        where = {"x": plane.x(value), "y": _HEIGHT - _BOTTOM + 22}
        made.append(tag("text", label, text_anchor="middle", class_="axis", **where))
    for (x, y), is_chosen in sorted(zip(points, chosen, strict=True), key=lambda pair: pair[1]):
        shape = {"r": 5, "class_": "ring"} if is_chosen else {"r": 3.2, "class_": "dot"}
        made.append(tag("g", tag("circle", cx=plane.x(x), cy=plane.y(y), **shape), class_=colour(0)))
    return _picture(title, made, [])


def _svg(title: str, shapes: Sequence[Any], height: int, style: str | None = None) -> Html:
    """style: of a picture that stands by itself."""
    inner = [tag("title", title), *([] if style is None else [tag("style", Html(style))]), *shapes]
    space = None if style is None else "http://www.w3.org/2000/svg"
    return tag("svg", *inner, xmlns=space, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=title)


def _picture(title: str, shapes: Sequence[Any], names: Sequence[str], height: int = _HEIGHT) -> Html:
    picture = _svg(title, shapes, height)
    keys = [
        tag("li", tag("span", class_=f"key {colour(number)}", aria_hidden="true"), name)
        for number, name in enumerate(names)
    ]
    legend = tag("ul", *keys, class_="keys") if keys else None
    return tag("figure", picture, legend, tag("figcaption", title))


def _widened(ends: tuple[float, float]) -> tuple[float, float]:
    """A little room on both sides, and some where both ends are the same."""
    room = (ends[1] - ends[0]) * 0.04 or max(abs(ends[0]) * 0.02, 0.5)
    return ends[0] - room, ends[1] + room
