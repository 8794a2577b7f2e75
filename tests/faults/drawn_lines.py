"""Lines of all letters that there are, through reading, tokenising and translating: as many come out as went in."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from tests.pipeline.small_corpus import compose_config

# where text goes wrong most often: separators, joiners, marks, directions, digits of other scripts, emoji, private use
ODD = "\x00\x01\t\x0b\x0c\r\x1c\x1d\x1e\x85\xa0\xad\u034f\u061c\u115f\u180e\u200b\u200d\u200e\u2028\u2029\u202e\u2060"
ODD += "\u3000\ufe0f\ufeff\ufffd\uffff\U0001f1eb\U0001f468\U000e0041\U0010ffff\u0301\u0345\u1ab0١߁ßİıſK"
PLAIN = ("le", "la", "un", "une", "il", "elle", "mange", "train", ",", ".", "'", "-", "«", "»", "3,14", "1990")


def drawn_lines(number: int, seed: int) -> list[str]:
    """Lines that mix words of the model, any code points, and those that are odd; without line ends."""
    rng = np.random.default_rng(seed)
    return [_line(rng) for _ in range(number)]


def _line(rng: np.random.Generator) -> str:
    kind, length = rng.integers(4), int(rng.integers(0, 12))
    words = [_word(rng, (kind, int(rng.integers(3)))[int(kind == 3)]) for _ in range(length)]
    return str(rng.choice([" ", "", "\u00a0", "\t"], p=[0.85, 0.05, 0.05, 0.05])).join(words)


def _word(rng: np.random.Generator, kind: int) -> str:
    if kind == 0:
        return PLAIN[int(rng.integers(len(PLAIN)))]
    if kind == 1:
        return "".join(ODD[int(rng.integers(len(ODD)))] for _ in range(int(rng.integers(1, 4))))
    points = rng.integers(1, 0x110000, int(rng.integers(1, 6)))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000 and point != 0x0A)


@dataclass
class Translated:
    """How many lines went in, how many of them are missing at the end, and what was said of files that were refused."""

    lines: int = 0
    lost: int = 0
    tracebacks: list[str] = field(default_factory=list)


def translate_lines(folder: Path, model: Path, lines: Iterable[str]) -> Translated:
    """Translates a file of lines as `jaxsmt decode` does, and counts lines and such as lost all their words."""
    from jaxsmt.pipeline.commands.decode import decode

    lines = list(lines)
    source, target = folder / "lines", folder / "translated"
    source.write_bytes("".join(line + "\n" for line in lines).encode())
    found = Translated(len(lines))
    try:
        decode(compose_config("decode", [f"model_dir={model}", f"input={source}", f"output={target}", "quiet=true"]))
    except (Exception, UserError) as error:  # no line is a reason to stop
        found.lost, found.tracebacks = len(lines), [repr(error)]
        return found
    answers = target.read_bytes().decode().split("\n")[:-1]
    found.lost = abs(len(answers) - len(lines))
    found.lost += sum(_has_words(line) and not answer.strip() for line, answer in zip(lines, answers, strict=False))
    return found


def _has_words(line: str) -> bool:
    """Whether there is a letter or digit in it, which no translation leaves out altogether."""
    return any(unicodedata.category(letter)[0] in "LN" for letter in line)
