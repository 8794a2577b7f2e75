"""ARPA files in and out: the one place, with `kenlm_model`, where logarithms to base 10 live."""

import gzip
import io
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.common.progress import log
from jaxsmt.lm.closure import RawLevel, close_model
from jaxsmt.lm.config import MAX_ORDER
from jaxsmt.lm.model import SPECIAL_WORDS, Lm, ngram_rows
from jaxsmt.text.streams import open_binary, raw_lines
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary

LOG_10 = math.log(10.0)
MISSING_UNKNOWN_LOG10 = -100.0  # p(<unk>) of a model without <unk>, as KenLM takes it
_LINES_AT_ONCE, _BYTES_AT_ONCE = 1 << 16, 1 << 24
_COUNT_DIGITS = 18  # of an n-gram count in a header; more is no count of anything


def write_arpa(lm: Lm, path: str | Path) -> None:
    """Writes a model as ARPA text, gzipped if the path ends in .gz. The bytes depend on the model only."""
    names = [""] * NUM_RESERVED + list(lm.vocabulary.words)
    for word, word_id in SPECIAL_WORDS.items():
        names[word_id] = word
    with atomic_file(path) as temporary, _open_for_writing(temporary, Path(path).suffix == ".gz") as stream:
        stream.write("\\data\\\n" + "".join(f"ngram {k}={count}\n" for k, count in enumerate(lm.counts, 1)))
        for k in range(1, lm.order + 1):
            stream.write(f"\n\\{k}-grams:\n")
            for lines in _ngram_lines(lm, k, names):
                stream.write(lines)
        stream.write("\n\\end\\\n")


def _ngram_lines(lm: Lm, order: int, names: list[str]) -> Iterator[str]:
    level = lm.levels[order - 1]
    rows = ngram_rows(lm.levels, order)
    log10_p = (level.log_p.astype(np.float64) / LOG_10).tolist()
    log10_backoff = (level.log_backoff.astype(np.float64) / LOG_10).tolist()
    chosen = np.flatnonzero(lm.is_word) if order == 1 else np.arange(len(level))
    for at in range(0, len(chosen), _LINES_AT_ONCE):
        part = chosen[at : at + _LINES_AT_ONCE].tolist()
        texts = (" ".join([names[word] for word in row]) for row in rows[part].tolist())
        if order < lm.order:
            yield "".join(
                f"{log10_p[g]:.8g}\t{text}\t{log10_backoff[g]:.8g}\n" for g, text in zip(part, texts, strict=True)
            )
        else:
            yield "".join(f"{log10_p[g]:.8g}\t{text}\n" for g, text in zip(part, texts, strict=True))


@contextmanager
def _open_for_writing(path: Path, as_gzip: bool) -> Iterator[io.TextIOWrapper]:
    with open(path, "wb") as raw:
        # no file name and no time in the gzip header: same model, same bytes
        binary = gzip.GzipFile("", "wb", 6, raw, mtime=0) if as_gzip else raw
        with io.TextIOWrapper(binary, encoding="utf-8", newline="\n") as stream:
            yield stream


def read_arpa(path: str | Path, vocabulary: Vocabulary | None = None) -> Lm:
    """Reads an ARPA file, plain or gzipped, of any tool; n-grams whose prefix or suffix was pruned get them back.

    Args:
      path: the file.
      vocabulary: the ids to use; words that are not in it are left out with their n-grams (they can never
        be asked for). Without it the words get ids in the order of the file.
    """
    with open_arpa(path) as stream:
        parser = _Parser(Path(path), stream)
        counts = parser.read_header()
        unigrams, vocabulary, id_of = parser.read_unigrams(counts[0], vocabulary)
        raw = [unigrams, *(parser.read_level(k, count, id_of) for k, count in enumerate(counts[1:], 2))]
        parser.read_end()
    is_word = np.zeros(len(vocabulary), bool)
    is_word[unigrams.rows[:, 0]] = True
    if not is_word[UNKNOWN]:
        log.warning("'%s' has no <unk>: unknown words get log10 p = %g", path, MISSING_UNKNOWN_LOG10)
        is_word[UNKNOWN] = True
    return close_model(vocabulary, is_word, raw, MISSING_UNKNOWN_LOG10 * LOG_10, f"'{path}'")


