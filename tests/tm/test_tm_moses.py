import gzip
from dataclasses import fields, replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.text.vocabulary import NONTERMINALS
from jaxsmt.tm.features import features
from jaxsmt.tm.moses import tables as moses
from jaxsmt.tm.moses.lexical import LexicalPaths, write_lexical_tables
from jaxsmt.tm.scored import score_component
from jaxsmt.tm.union import build_union
from tests.tm.small_models import pairs_of, random_model, to_component

PHRASES = """\
a ! ||| b ||| 0.5 0.25 1 1.5e-07 ||| 0-0 1-0 ||| 2 1 1 ||| |||
a b ||| c d ||| 1 0.333333 1 1 ||| 1-0 0-1 ||| 1 1 1 ||| |||
a ||| b c ||| 0.5 1 0.5 1 ||| 0-0 ||| 2 4 2 ||| |||
a ||| b ||| 0.5 1 0.5 1 ||| 0-0 ||| 2 4 2 ||| |||
é ||| e ||| 1 1 1 1 |||  ||| 3 3 3 ||| |||
"""
RULES = """\
a [X] ||| b [X] ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||
a [X][X] [X] ||| [X][X] b [X] ||| 0.5 1 1 1 ||| 0-1 1-0 ||| 2 1 1 ||| |||
a [X][X] b [X][X] [X] ||| [X][X] b [X][X] [X] ||| 0.5 1 0.25 1 ||| 0-1 1-0 3-2 ||| 2 4 1 ||| |||
a [X][X] b [X][X] [X] ||| [X][X] b [X][X] [X] ||| 0.5 1 0.75 1 ||| 0-1 1-2 3-0 ||| 2 4 3 ||| |||
"""
GLUE = """\
<s> [X] ||| <s> [S] ||| 1 ||| 0-0 ||| 0 ||| |||
[X][S] </s> [X] ||| [X][S] </s> [S] ||| 1 ||| 0-0 1-1 ||| 0 ||| |||
[X][S] [X][X] [X] ||| [X][S] [X][X] [S] ||| 2.718 ||| 0-0 1-1 ||| 0 ||| |||
"""


def read_text(tmp_path, text, **options):
    path = tmp_path / "table"
    path.write_text(text)
    return moses.read_scored_table(path, **options)


