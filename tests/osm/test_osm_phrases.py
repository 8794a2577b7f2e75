"""Programs of phrases against the operations of whole derivations, put together word for word."""

import numpy as np
import pytest

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.osm.derivations import PlacedPhrases, derivation_operations
from jaxsmt.osm.operations import BACK, FORWARD, GAP, NUM_KINDS, operations_of
from jaxsmt.osm.phrases import COVERED_NEXT, FRONT, OPEN_NEXT, compile_phrases, joined_programs, linked_phrases
from jaxsmt.osm.table import OperationTable, number_operations
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, PAD, UNKNOWN, Vocabulary

SOURCE, TARGET = Vocabulary(tuple("abcdef")), Vocabulary(tuple("uvwxyz"))


def random_phrases(random, num):
    """Phrases of 1 to 4 source and 0 to 4 target words; some have no links."""
    sources = [random.integers(NUM_RESERVED, len(SOURCE), random.integers(1, 5)) for _ in range(num)]
    targets = [random.integers(NUM_RESERVED, len(TARGET), random.integers(0, 5)) for _ in range(num)]
    links = []
    for source, target in zip(sources, targets, strict=True):
        size = random.integers(0, 6) if len(target) else 0
        links.append(
            sorted({(int(random.integers(len(source))), int(random.integers(len(target)))) for _ in range(size)})
        )
    bitext = Bitext(ragged_from_rows(sources), ragged_from_rows(targets))
    return linked_phrases(bitext, ragged_from_rows(links, width=2))


def random_derivations(random, phrases, num):
    """Each of up to five phrases, put side by side in the source and written in any order."""
    columns = []
    for owner in range(num):
        chosen = random.integers(0, len(phrases.bitext), random.integers(0, 6))
        starts = np.concatenate([[0], np.cumsum(phrases.bitext.source.lengths[chosen])])[:-1].astype(int)
        columns += [(owner, int(chosen[place]), int(starts[place])) for place in random.permutation(len(chosen))]
    return PlacedPhrases(*np.array(columns, np.int64).reshape(-1, 3).T)


def moves_before(covered, cursor, start, end, first):
    """What leads to the first block of a phrase, its context, and how many gaps are behind its own."""
    front = max(covered, default=-1) + 1

    def is_open(place):
        return 0 <= place < front and place not in covered

    begins = [place for place in range(front) if is_open(place) and not is_open(place - 1)]
    place, made = start + first, []
    if cursor < place and (cursor == front or (place < front and all(map(is_open, range(cursor, place))))):
        made.append(GAP)
    elif cursor != place:
        made += [GAP] * is_open(cursor) + [FORWARD] * (cursor < place)
        at = front
        if place < front:
            at = max(begin for begin in begins if begin <= place)
            made.append(NUM_KINDS * sum(begin >= at for begin in begins) + BACK)
        made += [GAP] * (at < place)
    behind = FRONT if front <= start else OPEN_NEXT if is_open(end) else COVERED_NEXT
    is_left = start > 0 and start - 1 not in covered
    return made, 3 * is_left + behind, sum(begin >= end for begin in begins)


