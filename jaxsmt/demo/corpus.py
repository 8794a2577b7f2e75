"""The demo corpus: three domains, each with training, development and test pairs."""

from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from jaxsmt.common.files import write_text
from jaxsmt.demo.dice import Dice
from jaxsmt.demo.lexicon import DOMAINS, build_lexicon
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.sentences.kinds import draw_sentence

SPLITS = ("train", "dev", "test")
Pair = tuple[str, str]  # French, English

_SIZES = {"train": 3000, "dev": 200, "test": 200}
_MIN_WORDS, _MAX_WORDS = 4, 25
_SEED = 20130808


def generate_demo() -> dict[str, dict[str, list[Pair]]]:
    """Domain → split → (French, English) pairs: the same on every machine.

    No French sentence occurs twice in a domain, so the splits of a domain share none.
    """
    return {
        domain: {split: list(pairs) for split, pairs in _domain_pairs(domain, _SEED + place).items()}
        for place, domain in enumerate(DOMAINS)
    }


@lru_cache(maxsize=8)
def _domain_pairs(domain: str, seed: int) -> dict[str, tuple[Pair, ...]]:
    seen: set[str] = set()
    made = {}
    for place, split in enumerate(("test", "dev", "train")):  # the small splits first: they choose freely
        lexicon = build_lexicon(domain, with_visitors=split != "train")
        sampler = Sampler(lexicon, Dice(seed * 1000 + place))
        made[split] = _unseen_pairs(sampler, _SIZES[split], seen)
    return {split: made[split] for split in SPLITS}


def _unseen_pairs(sampler: Sampler, size: int, seen: set[str]) -> tuple[Pair, ...]:
    pairs: list[Pair] = []
    while len(pairs) < size:
        source, target = draw_sentence(sampler)
        if source not in seen and _reads_well(source) and _reads_well(target):
            seen.add(source)
            pairs.append((source, target))
    return tuple(pairs)


def _reads_well(sentence: str) -> bool:
    """Neither too short nor too long, and no word twice in a row ("lend her her plate")."""
    words = sentence.lower().split()
    has_stutter = any(word == following for word, following in pairwise(words))
    return _MIN_WORDS <= len(words) <= _MAX_WORDS and not has_stutter


def write_demo(folder: Path) -> dict[str, dict[str, tuple[Path, Path]]]:
    """Writes <domain>/<split>.fr and .en; a file that already has this content is left alone.

    Returns domain → split → (French file, English file).
    """
    return {
        domain: {split: _write_split(Path(folder) / domain / split, pairs) for split, pairs in splits.items()}
        for domain, splits in generate_demo().items()
    }


def _write_split(stem: Path, pairs: list[Pair]) -> tuple[Path, Path]:
    paths = stem.with_name(stem.name + ".fr"), stem.with_name(stem.name + ".en")
    for side, path in enumerate(paths):
        text = "".join(pair[side] + "\n" for pair in pairs)
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)
    return paths