@pytest.mark.parametrize("name", ["table", "table.gz"])
@pytest.mark.parametrize("text", [PHRASES.replace("|||  |||", "||| 0-0 |||"), RULES])
def test_written_tables_are_the_bytes_that_were_read(tmp_path, text, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    table = moses.read_scored_table(path)
    for out in ("first", "second"):
        moses.write_table(tmp_path / f"{out}-{name}", table)
    written = (tmp_path / f"first-{name}").read_bytes()
    assert written == (tmp_path / f"second-{name}").read_bytes()
    assert (gzip.decompress(written) if name.endswith("gz") else written).decode() == text


def test_fields_by_hand(tmp_path):
    table = read_text(tmp_path, PHRASES, name="mine")
    assert (table.name, table.kind, len(table)) == ("mine", "phrase", 5)
    rows = {pair: p for p, pair in enumerate(pairs_of(table))}
    swapped = rows[("a", "b"), ("c", "d")]
    assert table.links_by_target[swapped].tolist() == [0b10, 0b01]
    np.testing.assert_array_equal(table.scores[swapped], np.array([1, 0.333333, 1, 1], np.float32))
    assert table.counts[rows[("a",), ("b", "c")]].tolist() == [2, 4, 2]
    assert table.links_by_target[rows[("é",), ("e",)]].tolist() == [0, 0]
    assert table.links_by_target[rows[("a", "!"), ("b",)]].tolist() == [0b11, 0]


def test_gaps_are_numbered_in_source_order(tmp_path):
    table = read_text(tmp_path, RULES)
    assert (table.kind, table.labels) == ("hiero", ("X",))
    assert sorted(pairs_of(table)) == [
        (("a",), ("b",)),
        (("a", "X1"), ("X1", "b")),
        (("a", "X1", "b", "X2"), ("X1", "b", "X2")),
        (("a", "X1", "b", "X2"), ("X2", "b", "X1")),
    ]
    swapped = pairs_of(table).index((("a", "X1", "b", "X2"), ("X2", "b", "X1")))
    assert table.links_by_target[swapped].tolist() == [0, 1, 0]  # words only
    assert table.scores[swapped][2] == 0.75


def test_glue_grammars_keep_their_labels(tmp_path):
    table = read_text(tmp_path, GLUE)
    assert table.labels == ("X", "S")
    assert table.counts is None
    assert table.scores.shape == (3, 1)
    assert table.left_labels.tolist() == [1, 1, 1]
    concatenation = pairs_of(table).index((("X1", "X2"), ("X1", "X2")))
    assert table.gap_labels[concatenation].tolist() == [1, 0]
    assert table.source_sides[table.source_index[concatenation]].tolist() == list(NONTERMINALS)
    moses.write_table(tmp_path / "glue", table)
    assert (tmp_path / "glue").read_text() == GLUE.replace(" ||| 0 ||| |||", "")


def test_lines_are_sorted_bytewise(tmp_path):
    words = ["a", "a!", "a}", "é", "{", "~", "a b", "a b c", "a }", "} a", "0"]
    lines = sorted(f"{f} ||| {e} ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||\n".encode() for f in words for e in words)
    table = read_text(tmp_path, b"".join(lines[::-1]).decode())
    moses.write_table(tmp_path / "sorted", table)
    assert (tmp_path / "sorted").read_bytes() == b"".join(lines)


def test_reserved_characters_are_escaped_and_come_back_if_asked(tmp_path):
    escaped = "&#91; &#124;&#124; ||| &#93;x ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||\n"
    as_written, undone = read_text(tmp_path, escaped), read_text(tmp_path, escaped, unescape=True)
    assert pairs_of(as_written) == [(("&#91;", "&#124;&#124;"), ("&#93;x",))]
    assert pairs_of(undone) == [(("[", "||"), ("]x",))]
    for table in (as_written, undone):
        moses.write_table(tmp_path / "out", table)
        assert (tmp_path / "out").read_text() == escaped


def test_unescaping_joins_two_spellings_of_a_word(tmp_path):
    text = "&#91; ||| a ||| 1 ||| 0-0\n[ x ||| a ||| 1 ||| 0-0\n"
    assert read_text(tmp_path, text, unescape=True).source_vocabulary.words == ("[", "x")


def test_other_whitespace_belongs_to_tokens(tmp_path):
    table = read_text(tmp_path, "10\u00a0000 ||| 10,000\u2028 ||| 1 1 1 1 ||| 0-0\n")
    assert pairs_of(table) == [(("10\u00a0000",), ("10,000\u2028",))]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a ||| b", "three fields"),
        ("a ||| b ||| 1 1 1", "3 scores"),
        ("a ||| b ||| 1 1 1 x", "no number"),
        ("a ||| b ||| 1 1 1 nan", "negative or not finite"),
        ("a ||| b ||| 1 1 1 -0.5", "negative or not finite"),
        ("a ||| b ||| 1 1 1 1 ||| 0:0", "'0:0'"),
        ("a ||| b ||| 1 1 1 1 ||| 0-1", "outside its sides"),
        ("a ||| b ||| 1 1 1 1 ||| 0-77", "at most 16"),
        ("a  c ||| b ||| 1 1 1 1 ||| 0-0", "empty token"),
        (" ||| b ||| 1 1 1 1 ||| 0-0", "empty token"),
        ("a ||| b ||| 1 1 1 1 ||| 0-0 ||| 1 x 1 ||| |||", "count that is no number"),
        ("a ||| b ||| 1 1 1 1 ||| 0-0 ||| 1 -1 1 ||| |||", "negative or not finite"),
        (" ".join("abcdefghijklmnopq") + " ||| b ||| 1 1 1 1 ||| 0-0", "17 symbols"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, words):
    good = [f"w{n} ||| v ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||" for n in range(20)]
    with pytest.raises(UserError) as error:
        read_text(tmp_path, "\n".join([*good[:13], line, *good[13:]]) + "\n")
    assert "line 14 " in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a [X][X] ||| [X][X] b [X] ||| 1 1 1 1 ||| 0-1 1-0", "left-hand side such as [X] after"),
        ("a [X] b [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "amid its symbols"),
        ("a b ||| b [X] ||| 1 1 1 1 ||| 0-0", "left-hand side"),
        ("a [X][X] [X] ||| [X][X] b [X] ||| 1 1 1 1 ||| 0-1", "pair one to one"),
        ("a [X][X] [X] ||| [X][X] b [X] ||| 1 1 1 1 ||| 0-0 1-1", "pair one to one"),
        ("a [X][X] [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "pair one to one"),
        ("[X][X] [X][X] [X] ||| [X][X] [X][X] [X] ||| 1 1 1 1 ||| 0-0 0-1", "pair one to one"),
        ("[X][X] [X][X] [X] ||| [X][X] [X][X] [X] ||| 1 1 1 1 ||| 0-0 1-0", "pair one to one"),
        ("[X][X] [X][X] [X][X] [X] ||| [X][X] [X][X] [X][X] [X] ||| 1 1 1 1 ||| 0-0 1-1 2-2", "more than 2"),
    ],
)
def test_bad_rules_are_named(tmp_path, line, words):
    with pytest.raises(UserError) as error:
        read_text(tmp_path, RULES + line + "\n")
    assert "line 5 " in str(error.value)
    assert words in str(error.value)


def test_bad_files_are_named(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        moses.read_scored_table(tmp_path / "nowhere")
    with pytest.raises(UserError, match="is empty"):
        read_text(tmp_path, "")
    with pytest.raises(UserError, match="line 6 repeats the pair of line 4"):
        read_text(tmp_path, PHRASES + PHRASES.splitlines()[3] + "\n")
    (tmp_path / "latin").write_bytes(PHRASES.encode() + "é ||| e ||| 1 1 1 1\n".encode("latin-1"))
    with pytest.raises(UserError, match="line 6 is not UTF-8"):
        moses.read_scored_table(tmp_path / "latin")
    packed = gzip.compress(PHRASES.encode())
    for broken in (packed[:-12], b"plain text", packed[:30] + b"xxxx" + packed[34:]):
        (tmp_path / "broken.gz").write_bytes(broken)
        with pytest.raises(UserError, match=r"broken or truncated|not a gzip file"):
            moses.read_scored_table(tmp_path / "broken.gz")


def test_long_tables_are_read_in_chunks(tmp_path, monkeypatch):
    text = "".join(f"w{n} v ||| v{n % 7} x y ||| 1 1 1 1 ||| 0-{n % 3}\n" for n in range(500))
    whole = read_text(tmp_path, text)
    monkeypatch.setattr("jaxsmt.tm.moses.parse.CHUNK_BYTES", 100)
    parts = read_text(tmp_path, text)
    for field in fields(whole):
        np.testing.assert_array_equal(getattr(parts, field.name), getattr(whole, field.name))
    with pytest.raises(UserError, match="line 501 "):
        read_text(tmp_path, text + "bad\n")


@pytest.mark.parametrize("kind", ["phrase", "hiero"])
@pytest.mark.parametrize("size", [0, 1, 30])
def test_a_component_goes_out_and_comes_back(tmp_path, kind, size):
    rng = np.random.default_rng(size)
    component = to_component(random_model(rng, size, kind), "c", rng, kind)
    links = component.rules.links_by_target
    component = replace(  # a table has one alignment for both directions
        component,
        rules=replace(component.rules, links_by_source=transposed(links, component.rules.source_sides.shape[1])),
    )
    moses.write_component(tmp_path / "table.gz", component, word_decimals=None)
    write_lexical_tables(component, tmp_path / "lex")
    paths = LexicalPaths(tmp_path / "lex.counts.f2e", tmp_path / "lex.counts.e2f")
    if not size:
        with pytest.raises(UserError, match="is empty"):
            moses.read_component(tmp_path / "table.gz", paths)
        return
    again = moses.read_component(tmp_path / "table.gz", paths, name="c")
    ours, theirs = build_union([component]), build_union([again])
    place = {pair: p for p, pair in enumerate(pairs_of(theirs))}
    order = [place[pair] for pair in pairs_of(ours)]
    assert sorted(order) == list(range(size))
    weights = np.ones((4, 1), np.float32)
    expected = np.asarray(features(ours.statistics, weights))
    np.testing.assert_allclose(np.asarray(features(theirs.statistics, weights))[order], expected, atol=3e-5)
    scores = score_component(again).scores[order]
    np.testing.assert_allclose(np.maximum(np.log(np.maximum(scores, 1e-44)), -100), expected, atol=3e-5)


def transposed(links, width):
    result = np.zeros((len(links), width), np.uint16)
    for p, j in np.ndindex(*links.shape):
        for i in range(width):
            if links[p, j] >> i & 1:
                result[p, i] |= 1 << j
    return result


def test_lexical_files_must_belong_together(tmp_path):
    (tmp_path / "table").write_text(PHRASES)
    (tmp_path / "f2e").write_text("b a 2 3\nNULL a 1 3\n")
    (tmp_path / "e2f").write_text("a b 2 2\na NULL 1 1\n")
    component = moses.read_component(tmp_path / "table", LexicalPaths(tmp_path / "f2e", tmp_path / "e2f"))
    a, b = component.source_vocabulary.id_of["a"], component.target_vocabulary.id_of["b"]
    assert component.lexical.word_pairs.tolist() == [[a, 0], [a, b]]
    assert component.lexical.joint_counts.tolist() == [1, 2]
    assert component.lexical.source_counts[a] == 3
    assert component.lexical.target_counts[[0, b]].tolist() == [1, 2]
    (tmp_path / "other").write_text("a b 2 2\n")
    with pytest.raises(UserError, match="different word pairs"):
        moses.read_component(tmp_path / "table", LexicalPaths(tmp_path / "f2e", tmp_path / "other"))
    (tmp_path / "probabilities").write_text("a b 2 2\nb a 0.5\n")
    with pytest.raises(UserError, match=r"probabilities' line 2 .*lex.counts"):
        moses.read_component(tmp_path / "table", LexicalPaths(tmp_path / "probabilities", tmp_path / "e2f"))


def test_a_component_needs_counts(tmp_path):
    (tmp_path / "table").write_text(GLUE)
    (tmp_path / "lex").write_text("a a 1 1\n")
    with pytest.raises(UserError, match="no counts column"):
        moses.read_component(tmp_path / "table", LexicalPaths(tmp_path / "lex", tmp_path / "lex"))


def test_reordering_tables_in_and_out(tmp_path):
    table = read_text(tmp_path, PHRASES)
    lines = [
        "a ! ||| b ||| 0.6 0.2 0.2 0.2 0.2 0.6\n",
        "a ||| b ||| 0.714286 0.142857 0.142857 0.428571 0.428571 0.142857\n",
        "z ||| b ||| 0.6 0.2 0.2 0.2 0.2 0.6\n",
    ]
    (tmp_path / "reordering").write_text("".join(lines))
    probabilities = moses.read_reordering_table(tmp_path / "reordering", table)
    rows = {pair: p for p, pair in enumerate(pairs_of(table))}
    np.testing.assert_allclose(
        probabilities[rows[("a",), ("b",)]], [0.714286, 0.142857, 0.142857, 0.428571, 0.428571, 0.142857]
    )
    assert np.isnan(probabilities).all(1).sum() == 3
    kept = np.nan_to_num(probabilities, nan=0.5)
    moses.write_reordering_table(tmp_path / "out", table, kept)
    written = (tmp_path / "out").read_text().splitlines(keepends=True)
    assert len(written) == 5
    assert written[0] == lines[0]
    np.testing.assert_array_equal(moses.read_reordering_table(tmp_path / "out", table), kept)
    with pytest.raises(UserError, match="4 scores"):
        moses.read_reordering_table(tmp_path / "table", table)


def test_orientation_counts_come_from_a_reordering_table(tmp_path):
    (tmp_path / "table").write_text(PHRASES)
    (tmp_path / "lex").write_text("a a 1 1\n")
    component = moses.read_component(tmp_path / "table", LexicalPaths(tmp_path / "lex", tmp_path / "lex"))
    counts = np.array(
        [[1, 0, 0, 0, 0, 1], [0, 1, 0, 1, 0, 0], [2, 0, 0, 1, 1, 0], [0, 2, 0, 0, 0, 2], [1, 1, 1, 3, 0, 0]]
    )
    totals = component.rules.joint_counts[:, None] + 1.5
    assert np.array_equal(np.sort(counts[:, :3].sum(1)), np.sort(component.rules.joint_counts))
    counts = counts[np.argsort(np.argsort(component.rules.joint_counts, kind="stable"), kind="stable")]
    table = score_component(component)
    moses.write_reordering_table(tmp_path / "reordering", table, (counts + 0.5) / totals)
    result = moses.with_reordering(component, tmp_path / "reordering").rules.orientation_counts
    np.testing.assert_array_equal(result, counts)
    (tmp_path / "part").write_text("".join((tmp_path / "reordering").read_text().splitlines(keepends=True)[:3]))
    with pytest.raises(UserError, match="lacks 2 of the 5 pairs"):
        moses.with_reordering(component, tmp_path / "part")
