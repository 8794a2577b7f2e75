"""What gives every line of a text its label, the name of a kind of text. One protocol, one class for each way."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from jaxsmt.common.errors import UserError

NO_DOMAIN = "none"  # said for a domain: text of no particular kind, and nothing is to find one
CLUSTER_OF_PAIR = "cluster-of-pair.safetensors"  # only folders of target clusters have it


class Labeller(Protocol):
    """Labels sentences."""

    @property
    def names(self) -> tuple[str, ...]:
        """All labels that it may give."""

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """The label of every tokenised sentence, None for none; start: the place of the first one in the text."""


@dataclass(frozen=True)
class SameLabel:
    """The same label for every line, or none."""

    label: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.label is None else (self.label,)

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """The label, for each."""
        return [self.label] * len(sentences)


def same_label(domain: str) -> SameLabel:
    """For a domain that somebody names."""
    return SameLabel(None if domain == NO_DOMAIN else domain)


@dataclass(frozen=True)
class GivenLabels:
    """A label for each line of the text that somebody wrote down; source: where."""

    labels: Sequence[str | None]
    source: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for label in self.labels if label is not None))

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """Those at the places of the sentences; none at all mean that the text has ended."""
        if not sentences and start < len(self.labels):
            found_both = f"'{self.source}' has {len(self.labels)} lines and the input {start}"
            raise UserError(f"{found_both}: give one label a line")
        found = list(self.labels[start : start + len(sentences)])
        if len(found) < len(sentences):
            raise UserError(f"'{self.source}' has {len(self.labels)} lines and the input more: give one label a line")
        return found


def load_clusters(folder: Path) -> Labeller:
    """The labeller that a folder of clusters holds."""
    # what is not there need not be imported
    kind = "target_clusters" if (folder / CLUSTER_OF_PAIR).is_file() else "source_clusters"
    return import_module(f"jaxsmt.model.labelling.{kind}").load(folder)
