"""What an experiment is: conf/experiment/<name>.yaml read into frozen dataclasses."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.config.rooms import plain

Place = tuple[str, str]  # row and column of a table

KEYS = ("name", "title", "paper", "train", "demo", "systems", "members", "adaptation", "figures", "claims")


@dataclass(frozen=True)
class Figures:
    """Figures that a paper prints: of which table, for our table with a key (and, if given, for a text alone)."""

    source: str
    table: str
    values: Mapping[Place, float]
    text: str | None = None


@dataclass(frozen=True)
class Claim:
    """What a paper finds: one place of a table is at least as good as another.

    table: key of our table; better, than: its places; difference: what the paper states, where it prints no figures.
    """

    says: str
    table: str
    better: Place
    than: Place
    difference: float | None = None


@dataclass(frozen=True)
class OnDemo:
    """train: what trainings are told besides; rows: those of some rows; corpus: which of its texts are taken, all of
    a part that is not named; without: rows, and places 'row, column', that are left out."""

    train: tuple[str, ...] = ()
    corpus: Mapping[str, Any] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def has(self, place: Place) -> bool:
        row, column = place
        return not {row, f"{row}, {column}"} & self.without


@dataclass(frozen=True)
class Experiment:
    """The comparison of a paper.

    train: what every training is told; demo: what is different on the demo.
    systems: what the training of each place of the table is told, the first being the baseline.
    members: what the training of a bag is told, by the name of its rows.
    adaptation: settings of `AdaptationConfig`, where adaptation and re-estimation are compared.
    """

    name: str
    title: str
    paper: str
    train: tuple[str, ...] = ()
    demo: OnDemo = field(default_factory=OnDemo)
    systems: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    adaptation: Mapping[str, Any] = field(default_factory=dict)
    figures: tuple[Figures, ...] = ()
    claims: tuple[Claim, ...] = ()


def on_demo(experiment: Experiment) -> Experiment:
    """The experiment with what is different on the demo."""
    demo = experiment.demo
    systems = {
        (row, column): (*told, *demo.rows.get(row, ()))
        for (row, column), told in experiment.systems.items()
        if demo.has((row, column))
    }
    members = {name: (*told, *demo.rows.get(name, ())) for name, told in experiment.members.items()}
    return dataclasses.replace(experiment, train=(*experiment.train, *demo.train), systems=systems, members=members)


def read_experiment(node: DictConfig) -> Experiment:
    """The experiment of a configuration; raises UserError where it makes no sense."""
    values = plain(node)
    for key in values:
        if key not in KEYS:
            raise UserError(f"experiment.{key} is no key of an experiment: choose of {', '.join(KEYS)}")
    name = str(values.get("name") or "")
    if not name.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"experiment.name is '{name}': use letters, digits, '-' and '_'")
    systems = {place: tuple(told) for place, told in _places(values.get("systems")).items()}
    adaptation = values.get("adaptation") or {}
    if not systems and not adaptation:
        raise UserError(f"experiment={name} compares nothing: give it systems, or adaptation")
    return Experiment(
        name, values.get("title") or name, values.get("paper") or "", tuple(values.get("train") or ()),
        _demo(values.get("demo") or {}), systems,
        {str(row): tuple(told) for row, told in (values.get("members") or {}).items()}, adaptation,
        tuple(_figures(entry) for entry in values.get("figures") or ()),
        tuple(_claim(entry) for entry in values.get("claims") or ()),
    )  # fmt: skip


def _demo(values: Mapping[str, Any]) -> OnDemo:
    without = frozenset(str(name) for name in values.get("without") or ())
    rows = {str(row): tuple(told) for row, told in (values.get("rows") or {}).items()}
    return OnDemo(tuple(values.get("train") or ()), values.get("corpus") or {}, without, rows)


def _figures(entry: Mapping[str, Any]) -> Figures:
    values = {place: float(value) for place, value in _places(entry["values"]).items()}
    return Figures(entry["source"], entry["table"], values, entry.get("text"))


def _claim(entry: Mapping[str, Any]) -> Claim:
    return Claim(entry["says"], entry["table"], _place(entry["better"]), _place(entry["than"]), entry.get("difference"))


def _place(names: Sequence[Any]) -> Place:
    row, column = names
    return str(row), str(column)


def _places(rows: Mapping[Any, Mapping[Any, Any]] | None) -> dict[Place, Any]:
    """What is said by row, then column, by both."""
    return {(str(row), str(column)): told for row, own in (rows or {}).items() for column, told in own.items()}
