"""A corpus of a few sentences of the demo, as files, and train.py's function on it."""

from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from jaxsmt.common.files import write_text
from jaxsmt.demo import generate_demo
from jaxsmt.pipeline.config.keys import register_all_schemas
from tests.conftest import REPOSITORY

NUM_PAIRS = 40
ENOUGH_TO_TUNE = 60  # with fewer pairs there is not a 4-gram to be right about
COMPONENTS = ("kitchen", "travel")
LITTLE_MERT = ("restarts=1", "perturbation_rounds=0", "max_iterations=2")  # below tune, or adapt.mert
# what a few short sentences need: default beams would take most of the time of such a training
SMALL_SEARCH = (
    *(f"search.stack.{option}" for option in ("kept=20", "spans=48", "scored=64")),
    *(f"search.beam.{option}" for option in ("kept=8", "rules=24", "expanded=16", "neighbours=24")),
)
WORDS_AS_THEY_ARE = tuple(f"text.rare_words.{kind}=0" for kind in ("compounds", "hyphens", "forms"))
QUICK_MERT = ("tune=mert", *(f"tune.{option}" for option in LITTLE_MERT), "nbest_size=20")


def write_corpus(folder: Path, num_pairs: int = NUM_PAIRS) -> list[str]:
    """Writes two components, a development and a test set; returns the overrides that name them, with small beams."""
    demo = generate_demo()
    overrides = ["corpus=files", *SMALL_SEARCH]
    for domain in COMPONENTS:
        for part, split, number in (("components", "train", num_pairs), ("dev", "dev", 8), ("test", "test", 5)):
            for side, (place, language) in {"source": (0, "fr"), "target": (1, "en")}.items():
                path = folder / f"{domain}.{split}.{language}"
                write_text(path, "".join(pair[place] + "\n" for pair in demo[domain][split][:number]))
                overrides.append(f"+corpus.{part}.{domain}.{side}={path}")
    return overrides


def compose_config(name: str, overrides: list[str]) -> DictConfig:
    """The configuration a command line with these overrides leads to."""
    register_all_schemas()
    with initialize_config_dir(str(REPOSITORY / "conf"), version_base="1.3"):
        return compose(name, overrides)


def train_config(folder: Path, overrides: list[str]) -> DictConfig:
    """A training in a folder; without a page unless that is asked for, since it would take longer than all else."""
    return compose_config("train", ["report=false", *overrides, f"work_dir={folder}", f"output_dir={folder}"])


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file's bytes by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
