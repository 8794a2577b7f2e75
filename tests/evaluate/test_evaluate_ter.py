"""TER against sacrebleu's own: random texts with blocks moved, empty sides, the edges of its beam and of its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER
from sacrebleu.metrics.lib_ter import translation_edit_rate

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.evaluate.compare import segment_statistics
from jaxsmt.evaluate.edit_beam import beam_matters
from jaxsmt.evaluate.edit_bits import all_rows, common_words, length_bits, match_bits, row_ends
from jaxsmt.evaluate.ter import edit_counts, ter_score


def our_edits(pairs):
    rows = np.arange(len(pairs))
    hypotheses, references = (ragged_from_rows([pair[side] for pair in pairs]) for side in (0, 1))
    return edit_counts(hypotheses, references, rows, rows).tolist()


def sacrebleu_edits(pairs):
    return [translation_edit_rate(list(h), list(r))[0] for h, r in pairs]


def moved_pairs(rng, count, max_length, num_words):
    """Random texts and copies with blocks moved, words replaced and words dropped."""
    pairs = []
    for _ in range(count):
        hypothesis = rng.integers(0, num_words, rng.integers(0, max_length + 1)).tolist()
        reference = list(hypothesis)
        for _ in range(rng.integers(0, 4)):
            a, b, c = sorted(rng.integers(0, len(reference) + 1, 3))
            reference = reference[:a] + reference[b:c] + reference[a:b] + reference[c:]
        kept = [word for word in reference if rng.random() > 0.1]
        pairs.append((hypothesis, [w if rng.random() > 0.15 else int(rng.integers(num_words)) for w in kept]))
    return pairs


words = st.lists(st.integers(0, 4), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
def test_short_random_pairs_equal_sacrebleu(pairs):
    assert our_edits(pairs) == sacrebleu_edits(pairs)


@pytest.mark.parametrize(("count", "max_length", "num_words"), [(80, 10, 3), (80, 25, 12), (30, 45, 60), (8, 75, 40)])
def test_moved_blocks_equal_sacrebleu(count, max_length, num_words):
    pairs = moved_pairs(np.random.default_rng(max_length), count, max_length, num_words)
    assert our_edits(pairs) == sacrebleu_edits(pairs)


def test_empty_sides():
    assert our_edits([([], []), ([1, 2], []), ([], [1, 2, 3]), ([1], [1]), ([1], [2])]) == [0, 2, 3, 0, 1]
    assert our_edits([]) == []


def test_one_long_shift_is_one_edit():
    block, rest = list(range(9)), list(range(20, 45))
    pairs = [(block + rest, rest + block)]
    assert our_edits(pairs) == sacrebleu_edits(pairs) == [1]


def test_pairs_that_leave_the_beam_equal_sacrebleu():
    rng = np.random.default_rng(5)
    block, unlike = list(range(40)), list(range(100, 140))
    pairs = [
        (unlike + block, block + list(range(200, 240))),  # what matches lies 40 places off the diagonal
        (rng.integers(0, 50, 12).tolist(), rng.integers(0, 50, 70).tolist()),
        (rng.integers(0, 50, 70).tolist(), rng.integers(0, 50, 12).tolist()),
        ([7], rng.integers(0, 9, 120).tolist()),
        (list(range(30)) + block, block + list(range(300, 322))),
    ]
    rows = np.arange(len(pairs))
    hypotheses, references = (ragged_from_rows([pair[side] for pair in pairs]) for side in (0, 1))
    matches = match_bits(hypotheses.padded(rows, 90, -1), references.padded(rows, 128, -2))
    tables = all_rows(matches)
    ends = [table[hypotheses.lengths, :, rows].T for table in tables[:2]]
    distances = row_ends(*ends, hypotheses.lengths, length_bits(references.lengths, 2))
    assert beam_matters(distances, hypotheses.lengths, references.lengths)[:2].all()
    assert our_edits(pairs) == sacrebleu_edits(pairs)


def test_too_many_shifts_end_the_search_as_in_sacrebleu():
    rng = np.random.default_rng(3)
    pairs = [(rng.integers(0, 2, 28).tolist(), rng.integers(0, 2, 28).tolist()) for _ in range(3)]
    assert our_edits(pairs) == sacrebleu_edits(pairs)


def test_bits_equal_plain_tables():
    rng = np.random.default_rng(1)
    hypotheses, references = rng.integers(0, 5, (20, 9)), rng.integers(0, 5, (20, 70))
    matches = match_bits(hypotheses, references)
    tables = all_rows(matches)
    for pair in range(20):
        plain = np.zeros((10, 71), int)
        plain[0], plain[:, 0] = np.arange(71), np.arange(10)
        for i in range(1, 10):
            for j in range(1, 71):
                differs = hypotheses[pair, i - 1] != references[pair, j - 1]
                plain[i, j] = min(plain[i - 1, j - 1] + differs, plain[i - 1, j] + 1, plain[i, j - 1] + 1)
        ends = row_ends(tables.up[9], tables.down[9], np.full(20, 9), length_bits(np.full(20, 70), 2))
        assert ends[pair] == plain[9, 70]
        both = [np.bincount(side[pair], minlength=5) for side in (hypotheses, references)]
        assert common_words(matches)[pair] == np.minimum(*both).sum()


def test_corpus_statistics_with_several_references_equal_sacrebleu():
    hypotheses = ["The cat sat on the mat .", "", "a b c d e f g"]
    references = [["on the mat the Cat sat .", "a cat sat there"], ["x y", ""], ["e f g a b c d", "a c b d f e g h"]]
    metric = TER()
    columns = list(zip(*references, strict=True))
    ours = segment_statistics("ter", hypotheses, references)
    np.testing.assert_array_equal(ours, np.array(metric._extract_corpus_statistics(hypotheses, columns)))
    assert ter_score(ours.sum(0)) == pytest.approx(metric.corpus_score(hypotheses, columns).score)


def test_real_lists_equal_sacrebleu(reference):
    import gzip

    with gzip.open(reference / "text" / "pydoc-dev.en.gz", "rt", encoding="utf-8") as stream:
        goals = [line.split() for line in stream][:200]
    with gzip.open(reference / "tune" / "dev200.nbest100.gz", "rt", encoding="utf-8") as stream:
        rows = [line.split(" ||| ")[:2] for line in stream][::101]
    number: dict[str, int] = {}
    pairs = [
        tuple([number.setdefault(word, len(number)) for word in side] for side in (text.split(), goals[int(sentence)]))
        for sentence, text in rows
    ]
    assert our_edits(pairs) == sacrebleu_edits(pairs)
