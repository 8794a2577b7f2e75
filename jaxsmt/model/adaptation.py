"""What an adaptation is to a model, how it lies in the model's folder, `adaptation/`, and how it comes back.

adaptation.json          format version, method and its settings
votes-<n>.safetensors    bpa: weight vectors that vote, for label n        (jaxsmt.model.reranking.voting)
members.safetensors      bagging: weights of all members                   (jaxsmt.model.reranking.bagging)
recogniser.*             recognise: the classifier                         (jaxsmt.model.labelling.recognition)
"""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.model import LabelSettings

if TYPE_CHECKING:
    from jaxsmt.model.reranking.bagging import Bag
    from jaxsmt.model.translation import PlainTranslator, Translator

FORMAT_VERSION = 1
SETTINGS = "adaptation.json"
METHODS = {"bpa": "reranking.voting", "bagging": "reranking.bagging", "recognise": "labelling.recognition"}


class Adaptation(Protocol):
    """What a method of adaptation adds to a model."""

    @property
    def fixes_weights(self) -> bool:
        """Whether it has log-linear weights of its own, so that nobody can give others."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of text that it has something for."""

    @property
    def settings(self) -> LabelSettings:
        """What it found for them."""

    @property
    def labeller(self) -> Labeller | None:
        """What finds them, if it does so itself."""

    @property
    def bag(self) -> "Bag | None":
        """Its members, where it has several."""

    def is_for(self, label: str | None) -> bool:
        """Whether text with a label is translated differently."""

    def translator(self, plain: "PlainTranslator") -> "Translator":
        """What translates with it; plain: the model without it."""

    def save(self, folder: Path) -> None:
        """Writes its files into a folder, which may be there."""


def load_adaptation(folder: Path) -> Adaptation:
    """What a method saved."""
    path = folder / SETTINGS
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        if settings["format"] != FORMAT_VERSION:
            raise ValueError
        # what is not there need not be imported
        return import_module(f"jaxsmt.model.{METHODS[settings['method']]}").load(folder, settings)
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' is missing, damaged or of another version: train the model again") from None


def write_settings(folder: Path, method: str, settings: Mapping[str, Any]) -> None:
    """Writes adaptation.json."""
    text = json.dumps({"format": FORMAT_VERSION, "method": method, **settings}, indent=1, ensure_ascii=False)
    write_text(folder / SETTINGS, text + "\n")
