"""Every file that a training will read, opened before it begins; numbers of lines that must be equal are compared."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import fingerprint_file
from jaxsmt.common.progress import log
from jaxsmt.lm.arpa import check_arpa_header
from jaxsmt.model.language_models import AUTOMATON, VOCABULARY, WEIGHTS
from jaxsmt.pipeline.config.schemas import LanguageModelConfig, LinksConfig, TmConfig
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.streams import count_lines
from jaxsmt.tm.component import load_component
from jaxsmt.tm.moses.tables import check_component_table

Sources = Mapping[str, Mapping[str, BitextSource]]  # part of the corpus → name → bitext
PARTS = ("dev", "test")  # that can be translated when a model is trained
ALIGNER_FILES = ("aligner.safetensors", "source.vocabulary", "target.vocabulary")


def check_texts(sources: Sources) -> dict[str, dict[str, int]]:
    """Numbers of pairs by part and name; sets that are developed or tested on are read from end to end."""
    found: dict[str, dict[str, int]] = {part: {} for part in sources}
    for part, texts in sources.items():
        for name, spec in texts.items():
            with _named(f"corpus.{part}.{name}"):
                found[part][name] = _num_counted(spec) if part == "components" else sum(1 for _ in read_bitext(spec))
    return found


def _num_counted(spec: BitextSource) -> int:
    """Pairs of a training text; lines of two files are counted, and read later."""
    if spec.path is not None or spec.first is not None:
        return sum(1 for _ in read_bitext(spec))
    numbers = [count_lines(path) for path in spec.files]
    if numbers[0] != numbers[1] or not numbers[0]:
        raise UserError(
            f"'{spec.source}' has {numbers[0]} lines and '{spec.target}' has {numbers[1]}: "
            "line n of one must be the translation of line n of the other"
        )
    return numbers[0]


def check_links_files(links: LinksConfig, sources: Sources, num_pairs: Mapping[str, Mapping[str, int]]) -> None:
    """Files of links are of texts that there are, and have a line for each pair."""
    given = {"files": ("components", links.files), "development": ("dev", links.development)}
    for key, (part, files) in given.items():
        for name, path in files.items():
            if name not in sources[part]:
                known = ", ".join(sources[part]) or "none"
                what = "a component" if part == "components" else "a development set"
                raise UserError(f"links.{key} names '{name}', which is not {what}: there are {known}")
            with _named(f"links.{key}.{name}"):
                _check_links(path, num_pairs[part][name])
    if links.aligner is not None:
        missing = [file for file in ALIGNER_FILES if not (Path(links.aligner) / file).is_file()]
        if missing:
            raise UserError(f"links.aligner is '{links.aligner}', which has no '{missing[0]}': give another folder")


def _check_links(path: str, num_pairs: int) -> None:
    num_lines = count_lines(path)
    if num_pairs != num_lines:
        raise UserError(
            f"alignment '{path}' has {num_lines} lines and the text {num_pairs} pairs: give one line a pair, an empty "
            "line where nothing is aligned"
        )


def check_models(lm: LanguageModelConfig, tm: TmConfig) -> None:
    """Language models and tables made elsewhere are what they should be, as far as their beginnings tell."""
    for name, path in lm.arpas.items():
        with _named(f"lm.arpas.{name}"):
            check_arpa_header(path)
    for name, path in lm.further.items():
        if not Path(path).is_dir():
            with _named(f"lm.further.{name}"):
                check_arpa_header(path)
        elif not all((Path(path) / file).is_file() for file in (AUTOMATON, VOCABULARY, WEIGHTS)):
            raise UserError(f"lm.further.{name} is '{path}', which is none: give an ARPA file or lm/ of a model")
    for name in tm.lexical:
        if name not in tm.tables:
            raise UserError(f"tm.lexical names '{name}' and tm.tables does not: name its table, +tm.tables.{name}=…")
    for name, path in tm.tables.items():
        _check_table(name, path, tm.lexical.get(name))
    for name, path in tm.folders.items():
        with _named(f"tm.folders.{name}"):
            own = load_component(Path(path)).name
        if own != name:
            raise UserError(f"tm.folders calls '{path}' '{name}', its own name is '{own}': use that one")


def _check_table(name: str, path: str, lexical: str | None) -> None:
    if lexical is None:
        raise UserError(
            f"tm.tables names '{name}' and tm.lexical does not: give the prefix of its word counts, "
            f"+tm.lexical.{name}=… for the files ….counts.f2e and ….counts.e2f"
        )
    with _named(f"tm.tables.{name}"):
        check_component_table(path)
    for side in ("f2e", "e2f"):
        if not Path(f"{lexical}.counts.{side}").is_file():
            raise UserError(f"tm.lexical.{name} is '{lexical}', and '{lexical}.counts.{side}' does not exist: check it")


def check_parts(translate: list[str], groups: Mapping[str, list[str]], sources: Sources) -> None:
    """What is to be translated is a part of the corpus, and groups are of sets that there are."""
    for part in translate:
        if part not in PARTS:
            raise UserError(f"translate has '{part}': choose of {', '.join(PARTS)}, for instance translate=[test]")
    known = {name for part in PARTS for name in sources[part]}
    for group, names in groups.items():
        for name in names:
            if str(name) not in known:
                raise UserError(f"corpus.groups.{group} has '{name}', which is no set of corpus.dev or corpus.test")


def warn_of_equal_texts(sources: Sources) -> None:
    """Says so where two of training, development and test text are the same file, by its name or by its bytes."""
    places: dict[int, list[tuple[str, str, str]]] = {}
    for part, texts in sources.items():
        for name, spec in texts.items():
            for path in spec.files:
                places.setdefault(Path(path).stat().st_size, []).append((part, f"corpus.{part}.{name}", path))
    for same_size in places.values():
        if len({part for part, _, _ in same_size}) > 1:
            _warn_of_equal(same_size)


def _warn_of_equal(files: list[tuple[str, str, str]]) -> None:
    marked = [(part, key, path, fingerprint_file(path)) for part, key, path in files]
    for one, other in itertools.combinations(marked, 2):
        if one[0] != other[0] and one[3] == other[3]:
            log.warning(
                "%s ('%s') and %s ('%s') are the same text: scores on text that a model has seen mean little",
                one[1], one[2], other[1], other[2],
            )  # fmt: skip
            return


@contextmanager
def _named(key: str) -> Iterator[None]:
    """Errors begin with the key of the file."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{key}: {error}") from None
