"""A parallel text named on the command line, prepared like a component of training."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.config.texts import text_config
from jaxsmt.pipeline.stages.texts import ComponentText, text_stage
from jaxsmt.pipeline.standard import input_lines, write_lines
from jaxsmt.pipeline.store import Store
from jaxsmt.text.cleaning import READ
from jaxsmt.text.reading import BitextSource

NAME = "text"  # of the component that the text is
SEPARATOR = "|||"


def given_text(store: Store, config: DictConfig, like: Sequence[ComponentText] = ()) -> ComponentText:
    """The text `source` and `target`, or the pairs of `input`; like: a text whose words and preparation it takes."""
    source, target = _two_files(config, store.folder)
    languages = config.source_language, config.target_language
    settings = text_config(config.text)
    if like:
        languages = like[0].source.language, like[0].target.language
        settings = replace(like[0].source.config, clean=settings.clean)
    spec = BitextSource(source, target, source_language=languages[0], target_language=languages[1])
    return text_stage(store, NAME, spec, settings, like)


def num_pairs(text: ComponentText) -> int:
    """How many pairs were read, those that cleaning dropped included."""
    return text.artefact.counts["cleaning"][READ]


def _two_files(config: DictConfig, scratch: Path) -> tuple[str, str]:
    if (config.source is None) != (config.target is None):
        raise UserError("source and target go together: name both files, or give lines 'source ||| target' as input")
    if config.source is not None:
        return config.source, config.target
    files = str(scratch / "source.txt"), str(scratch / "target.txt")
    pairs = list(_split_lines(config.input))
    for place, file in enumerate(files):
        write_lines(file, (pair[place] for pair in pairs))
    return files


def _split_lines(path: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(input_lines(path), 1):
        sides = line.split(SEPARATOR)
        if len(sides) != 2:
            raise UserError(
                f"input '{path}' line {number} has {len(sides) - 1} times '{SEPARATOR}': "
                f"write a pair as 'source {SEPARATOR} target', or give two files, source=… and target=…"
            )
        yield sides[0].strip(), sides[1].strip()
