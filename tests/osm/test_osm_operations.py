"""Operations of sentence pairs: the papers' examples, a slow version of their algorithm, and back to the pair."""

import numpy as np
import pytest

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.osm.operations import operation_counts, operations_of, replayed
from jaxsmt.osm.table import OperationTable, number_operations, source_words
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary


def vocabulary_of(*sentences):
    return Vocabulary(tuple(dict.fromkeys(word for sentence in sentences for word in sentence.split())))


def spelled(source, target, links):
    """The operations of one pair, as text; the pair's own words, later ones are rarer."""
    sides = vocabulary_of(source), vocabulary_of(target)
    both = zip(sides, (source, target), strict=True)
    bitext = Bitext(*(ragged_from_rows([side.encode(text.split())]) for side, text in both))
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    operations = operations_of(bitext, ragged_from_rows([pairs], width=2), np.arange(len(sides[1])))
    ids, table = number_operations(operations, *sides)
    return table.spelled.decode(ids[0])


EXAMPLES = [
    (
        "er hat ein buch gelesen", "he read a book", "0-0 1-1 4-1 2-2 3-3",
        ["er\the", "hat gelesen\tread", "insert gap", "continue", "jump back 1", "ein\ta", "buch\tbook"],
    ),
    (
        "hat er ein buch gelesen", "he read a book", "0-1 4-1 1-0 2-2 3-3",
        ["insert gap", "er\the", "jump back 1", "hat gelesen\tread", "jump forward", "insert gap", "continue",
         "jump back 1", "ein\ta", "buch\tbook"],
    ),
    (
        "sie würden gegen sie stimmen", "they would vote against you", "0-0 1-1 2-3 3-4 4-2",
        ["sie\tthey", "würden\twould", "insert gap", "stimmen\tvote", "jump back 1", "gegen\tagainst", "sie\tyou"],
    ),
    # unlinked words: German ones follow what stands before them, English ones are written in their turn
    (
        "kommen sie mit", "do come with", "0-1 2-2",
        ["\tdo", "kommen\tcome", "sie\t", "mit\twith"],
    ),
    ("ja doch , sicher", "sure", "3-0", ["ja\t", "doch\t", ",\t", "sicher\tsure"]),
    # a word linked here and there keeps the links beside the rarest word (the last, here)
    ("nicht mehr", "not any more", "0-0 0-2 1-1", ["\tnot", "insert gap", "mehr\tany", "jump back 1", "nicht\tmore"]),
    # from one gap into another: ahead of all, then back; the gap that is left stays open
    (
        "a b c d e f", "B F D A C E", "0-3 1-0 2-4 3-2 4-5 5-1",
        ["insert gap", "b\tB", "insert gap", "f\tF", "jump back 1", "insert gap", "d\tD", "insert gap", "jump back 3",
         "a\tA", "jump forward", "jump back 2", "c\tC", "jump forward", "jump back 1", "e\tE"],
    ),
    # inside one gap the cursor moves on by another gap
    (
        "a b c d e", "A E B D C", "0-0 1-2 2-4 3-3 4-1",
        ["a\tA", "insert gap", "e\tE", "jump back 1", "b\tB", "insert gap", "d\tD", "jump back 1", "c\tC"],
    ),
    ("", "a", "", ["\ta"]),
    ("a", "", "", ["a\t"]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "links", "expected"), EXAMPLES)
def test_examples(source, target, links, expected):
    assert spelled(source, target, links) == expected


def reduced(links, target, rarity):
    """Links side by side with the rarest target word, one source word after the other."""
    kept = set()
    for word in {s for s, _ in links}:
        own = sorted(t for s, t in links if s == word)
        rarest = max(own, key=lambda t: (rarity[target[t]], -t))
        low = high = rarest
        while low - 1 in own:
            low -= 1
        while high + 1 in own:
            high += 1
        kept |= {(word, t) for t in range(low, high + 1)}
    return kept


def cepts_of(links):
    """Connected components: [(source places, target places)] by rising target place."""
    parts = [({s}, {t}) for s, t in links]
    while True:
        for one in range(len(parts)):
            for other in range(one):
                if parts[one][0] & parts[other][0] or parts[one][1] & parts[other][1]:
                    last = parts.pop(one)
                    parts[other] = (parts[other][0] | last[0], parts[other][1] | last[1])
                    break
            else:
                continue
            break
        else:
            return sorted(((sorted(s), sorted(t)) for s, t in parts), key=lambda part: part[1])


def slow_operations(source, target, cepts):
    """Word for word: gaps are runs of words that are still to come."""
    linked, made, done = {s for own, _ in cepts for s in own}, [], set()
    cursor = 0

    def unlinked():
        nonlocal cursor
        while cursor < len(source) and cursor not in linked:
            made.append(("generate", (source[cursor],), ()))
            done.add(cursor)
            cursor += 1

    def is_open(place):
        return place < max(done, default=-1) and place not in done

    def gap_at(place):
        """Where the gap of a place begins, and its number from the right."""
        begins = [p for p in range(len(source)) if is_open(p) and not (p and is_open(p - 1))]
        begin = max(p for p in begins if p <= place)
        return begin, sum(p >= begin for p in begins)

    def go_to(place):
        nonlocal cursor
        front = max(done, default=-1) + 1
        if cursor == place:
            return
        in_one_gap = is_open(cursor) and is_open(place) and cursor < place and gap_at(place)[0] <= cursor
        if cursor < place and (cursor == front or in_one_gap):
            made.append("gap")
        else:
            made.extend(["gap"] * is_open(cursor))
            made.extend(["forward"] * (cursor < place))
            cursor = front
            if place < front:
                cursor, number = gap_at(place)
                made.append(("back", number))
            made.extend(["gap"] * (cursor < place))
        cursor = place

    unlinked()
    first = {targets[0]: (sources, targets) for sources, targets in cepts}
    place = 0
    while place < len(target):
        sources, targets = first.get(place, ((), (place,)))
        if not sources:
            made.append(("generate", (), (target[place],)))
        for rank, own in enumerate(sources):
            go_to(own)
            words = tuple(source[s] for s in sources), tuple(target[t] for t in targets)
            made.append("continue" if rank else ("generate", *words))
            done.add(own)
            cursor += 1
            unlinked()
        place += len(targets)
    return made