def check_arpa_header(path: str | Path) -> None:
    """Raises a helpful error where a file does not begin like an ARPA file that can be used."""
    with open_arpa(path) as stream:
        _Parser(Path(path), stream).read_header()


def open_arpa(path: str | Path) -> AbstractContextManager[BinaryIO]:
    """Opens a language model to read its bytes, unpacked where it is packed."""
    if not Path(path).is_file():
        raise UserError(f"language model '{path}' does not exist: check the path")
    return open_binary(path)


class _Parser:
    """Reads an ARPA file from top to bottom and knows the line number for messages."""

    def __init__(self, path: Path, stream: BinaryIO):
        self.path, self.lines, self.line_number = path, raw_lines(stream, f"'{path}'"), 0

    def fail(self, problem: str) -> UserError:
        return UserError(f"'{self.path}' line {self.line_number}: {problem}")

    def next_line(self) -> bytes:
        """The next line that is not empty, without its line end."""
        for line in self.lines:
            self.line_number += 1
            if not line.isspace():
                return line.rstrip(b"\r\n")
        raise self.fail("the file ends too early, it is truncated: copy or make it again")

    def next_lines(self, count: int) -> tuple[list[bytes], list[int]]:
        """The next `count` lines that are not empty, fewer where they are long, and their line numbers."""
        lines: list[bytes] = []
        numbers: list[int] = []
        size = 0
        for line in self.lines:
            self.line_number += 1
            if not line.isspace():
                lines.append(line)
                numbers.append(self.line_number)
                size += len(line)
                if len(lines) == count or size > _BYTES_AT_ONCE:
                    return lines, numbers
        raise self.fail("the file ends too early, it is truncated: copy or make it again")

    def read_header(self) -> list[int]:
        first = self.next_line()
        self._check_first_line(first)
        counts: list[int] = []
        while (line := self.next_line().strip()) and not line.startswith(b"\\"):
            name, _, count = line.partition(b"=")
            order = name.split()[-1:] if name.startswith(b"ngram") else []
            if order != [str(len(counts) + 1).encode()] or not _is_count(count.strip()):
                raise self.fail(
                    f"expected 'ngram {len(counts) + 1}=COUNT', found '{_shown(line)}': this is no ARPA file"
                )
            counts.append(int(count))
        if not 1 <= len(counts) <= MAX_ORDER:
            raise self.fail(f"the model has order {len(counts)}: orders 1 to {MAX_ORDER} can be used")
        self._check_section(line, 1)
        return counts

    def _check_first_line(self, line: bytes) -> None:
        stripped = line.strip()
        if stripped == b"\\data\\":
            return
        if stripped.startswith(b"iARPA"):
            raise self.fail("this is IRSTLM's iARPA format: turn it into ARPA with 'compile-lm --text=yes IN OUT'")
        if stripped.startswith(b"mmap lm http://kheafield.com/code"):
            raise self.fail("this is a KenLM binary, which lists no n-grams: give the ARPA file it was built from")
        if stripped.startswith((b"blmt", b"Qblmt")):
            raise self.fail("this is IRSTLM's binary format: turn it into ARPA with 'compile-lm --text=yes IN OUT'")
        if len(fields := stripped.split(b"\t")) == 2 and fields[1].isdigit():
            raise self.fail("these are n-gram counts (SRILM's ngram-count -write): estimate an ARPA file from them")
        raise self.fail(f"expected '\\data\\', found '{_shown(line)}': this is no ARPA file")

    def _check_section(self, line: bytes, order: int) -> None:
        if line.strip() != b"\\%d-grams:" % order:
            raise self.fail(
                f"expected '\\{order}-grams:', found '{_shown(line)}': the file is damaged or its counts are wrong"
            )

    def read_unigrams(
        self, count: int, vocabulary: Vocabulary | None
    ) -> tuple[RawLevel, Vocabulary, dict[bytes, int]]:
        """The unigrams, the vocabulary, and the ids of all words of the file (-1 for those to leave out)."""
        tokens, log10_p, log10_backoff = self._read_section(1, count)
        specials = {word.encode(): word_id for word, word_id in SPECIAL_WORDS.items()} | {b"<UNK>": UNKNOWN}
        if vocabulary is None:
            vocabulary = Vocabulary(tuple(_text(word) for word in tokens if word not in specials))
        ordinary = {word.encode("utf-8", "surrogateescape"): word_id for word, word_id in vocabulary.id_of.items()}
        id_of = {word: specials.get(word, ordinary.get(word, -1)) for word in tokens}
        if len(id_of) < len(tokens):
            raise self.fail("a unigram is listed twice in the section that ends here: make the file again")
        for word in (b"<s>", b"</s>"):
            if word not in id_of:
                raise self.fail(f"the unigrams lack {word.decode()}: estimate the model with sentence boundaries")
        rows = np.array([id_of[word] for word in tokens], np.int32).reshape(-1, 1)
        return _raw_level(rows, log10_p, log10_backoff), vocabulary, id_of

    def read_level(self, order: int, count: int, id_of: dict[bytes, int]) -> RawLevel:
        self._check_section(self.next_line(), order)
        tokens, log10_p, log10_backoff = self._read_section(order, count)
        try:
            ids = np.fromiter(map(id_of.__getitem__, tokens), np.int32, len(tokens))
        except KeyError as error:
            problem = f"the word '{_shown(error.args[0])}' of a {order}-gram is not among the unigrams"
            raise self.fail(f"{problem}: make the file again") from None
        return _raw_level(ids.reshape(-1, order), log10_p, log10_backoff)

    def _read_section(self, order: int, count: int) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        """`count` lines: all words [count · order], log10 probabilities and back-offs [count]."""
        tokens: list[bytes] = []
        log10_p, log10_backoff = [np.zeros(0)], [np.zeros(0)]
        while (rest := count - len(tokens) // order) > 0:
            lines, numbers = self.next_lines(min(_LINES_AT_ONCE, rest))
            words, p, backoff = self._parse_lines(lines, numbers, order)
            tokens += words
            log10_p.append(p)
            log10_backoff.append(backoff)
        return tokens, np.concatenate(log10_p), np.concatenate(log10_backoff)

    def _parse_lines(
        self, lines: list[bytes], numbers: list[int], order: int
    ) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        rows = [line.split() for line in lines]
        for place, row in enumerate(rows):
            if not order + 1 <= len(row) <= order + 2:
                self.line_number = numbers[place]
                raise self.fail(
                    f"expected a {order}-gram (log10 p, {order} words, perhaps a back-off), "
                    f"found '{_shown(lines[place].strip())}': the file is truncated, damaged, or its counts are wrong"
                )
        try:
            p = np.fromiter((float(row[0]) for row in rows), np.float64, len(rows))
            backoffs = (float(row[order + 1]) if len(row) > order + 1 else 0.0 for row in rows)
            backoff = np.fromiter(backoffs, np.float64, len(rows))
        except ValueError as error:
            problem = f"among the {len(lines)} lines up to here something is not a number ({error})"
            raise self.fail(f"{problem}: make the file again") from None
        if not (p <= 0).all() or not (backoff < np.inf).all():
            raise self.fail(f"a log10 probability in the {len(lines)} lines up to here is positive or not a number")
        return [word for row in rows for word in row[1 : order + 1]], p, backoff

    def read_end(self) -> None:
        line = self.next_line()
        if line.strip() != b"\\end\\":
            raise self.fail(f"expected '\\end\\', found '{_shown(line)}': the counts in the header are wrong")


def _raw_level(rows: np.ndarray, log10_p: np.ndarray, log10_backoff: np.ndarray) -> RawLevel:
    """Natural logarithms from here on; n-grams with words outside the vocabulary are gone."""
    keep = (rows >= 0).all(axis=1)
    # IRSTLM and SRILM write impossible events as -99 or -inf; a finite number keeps sums free of nan
    log_p, log_backoff = (np.maximum(column, -1000.0)[keep] * LOG_10 for column in (log10_p, log10_backoff))
    return RawLevel(rows[keep], log_p, log_backoff)


def _is_count(text: bytes) -> bool:
    return text.isdigit() and len(text) <= _COUNT_DIGITS


def _text(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def _shown(line: bytes) -> str:
    return line[:60].decode("utf-8", "replace")


