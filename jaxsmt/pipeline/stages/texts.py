"""The text stage: a bitext file becomes an artefact of ids, vocabularies and truecasers."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import fingerprint_file
from jaxsmt.common.ragged import Ragged, concatenate
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.encoding import TextConfig, TextSide, load_side
from jaxsmt.text.languages.rare_words import RareWords, learn_rare_words
from jaxsmt.text.preparing import prepare_bitext, rewritten_side
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.typography import merge_typographies
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary, merge_vocabularies
from jaxsmt.tm.component import load_component

ARRAYS = "text.safetensors"
FOLDER = "component"  # of a component in its artefact


@dataclass(frozen=True)
class ComponentText:
    """One component's training text as the store holds it."""

    name: str
    artefact: Artefact
    bitext: Bitext
    source: TextSide
    target: TextSide
    rows: np.ndarray  # [R] int64: the place of each pair in the input
    origins: np.ndarray | None = None  # of source words, if rare ones were rewritten: see `Rewritten`


@dataclass(frozen=True)
class JointText:
    """The texts of several components, one after the other, in merged ids."""

    bitext: Bitext
    source: Vocabulary
    target: Vocabulary
    sizes: list[int]  # pairs per component

    def split(self, rows: Ragged) -> list[Ragged]:
        """Cuts rows for all pairs (alignments) into those of each component."""
        ends = np.cumsum(self.sizes)
        return [rows.take(np.arange(end - size, end)) for size, end in zip(self.sizes, ends, strict=True)]


def text_stage(
    store: Store, name: str, spec: BitextSource, config: TextConfig, like: Sequence[ComponentText] = ()
) -> ComponentText:
    """Reads and prepares a component's training text, or another text with the words and the casing of components."""

    def build(folder: Path) -> Counts:
        sides = None
        if like:
            sides = merge_sides([text.source for text in like]), merge_sides([text.target for text in like])
        languages = (spec.source_language, spec.target_language)
        prepared = prepare_bitext(read_bitext(spec), config, languages, sides, name, spec.files, store.tasks)
        if not len(prepared.bitext):
            files = ", ".join(spec.files)
            raise UserError(f"component '{name}' has no usable sentence pair ({files}): check the files")
        sides_of_text = prepared.source, prepared.target
        save_text(folder, prepared.bitext, sides_of_text, prepared.rows, prepared.origins)
        return {"sentence_pairs": len(prepared.bitext), "cleaning": prepared.counts.table}

    inputs = {f"file {number}": fingerprint_input(path) for number, path in enumerate(spec.files)}
    inputs |= {f"like {text.name}": text.artefact.fingerprint for text in like}
    artefact = store.run(f"text-{name}", {"reading": _reading(spec), "text": dataclasses.asdict(config)}, inputs, build)
    return load_text(name, artefact)


def rewrite_rare_words(
    store: Store, texts: Sequence[ComponentText], config: TextConfig, imported: Mapping[str, Artefact] | None = None
) -> list[ComponentText]:
    """The components' texts with rare words of the source language rewritten, as all of them together say.

    imported: components without text, whose words are not rare.
    """
    if not (texts and config.tokenise and config.rare_words.for_language(texts[0].source.language).most):
        return list(texts)
    sides = [(text.source.vocabulary, text.bitext.source) for text in texts]
    counted = [
        (words.words, np.bincount(ids.values, minlength=len(words))[NUM_RESERVED:].tolist()) for words, ids in sides
    ]
    imported = imported or {}
    for artefact in imported.values():
        words = load_component(artefact.folder / FOLDER).source_vocabulary.words
        counted.append((words, [config.rare_words.most] * len(words)))
    rare_words = learn_rare_words(texts[0].source.language, config.rare_words, counted)
    inputs = {f"text {text.name}": text.artefact.fingerprint for text in texts}
    inputs |= {f"component {name}": artefact.fingerprint for name, artefact in imported.items()}
    return [_rewriting_stage(store, text, rare_words, inputs) for text in texts]