def slow_counts(made):
    """Gaps; gaps open at each linked source word; deleted and inserted words."""
    found, num_open = [0, 0, 0, 0], 0
    for operation in made:
        if operation == "gap":
            num_open += 1
            found[0] += 1
        elif operation[0] == "back":
            num_open -= 1
        elif operation == "continue" or (operation[0] == "generate" and operation[1] and operation[2]):
            found[1] += num_open
        elif operation[0] == "generate":
            found[2] += bool(operation[1])
            found[3] += bool(operation[2])
    assert num_open == 0
    return found


def as_slow(row):
    symbols = [divmod(symbol, 4) for symbol in row.tolist()]
    if symbols[0][1] == 0:
        return ("gap", "forward", "continue")[symbols[0][0]]
    if symbols[0][1] == 1:
        return ("back", symbols[0][0])
    return ("generate", *(tuple(value for value, kind in symbols if kind == own) for own in (2, 3)))


def random_pairs(random, num):
    sources, targets, links = [], [], []
    for _ in range(num):
        sizes = random.integers(0, 9, 2)
        sources.append(random.integers(NUM_RESERVED, NUM_RESERVED + 6, sizes[0]))
        targets.append(random.integers(NUM_RESERVED, NUM_RESERVED + 6, sizes[1]))
        if random.random() < 0.5:  # a permutation and a little more
            order = random.permutation(max(sizes))
            some = {(int(s), int(t)) for s, t in enumerate(order) if s < sizes[0] and t < sizes[1]}
        else:
            some = set()
        if sizes.min():
            some |= {tuple(map(int, random.integers(0, sizes))) for _ in range(random.integers(0, 8))}
        links.append(sorted(some))
    return Bitext(ragged_from_rows(sources), ragged_from_rows(targets)), ragged_from_rows(links, width=2)


def operations_at(operations, row):
    return operations.symbols.take(np.arange(*operations.offsets[row : row + 2]))


@pytest.mark.parametrize("seed", range(5))
def test_random_pairs_are_as_word_for_word_and_come_back(seed):
    random = np.random.default_rng(seed)
    bitext, links = random_pairs(random, 300)
    rarity = random.integers(0, 4, NUM_RESERVED + 6)
    operations = operations_of(bitext, links, rarity)
    assert operations.offsets[-1] == len(operations.symbols)
    counts = operation_counts(operations)
    for row in range(len(bitext)):
        source, target = bitext.source[row].tolist(), bitext.target[row].tolist()
        cepts = cepts_of(reduced({tuple(link) for link in links[row].tolist()}, target, rarity))
        own = operations_at(operations, row)
        expected = slow_operations(source, target, cepts)
        assert [as_slow(own[n]) for n in range(len(own))] == expected
        assert counts[row].tolist() == slow_counts(expected)
        full = sorted((s, t) for sources, targets in cepts for s in sources for t in targets)
        assert replayed(own) == (source, target, full)


def test_no_pairs_and_links_in_any_order():
    nothing = ragged_from_rows([])
    empty = operations_of(Bitext(nothing, nothing), ragged_from_rows([], width=2), np.zeros(6))
    assert empty.offsets.tolist() == [0]
    assert operation_counts(empty).shape == (0, 4)
    assert len(empty.symbols) == 0
    bitext, links = random_pairs(np.random.default_rng(9), 50)
    mixed = Ragged(np.concatenate([links.values[::-1]]), np.cumsum([0, *links.lengths[::-1]]))
    back = mixed.take(np.arange(len(links))[::-1])
    rarity = np.arange(NUM_RESERVED + 6)
    one, other = operations_of(bitext, links, rarity), operations_of(bitext, back, rarity)
    assert one.symbols.values.tolist() == other.symbols.values.tolist()


def test_a_table_finds_its_operations_again():
    random = np.random.default_rng(2)
    source, target = Vocabulary(tuple("abcdef")), Vocabulary(tuple("uvwxyz"))
    bitext, links = random_pairs(random, 200)
    operations = operations_of(bitext, links, np.arange(len(target)))
    ids, table = number_operations(operations, source, target)
    assert len(set(table.spelled.words)) == len(table.spelled.words)
    opened = OperationTable(table.spelled, source_words(table.spelled), target)
    again = operations_of(
        Bitext(Ragged(source.ids_in(opened.source)[bitext.source.values], bitext.source.offsets), bitext.target),
        links, np.arange(len(target)),
    )  # fmt: skip
    np.testing.assert_array_equal(opened.ids_of(again).values, ids.values)
    strange = Bitext(ragged_from_rows([[UNKNOWN]]), ragged_from_rows([[NUM_RESERVED]]))
    found = operations_of(strange, ragged_from_rows([[(0, 0)]], width=2), np.arange(len(target)))
    assert opened.ids_of(found).values.tolist() == [UNKNOWN]
