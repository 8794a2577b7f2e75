"""Slow and obvious versions of what jaxsmt.lm computes, for its tests."""

import math
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.lm.model import SPECIAL_WORDS, Lm, ngram_rows
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary, build_vocabulary

Ngram = tuple[str, ...]


class SlowLm:
    """An ARPA model as a dictionary: log10 p and log10 back-off of every n-gram, by its words."""

    def __init__(self, entries: dict[Ngram, tuple[float, float]]):
        self.entries = entries
        self.order = max(map(len, entries))

    def log10_p(self, context: Ngram, word: str) -> float:
        context = tuple(w if (w,) in self.entries else "<unk>" for w in context)[-(self.order - 1) or len(context) :]
        if self.order == 1:
            context = ()
        word = word if (word,) in self.entries else "<unk>"
        total = 0.0
        while (*context, word) not in self.entries:
            total += self.entries.get(context, (0.0, 0.0))[1]
            context = context[1:]
        return total + self.entries[(*context, word)][0]

    def word_scores(self, words: list[str]) -> list[float]:
        """Natural log p of every word and of </s>."""
        text = ["<s>", *words, "</s>"]
        return [self.log10_p(tuple(text[:i]), text[i]) * math.log(10) for i in range(1, len(text))]

    def write(self, path: Path) -> Path:
        levels = defaultdict(list)
        for ngram, (log10_p, log10_backoff) in self.entries.items():
            backoff = f"\t{log10_backoff!r}" if log10_backoff else ""
            levels[len(ngram)].append(f"{log10_p!r}\t{' '.join(ngram)}{backoff}\n")
        counts = "".join(f"ngram {k}={len(levels[k])}\n" for k in range(1, self.order + 1))
        sections = "".join(f"\n\\{k}-grams:\n{''.join(levels[k])}" for k in range(1, self.order + 1))
        path.write_text(f"\\data\\\n{counts}{sections}\n\\end\\\n", encoding="utf-8")
        return path


def names_of(vocabulary: Vocabulary) -> list[str]:
    names = [f"<reserved{i}>" for i in range(NUM_RESERVED)] + list(vocabulary.words)
    for word, word_id in SPECIAL_WORDS.items():
        names[word_id] = word
    return names


def slow_from_lm(lm: Lm) -> SlowLm:
    names, entries = names_of(lm.vocabulary), {}
    for k, level in enumerate(lm.levels, 1):
        for row, log_p, log_backoff in zip(ngram_rows(lm.levels, k), level.log_p, level.log_backoff, strict=True):
            if k > 1 or lm.is_word[row[0]]:
                entries[tuple(names[w] for w in row)] = (log_p / math.log(10), log_backoff / math.log(10))
    return SlowLm(entries)


def random_text(seed: int, num_sentences: int, num_words: int, max_length: int = 9) -> list[list[str]]:
    """Sentences with Zipf-like words and much repetition, so that long n-grams come twice."""
    rng = random.Random(seed)
    weights = [1 / (i + 1) for i in range(num_words)]
    words = [f"w{i}" for i in range(num_words)]
    phrases = [rng.choices(words, weights, k=rng.randint(1, 4)) for _ in range(num_words)]
    rows = []
    for _ in range(num_sentences):
        row: list[str] = []
        while len(row) < rng.randint(0, max_length):
            row += rng.choice(phrases) if rng.random() < 0.6 else rng.choices(words, weights)
        rows.append(row[:max_length])
    return rows


def encode(rows: list[list[str]], vocabulary: Vocabulary | None = None) -> tuple[Ragged, Vocabulary]:
    vocabulary = vocabulary or build_vocabulary(Counter(word for row in rows for word in row))
    return ragged_from_rows([vocabulary.encode(row) for row in rows]), vocabulary