@pytest.mark.parametrize("seed", range(4))
def test_programs_make_the_operations_of_whole_derivations(seed):
    random = np.random.default_rng(seed)
    phrases = random_phrases(random, 60)
    placed = random_derivations(random, phrases, 200)
    whole = derivation_operations(OperationTable(Vocabulary(()), SOURCE, TARGET), phrases, placed, 200)
    ids, table = number_operations(whole, SOURCE, TARGET)
    jumps = {table.spelled.id_of[text]: text for text in table.spelled.words if text.startswith("jump back")}
    number_of = {int(text.rsplit(" ", 1)[1]): own for own, text in jumps.items()}
    plain = {GAP: table.spelled.id_of.get("insert gap"), FORWARD: table.spelled.id_of.get("jump forward")}
    half = len(phrases.bitext) // 2
    parts = [
        compile_phrases(table, type(phrases)(
            Bitext(phrases.bitext.source.take(rows), phrases.bitext.target.take(rows)), phrases.links.take(rows)
        )) for rows in (np.arange(half), np.arange(half, len(phrases.bitext)), np.arange(0))
    ]  # fmt: skip
    programs = joined_programs(parts).take(placed.phrase)
    assert len(programs.tokens) <= sum(len(part.tokens) for part in parts) * len(placed.phrase)
    for owner in range(200):
        covered, cursor, made = set(), 0, []
        for row in np.flatnonzero(placed.owner == owner).tolist():
            start = int(placed.start[row])
            end = start + int(phrases.bitext.source.lengths[placed.phrase[row]])
            moves, context, behind = moves_before(covered, cursor, start, end, int(programs.first[row]))
            at, lead = int(programs.start[row, context]), int(programs.lead[row])
            own = programs.tokens[at : at + programs.size[row, context]].tolist()
            own = [number_of[behind - token] if token < 0 else token for token in own]
            made += own[:lead]
            made += [plain[move] if move in plain else number_of[move // NUM_KINDS] for move in moves]
            made += own[lead:]
            covered |= set(range(start, end))
            cursor = start + int(programs.last[row])
        assert made == ids[owner].tolist()


def test_phrases_without_unlinked_beginnings_are_as_text_without_phrases():
    """Cut or not: unlinked words that follow a linked one belong to it either way."""
    random = np.random.default_rng(7)
    phrases = random_phrases(random, 80)
    begins_linked = [0 in links[:, 0] for links in (phrases.links[row] for row in range(80))]
    is_whole = np.array([row not in np.flatnonzero(_has_pad(phrases)) for row in range(80)]) & np.array(begins_linked)
    rows = np.flatnonzero(is_whole)
    some = type(phrases)(
        Bitext(phrases.bitext.source.take(rows), phrases.bitext.target.take(rows)), phrases.links.take(rows)
    )
    placed = random_derivations(random, some, 50)
    table = OperationTable(Vocabulary(()), SOURCE, TARGET)
    cut = derivation_operations(table, some, placed, 50)
    for owner in range(50):
        of = np.flatnonzero(placed.owner == owner)
        sources, targets, links, written = {}, [], [], 0
        for row in of.tolist():
            phrase, start = int(placed.phrase[row]), int(placed.start[row])
            sources[start] = some.bitext.source[phrase].tolist()
            links += [(start + s, written + t) for s, t in some.links[phrase].tolist()]
            targets += some.bitext.target[phrase].tolist()
            written = len(targets)
        words = [word for start in sorted(sources) for word in sources[start]]
        pair = Bitext(ragged_from_rows([words]), ragged_from_rows([targets]))
        rarity = np.arange(len(TARGET))
        rarity[UNKNOWN] = len(TARGET)
        alone = operations_of(pair, ragged_from_rows([links], width=2), rarity)
        own = cut.symbols.take(np.arange(*cut.offsets[owner : owner + 2]))
        assert own.values.tolist() == alone.symbols.values.tolist()


def _has_pad(phrases):
    found = np.zeros(len(phrases.bitext), bool)
    np.logical_or.at(found, phrases.bitext.target.row_index, phrases.bitext.target.values == PAD)
    return found


def test_a_phrase_that_begins_with_unlinked_words_keeps_them():
    bitext = Bitext(ragged_from_rows([[6, 7], [8, 9]]), ragged_from_rows([[6], [7, 8]]))
    phrases = linked_phrases(bitext, ragged_from_rows([[(0, 0)], [(1, 1)]], width=2))
    placed = PlacedPhrases(np.array([0, 0]), np.array([1, 0]), np.array([2, 0]))
    table = OperationTable(Vocabulary(()), SOURCE, TARGET)
    ids, spelled = number_operations(derivation_operations(table, phrases, placed, 1), SOURCE, TARGET)
    expected = ["\tv", "insert gap", "c\t", "d\tw", "jump back 1", "a\tu", "b\t"]
    assert spelled.spelled.decode(ids[0]) == expected


def test_a_phrase_without_links_is_one_deleted_word_after_the_other():
    bitext = Bitext(ragged_from_rows([[6, 7], [8]]), ragged_from_rows([[], [7]]))
    phrases = linked_phrases(bitext, Ragged(np.zeros((1, 2), np.int32), np.array([0, 0, 1])))
    placed = PlacedPhrases(np.array([0, 0]), np.array([1, 0]), np.array([2, 0]))
    table = OperationTable(Vocabulary(()), SOURCE, TARGET)
    ids, spelled = number_operations(derivation_operations(table, phrases, placed, 1), SOURCE, TARGET)
    assert spelled.spelled.decode(ids[0]) == ["insert gap", "c\tv", "jump back 1", "a\t", "b\t"]