def _rewriting_stage(
    store: Store, text: ComponentText, rare_words: RareWords, inputs: Mapping[str, str]
) -> ComponentText:
    """One of them."""

    def build(folder: Path) -> Counts:
        ids, source, origins = rewritten_side(text.bitext.source, text.source, rare_words)
        save_text(folder, Bitext(ids, text.bitext.target), (source, text.target), text.rows, origins)
        more = len(ids.values) - len(text.bitext.source.values)
        return {**text.artefact.counts, "words_more": more}

    settings = {"rare_words": dataclasses.asdict(rare_words.config)}
    artefact = store.run(f"text-{text.name}-rewritten", settings, inputs, build)
    return load_text(text.name, artefact)


def save_text(
    folder: Path,
    bitext: Bitext,
    sides: tuple[TextSide, TextSide],
    rows: np.ndarray,
    origins: np.ndarray | None = None,
) -> None:
    """Writes arrays and both sides; rows, origins: as in `ComponentText`."""
    arrays = {
        "source_values": bitext.source.values,
        "source_offsets": bitext.source.offsets,
        "target_values": bitext.target.values,
        "target_offsets": bitext.target.offsets,
        "rows": rows,
    }
    if origins is not None:
        arrays["source_origins"] = origins
    save_arrays(folder / ARRAYS, arrays)
    for side, name in zip(sides, ("source", "target"), strict=True):
        side.save(folder, name)


def load_text(name: str, artefact: Artefact) -> ComponentText:
    """Opens what `save_text` wrote; the ids stay memory-mapped."""
    arrays = open_arrays(artefact.folder / ARRAYS)
    bitext = Bitext(
        Ragged(arrays["source_values"], arrays["source_offsets"]),
        Ragged(arrays["target_values"], arrays["target_offsets"]),
    )
    sides = load_side(artefact.folder, "source"), load_side(artefact.folder, "target")
    return ComponentText(name, artefact, bitext, *sides, arrays["rows"], arrays.get("source_origins"))


def join_texts(texts: Sequence[ComponentText]) -> JointText:
    """All components' pairs in the order given, ids renumbered to the merged vocabularies."""
    sources, source_maps = merge_vocabularies([text.source.vocabulary for text in texts])
    targets, target_maps = merge_vocabularies([text.target.vocabulary for text in texts])
    bitext = Bitext(
        _renumbered([text.bitext.source for text in texts], source_maps),
        _renumbered([text.bitext.target for text in texts], target_maps),
    )
    return JointText(bitext, sources, targets, [len(text.bitext) for text in texts])


def merge_sides(sides: Sequence[TextSide]) -> TextSide:
    """One side for several components: vocabularies joined, truecasing counts added, each its own typography."""
    vocabulary, _ = merge_vocabularies([side.vocabulary for side in sides])
    truecaser = None
    if sides[0].config.case == "true":
        counts: Counter[str] = Counter()
        for side in sides:
            counts.update(side.truecaser.counts if side.truecaser else {})
        truecaser = Truecaser(dict(counts))
    has_typography = any(side.typography is not None for side in sides)
    typography = merge_typographies(side.typography for side in sides) if has_typography else None
    return TextSide(sides[0].language, sides[0].config, vocabulary, truecaser, typography, sides[-1].rare_words)


def _renumbered(parts: Sequence[Ragged], maps: Sequence[np.ndarray]) -> Ragged:
    return concatenate([Ragged(ids[part.values], part.offsets) for part, ids in zip(parts, maps, strict=True)])


def fingerprint_input(path: str) -> str:
    """The sha256 of a file that a person named."""
    try:
        return fingerprint_file(path)
    except FileNotFoundError:
        raise UserError(f"'{path}' does not exist: check the path in the corpus configuration") from None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error.strerror}): check the path and its permissions") from None


def bitext_inputs(dev: Mapping[str, BitextSource]) -> dict[str, str]:
    """Fingerprints of texts: their files, and how they are read (`first` and the like)."""
    inputs: dict[str, str] = {}
    for name, spec in dev.items():
        inputs |= {f"dev {name} {n}": fingerprint_input(path) for n, path in enumerate(spec.files)}
        inputs[f"dev {name} reading"] = json.dumps(_reading(spec), sort_keys=True, ensure_ascii=False)
    return inputs


def _reading(spec: BitextSource) -> dict[str, Any]:
    """How the files of a bitext are read, whatever their names."""
    return {key: value for key, value in dataclasses.asdict(spec).items() if key not in ("source", "target", "path")}