def slow_kneser_ney(rows: list[list[str]], order: int, prune: tuple[int, ...] = (), num_predicted: int = 0) -> SlowLm:
    """Interpolated modified Kneser–Ney with dictionaries, n-gram by n-gram."""
    counts: dict[int, Counter[Ngram]] = {k: Counter() for k in range(1, order + 1)}
    for row in rows:
        text = ("<s>", *row, "</s>")
        for k in range(1, order + 1):
            counts[k].update(text[i : i + k] for i in range(len(text) - k + 1))
    vocabulary = {"<unk>", "<s>", "</s>", *(word for row in rows for word in row)}
    num_predicted = max(num_predicted, len(vocabulary) - 1)
    thresholds = [(prune or (0,))[min(k, len(prune or (0,)) - 1)] for k in range(order)]
    p: dict[Ngram, float] = {}
    backoff: dict[Ngram, float] = {}
    kept: set[Ngram] = set()
    for k in range(1, order + 1):
        adjusted = dict(counts[k])
        if k < order:
            left = Counter(ngram[1:] for ngram in counts[k + 1])
            adjusted = {ngram: counts[k][ngram] if ngram[0] == "<s>" else left[ngram] for ngram in counts[k]}
        if k == 1:
            adjusted["<s>",] = 0
            adjusted.setdefault(("<unk>",), 0)
        discount = slow_discounts(list(adjusted.values()))
        total, left_over = Counter(), defaultdict(float)
        for ngram, a in adjusted.items():
            is_kept = k == 1 or counts[k][ngram] > thresholds[k - 1]
            total[ngram[:-1]] += a
            left_over[ngram[:-1]] += discount[min(a, 3)] if is_kept else a
            if is_kept:
                kept.add(ngram)
        for context in total:
            backoff[context] = left_over[context] / total[context]
        for ngram, a in adjusted.items():
            lower = p[ngram[1:]] if k > 1 else 1 / num_predicted
            p[ngram] = (a - discount[min(a, 3)]) / total[ngram[:-1]] + backoff[ngram[:-1]] * lower
        if k == 1:
            p["<s>",] = 1.0
    return SlowLm({g: (math.log10(p[g]), math.log10(backoff.get(g, 1.0)) if len(g) < order else 0.0) for g in kept})


def slow_discounts(values: list[int]) -> list[float]:
    n = Counter(values)
    fallback = [0.0, 0.5, 1.0, 1.5]
    if not (n[1] and n[2] and n[3]):
        return fallback
    y = n[1] / (n[1] + 2 * n[2])
    discounts = [0.0] + [j - (j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3)]
    return discounts if all(0 < d <= j for j, d in enumerate(discounts) if j) else fallback


def random_arpa(
    seed: int, order: int, num_words: int = 5, with_contexts: bool = True, with_unknown_ngrams: bool = True
) -> SlowLm:
    """A model that no estimator would give: suffixes missing, back-offs of every sign, n-grams with <unk>.

    with_contexts: keep the context of every n-gram, as KenLM demands; then only a few suffixes are missing, because
    KenLM has little room for them.
    """
    rng = random.Random(seed)
    ordinary = [f"w{i}" for i in range(num_words)]
    entries: dict[Ngram, tuple[float, float]] = {}

    def add(ngram: Ngram) -> None:
        if ngram in entries:
            return
        backoff = 0.0 if len(ngram) == order or rng.random() < 0.3 else rng.uniform(-1.5, 0.5)
        entries[ngram] = -rng.uniform(0.01, 4), backoff
        if with_contexts and len(ngram) > 1:
            add(ngram[:-1])
            if rng.random() < 0.8:
                add(ngram[1:])

    for word in ["<unk>", "<s>", "</s>", *ordinary]:
        add((word,))
    inner = ordinary + ["<unk>"] * with_unknown_ngrams
    for k in range(2, order + 1):
        for _ in range(4 * num_words):
            first = rng.choice(["<s>", *inner])
            add((first, *rng.choices(inner, k=k - 2), rng.choice([*inner, "</s>"])))
    return SlowLm(entries)


def random_sentences(seed: int, num_words: int, num_sentences: int = 30) -> list[list[str]]:
    """Sentences of known and unknown words, some empty."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(num_words)] + ["never-seen", "nor-this"]
    return [rng.choices(words, k=rng.randint(0, 8)) for _ in range(num_sentences)]


def flat_scores(model: SlowLm, rows: list[list[str]]) -> np.ndarray:
    return np.array([score for row in rows for score in model.word_scores(row)])


def write_word_arpa(path, log10_p):
    """Writes a model that knows single words by their log10 p alone; KenLM wants a bigram to be there."""
    words = {"<unk>": -9.0, "<s>": 0.0, "</s>": -1.0, **log10_p}
    unigrams = "".join(f"{value}\t{word}\t0\n" for word, value in words.items())
    counts = f"\\data\\\nngram 1={len(words)}\nngram 2=1\n"
    path.write_text(f"{counts}\n\\1-grams:\n{unigrams}\n\\2-grams:\n-1\t<s> </s>\n\n\\end\\\n", encoding="utf-8")
    return path
