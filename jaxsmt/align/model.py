"""The trained aligner: configuration, parameters, and its folder on disk."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from jaxsmt.align.cells import WordPairs
from jaxsmt.align.em import PassKind
from jaxsmt.align.lexicon import Lexicon
from jaxsmt.align.positions import Positions
from jaxsmt.align.symmetrise import SYMMETRISATIONS
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.device import device_kind
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.settings import check_choices, check_ranges

FORMAT = 1
PRODUCT = "product"  # links where the product of both directions' posteriors is above a threshold
LINKINGS = (*SYMMETRISATIONS, PRODUCT)


@dataclass(frozen=True)
class AlignConfig:
    """How to train and use the aligner.

    ibm1_iterations, diagonal_iterations, hmm_iterations: passes of each model over the text, in this order; each
      ends with an M-step but the very last, which aligns (5 passes are 4 re-estimations).
    null_probability: p0, the prior probability that a word comes from NULL, in IBM 1 and the diagonal model.
    hmm_null_probability: the same in the HMM.
    tension: start value of the diagonal prior's tension; optimise_tension: whether EM re-estimates it.
    alpha: Dirichlet prior of variational Bayes; 0 for plain maximum likelihood.
    alike_alpha: as much is added to it for a pair of words of which all letters are alike (`likeness.py`), less where
      some are, and nothing where spellings are not known.
    agreement: the HMM's passes count a link by the product of both directions' posteriors (`agreement.py`).
    symmetrisation: intersect, union, grow-diag, grow-diag-final, grow-diag-final-and, or product.
    product_threshold: with the last one, the links are those whose product of posteriors is above it.
    cells_per_batch, max_shapes: size of a batch and number of padded shapes (each is compiled once).
    index_memory_gb: the numbered cells of the text go to a temporary file above this size.
    """

    ibm1_iterations: int = 0
    diagonal_iterations: int = 4
    hmm_iterations: int = 2
    null_probability: float = 0.08
    hmm_null_probability: float = 0.2
    tension: float = 4.0
    optimise_tension: bool = True
    alpha: float = 0.01
    alike_alpha: float = 0.0
    agreement: bool = False
    symmetrisation: str = "grow-diag-final-and"
    product_threshold: float = 0.2
    cells_per_batch: int = 1 << 20
    max_shapes: int = 10
    index_memory_gb: float = 4.0

    def __post_init__(self):
        check_choices(self, "align", {"symmetrisation": LINKINGS})
        for name in ("null_probability", "hmm_null_probability", "product_threshold"):
            if not 0 < getattr(self, name) < 1:
                raise UserError(f"align.{name} is {getattr(self, name)}: give a probability between 0 and 1")
        check_ranges(self, "align", {f"{model}_iterations": (0, 1000) for model in ("ibm1", "diagonal", "hmm")})
        if not self.schedule:
            raise UserError("align has no iterations: give at least one of ibm1, diagonal and hmm, such as 5")
        ranges = dict.fromkeys(("alpha", "alike_alpha", "tension", "index_memory_gb"), (0.0, 1000000.0))
        check_ranges(self, "align", {**ranges, "cells_per_batch": (1, 1 << 28), "max_shapes": (1, 1000)})

    @property
    def schedule(self) -> list[str]:
        """The model of every EM pass."""
        counts = ("ibm1", self.ibm1_iterations), ("diagonal", self.diagonal_iterations), ("hmm", self.hmm_iterations)
        return [model for model, number in counts for _ in range(number)]

    def kind_of(self, model: str) -> PassKind:
        """What a pass with the model computes; only the HMM's directions are good enough to agree."""
        return PassKind(model, self.agreement and model == "hmm", device_kind() != "cpu")

    def null_probability_of(self, model: str) -> float:
        return self.hmm_null_probability if model == "hmm" else self.null_probability

    def positions_of(self, positions: Positions, model: str) -> Positions:
        """The positions as the model uses them: IBM 1 has no tension."""
        return positions._replace(tension=positions.tension * 0) if model == "ibm1" else positions


@dataclass(frozen=True)
class Aligner:
    """Parameters of both directions over the word pairs kept, the model they belong to, and how it was trained."""

    pairs: WordPairs
    lexicon: Lexicon
    positions: Positions
    model: str
    config: AlignConfig


def save_aligner(folder: str | Path, aligner: Aligner) -> None:
    """Writes the aligner as arrays and a manifest."""
    folder = Path(folder)
    arrays = {f"pairs.{name}": np.asarray(value) for name, value in vars(aligner.pairs).items()}
    arrays |= {f"lexicon.{name}": np.asarray(value) for name, value in aligner.lexicon._asdict().items()}
    arrays |= {f"positions.{name}": np.asarray(value) for name, value in aligner.positions._asdict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    save_arrays(folder / "aligner.safetensors", arrays)
    manifest = {"format": FORMAT, "model": aligner.model, "config": asdict(aligner.config)}
    write_text(folder / "aligner.json", json.dumps(manifest, indent=2, sort_keys=True) + "\n")


def load_aligner(folder: str | Path) -> Aligner:
    """Reads what `save_aligner` wrote."""
    folder = Path(folder)
    path = folder / "aligner.json"
    if not path.is_file():
        raise UserError(f"'{folder}' holds no aligner (no aligner.json): run train.py to make it")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    if manifest["format"] != FORMAT:
        raise UserError(f"'{path}' has format {manifest['format']}, this version reads {FORMAT}: train again")
    arrays = open_arrays(folder / "aligner.safetensors")

    def part(prefix: str) -> dict[str, np.ndarray]:
        return {name.split(".")[1]: value for name, value in arrays.items() if name.startswith(prefix + ".")}

    lexicon = Lexicon(**{name: jnp.asarray(value) for name, value in part("lexicon").items()})
    positions = Positions(**{name: np.array(value) for name, value in part("positions").items()})
    return Aligner(WordPairs(**part("pairs")), lexicon, positions, manifest["model"], AlignConfig(**manifest["config"]))
