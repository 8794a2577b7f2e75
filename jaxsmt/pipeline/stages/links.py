"""The alignment stages: word links for every component and development set.

Links come from an aligner trained here, from one trained before, or from Pharaoh files.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxsmt.align.likeness import likeness_prior
from jaxsmt.align.links import check_links, make_links, read_links, write_links
from jaxsmt.align.model import AlignConfig, load_aligner, save_aligner
from jaxsmt.align.training import align, train_and_align
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged
from jaxsmt.pipeline.config.schemas import LinksConfig
from jaxsmt.pipeline.stages.texts import ComponentText, fingerprint_input, join_texts, text_stage
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.reading import BitextSource
from jaxsmt.text.spelling import spellings
from jaxsmt.text.vocabulary import load_vocabulary

ALIGNER = "aligner"


@dataclass(frozen=True)
class TextLinks:
    """The word links of one text and the artefact they are in."""

    artefact: Artefact
    links: Ragged  # values [T, 2] int32 (source position, target position)
    aligner: Path | None  # the folder of the aligner that made them
    further: tuple["TextLinks", ...] = ()  # of other aligners


def links_stage(
    store: Store, texts: Sequence[ComponentText], config: AlignConfig, source: LinksConfig
) -> dict[str, TextLinks]:
    """Links of all components, by name; those from files are all that their component has."""
    unknown = sorted(set(source.files) - {text.name for text in texts})
    if unknown:
        names = ", ".join(text.name for text in texts)
        raise UserError(f"links.files names '{unknown[0]}', which is not a component: the components are {names}")
    by_name = {text.name: text for text in texts}
    found = {name: _given_links(store, by_name[name], path) for name, path in source.files.items()}
    rest = [text for text in texts if text.name not in found]
    if source.aligner is not None:
        found |= {text.name: links_by_aligner(store, text, Path(source.aligner)) for text in rest}
    else:
        found |= _trained_groups(store, rest, config, source.scope)
    for own in source.further.values():
        more = _trained_groups(store, rest, own, source.scope)
        found |= {name: replace(found[name], further=(*found[name].further, part)) for name, part in more.items()}
    return {text.name: found[text.name] for text in texts}


def links_by_aligner(store: Store, text: ComponentText, folder: Path) -> TextLinks:
    """Links of any text by an aligner that was trained on other text: a development set, a new component."""

    def build(target: Path) -> Counts:
        sides = (text.source.vocabulary, "source"), (text.target.vocabulary, "target")
        maps = [words.ids_in(load_vocabulary(folder / f"{name}.vocabulary")) for words, name in sides]
        parts = zip((text.bitext.source, text.bitext.target), maps, strict=True)
        bitext = Bitext(*(Ragged(ids[part.values], part.offsets) for part, ids in parts))
        return _save_links(target, text.name, align(load_aligner(folder), bitext))

    aligner = fingerprint_input(str(folder / "aligner.safetensors"))
    artefact = store.run(f"links-{text.name}", {}, {"text": text.artefact.fingerprint, ALIGNER: aligner}, build)
    return _load_links(artefact, text.name, folder)


def development_texts(
    store: Store, sources: Mapping[str, BitextSource], texts: Sequence[ComponentText]
) -> dict[str, ComponentText]:
    """The development sets, prepared like the components; the text of set <name> is called 'dev.<name>'."""
    config = replace(texts[0].source.config, clean=False)
    return {name: text_stage(store, f"dev.{name}", spec, config, texts) for name, spec in sources.items()}


def development_links(
    store: Store, development: Mapping[str, ComponentText], links: Mapping[str, TextLinks], given: Mapping[str, str]
) -> dict[str, TextLinks]:
    """Links of development sets: from given files, or by the aligner of their component, or else the first there is."""
    unknown = sorted(set(given) - set(development))
    if unknown:
        raise UserError(f"links.development names '{unknown[0]}', which is not a development set: see corpus.dev")
    found = {name: _given_links(store, development[name], path) for name, path in given.items()}
    aligners = {name: part.aligner for name, part in links.items() if part.aligner is not None}
    if not aligners:
        return found
    first = next(iter(aligners.values()))
    rest = {name: text for name, text in development.items() if name not in found}
    return found | {name: links_by_aligner(store, text, aligners.get(name) or first) for name, text in rest.items()}


def export_links(folder: Path, links: Mapping[str, tuple[ComponentText, TextLinks]]) -> None:
    """Writes <folder>/<name>.align in Pharaoh format, of the words that a line has before rare ones are rewritten."""
    for name, (text, part) in links.items():
        write_links(folder / f"{name}.align", _of_original_words(text, part.links))


def _of_original_words(text: ComponentText, links: Ragged) -> Ragged:
    """Links of a text with its source words as they were before rare ones were rewritten."""
    if text.origins is None:
        return links
    row = links.row_index
    source = text.origins[text.bitext.source.offsets[row] + links.values[:, 0]]
    return make_links(row, source, links.values[:, 1], len(links))


def _trained_groups(
    store: Store, texts: Sequence[ComponentText], config: AlignConfig, scope: str
) -> dict[str, TextLinks]:
    """One aligner for all texts, or one for each."""
    groups = [texts] if scope == "joint" and texts else [[text] for text in texts]
    return {name: part for group in groups for name, part in _trained_links(store, group, config).items()}


def _trained_links(store: Store, texts: Sequence[ComponentText], config: AlignConfig) -> dict[str, TextLinks]:
    """Trains one aligner on the given texts together."""

    def build(folder: Path) -> Counts:
        joint = join_texts(texts)
        known = spellings(joint.source), spellings(joint.target)
        prior_fn = likeness_prior(*known, config.alike_alpha) if config.alike_alpha else None
        sizes = len(joint.source), len(joint.target)
        aligner, links = train_and_align(joint.bitext, *sizes, config, prior_fn=prior_fn, tasks=store.tasks)
        save_aligner(folder / ALIGNER, aligner)
        joint.source.save(folder / ALIGNER / "source.vocabulary")
        joint.target.save(folder / ALIGNER / "target.vocabulary")
        for text, part in zip(texts, joint.split(links), strict=True):
            _save_links(folder, text.name, part)
        return {"links": len(links.values), "sentence_pairs": len(links)}

    settings = dataclasses.asdict(config)
    del settings["index_memory_gb"]  # changes the way, not the result
    inputs = {text.name: text.artefact.fingerprint for text in texts}
    stage = "links" if len(texts) > 1 else f"links-{texts[0].name}"
    artefact = store.run(stage, settings, inputs, build)
    return {text.name: _load_links(artefact, text.name, artefact.folder / ALIGNER) for text in texts}


def _given_links(store: Store, text: ComponentText, path: str) -> TextLinks:
    """Links from a Pharaoh file with a line for every pair of the input, also those that cleaning dropped."""

    def build(folder: Path) -> Counts:
        links = read_links(path)
        if len(text.rows) and len(links) <= text.rows[-1]:
            raise UserError(
                f"alignment '{path}' has {len(links)} lines and pair {text.rows[-1] + 1} of component '{text.name}' "
                "is in use: give one line a pair, an empty line where nothing is aligned"
            )
        links = links.take(text.rows)
        check_links(links, text.bitext.source.lengths, text.bitext.target.lengths, path)
        return _save_links(folder, text.name, links)

    inputs = {"text": text.artefact.fingerprint, "links": fingerprint_input(path)}
    return _load_links(store.run(f"links-{text.name}", {}, inputs, build), text.name, None)


def _save_links(folder: Path, name: str, links: Ragged) -> Counts:
    save_arrays(folder / f"{name}.safetensors", {"values": links.values, "offsets": links.offsets})
    return {"links": len(links.values), "sentence_pairs": len(links)}


def _load_links(artefact: Artefact, name: str, aligner: Path | None) -> TextLinks:
    arrays = open_arrays(artefact.folder / f"{name}.safetensors")
    return TextLinks(artefact, Ragged(arrays["values"], arrays["offsets"]), aligner)
