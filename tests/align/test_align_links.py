"""Pharaoh files and the five symmetrisations."""

import gzip
import lzma

import numpy as np
import pytest

from jaxsmt.align.links import check_links, make_links, read_links, write_links
from jaxsmt.align.symmetrise import SYMMETRISATIONS, symmetrise
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged, ragged_from_rows

NEIGHBOURS = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]


def links_of(rows) -> Ragged:
    return ragged_from_rows([sorted(row) for row in rows], width=2)


def rows_of(links: Ragged) -> list[list[tuple[int, int]]]:
    return [[(int(i), int(j)) for i, j in links[row]] for row in range(len(links))]


def slow_symmetrise(forward: set, reverse: set, method: str) -> list[tuple[int, int]]:
    """One sentence, one point at a time."""
    result, union = forward & reverse, forward | reverse
    if method in ("intersect", "union"):
        return sorted(union if method == "union" else result)

    def free(point):
        return all(point[0] != i for i, _ in result), all(point[1] != j for _, j in result)

    changed = True
    while changed:
        changed = False
        for point in sorted(union - result):
            near = any((point[0] + a, point[1] + b) in result for a, b in NEIGHBOURS)
            if near and any(free(point)):
                result.add(point)
                changed = True
    if method != "grow-diag":
        rule = all if method.endswith("and") else any
        for side in (forward, reverse):
            for point in sorted(side - result):
                if rule(free(point)):
                    result.add(point)
    return sorted(result)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_pharaoh_files_round_trip(tmp_path, suffix):
    links = links_of([[(0, 0), (1, 2), (1, 3)], [], [(12, 0)]])
    path = tmp_path / f"a{suffix}"
    write_links(path, links)
    first = path.read_bytes()
    write_links(path, links)
    assert path.read_bytes() == first
    opener = {"": open, ".gz": gzip.open, ".xz": lzma.open}[suffix]
    with opener(path, "rt") as stream:
        assert stream.read() == "0-0 1-2 1-3\n\n12-0\n"
    again = read_links(path, np.array([2, 0, 13]), np.array([4, 5, 1]))
    assert rows_of(again) == rows_of(links)


def test_links_are_sorted_and_unique(tmp_path):
    path = tmp_path / "a"
    path.write_text("2-0  0-1 0-0 0-1 \n\r\n1-1")
    assert rows_of(read_links(path)) == [[(0, 0), (0, 1), (2, 0)], [], [(1, 1)]]
    empty = make_links(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), 2)
    assert empty.values.shape == (0, 2)
    assert len(empty) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n0:1\n", r"'.*a', line 2: '0:1' is not a link"),
        ("0-0 1-\n", "line 1: '1-' is not a link"),
        ("0-0-1\n", "line 1: '0-0-1' is not a link"),
        ("0-0\n", "has 1 lines for 2 sentence pairs"),
        ("0-0\n1-3\n", r"line 2: link 1-3 lies outside a pair of 2 source and 3 target words"),
    ],
)
def test_bad_pharaoh_lines_are_named(tmp_path, text, message):
    path = tmp_path / "a"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_links(path, np.array([1, 2]), np.array([2, 3]))


def test_bad_pharaoh_files_are_named(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        read_links(tmp_path / "none")
    for name, data in (("a.gz", gzip.compress(b"0-0\n" * 50)[:-9]), ("b.gz", b"0-0\n"), ("c.xz", b"0-0\n")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=r"broken or truncated|is not a (gzip|xz) file"):
            read_links(tmp_path / name)
    (tmp_path / "d").write_bytes(b"0-0 \xff\n")
    with pytest.raises(UserError, match="is not UTF-8"):
        read_links(tmp_path / "d")
    with pytest.raises(UserError, match=r"file\.x.*has 0 lines"):
        check_links(links_of([]), np.array([1]), np.array([1]), "file.x")


def test_symmetrisations_by_hand():
    # 0-0 in both; 1-1 beside it, forward only; 3-3 alone, reverse only; 3-0: its target word is taken
    forward, reverse = links_of([[(0, 0), (1, 1)]]), links_of([[(0, 0), (3, 0), (3, 3)]])
    expected = {
        "intersect": [(0, 0)],
        "union": [(0, 0), (1, 1), (3, 0), (3, 3)],
        "grow-diag": [(0, 0), (1, 1)],
        "grow-diag-final": [(0, 0), (1, 1), (3, 0), (3, 3)],
        "grow-diag-final-and": [(0, 0), (1, 1), (3, 3)],
    }
    assert {method: rows_of(symmetrise(forward, reverse, method))[0] for method in SYMMETRISATIONS} == expected


@pytest.mark.parametrize("method", SYMMETRISATIONS)
def test_symmetrisation_equals_slow_reference(method):
    random = np.random.default_rng(7)
    forward, reverse = [], []
    for row in range(60):
        width, height = (0, 3) if row == 0 else (1, 1) if row == 1 else random.integers(1, 14, 2)
        density = random.choice([0.1, 0.3])
        for side in (forward, reverse):
            points = np.argwhere(random.random((width, height)) < density)
            side.append({(int(i), int(j)) for i, j in points})
    got = rows_of(symmetrise(links_of(forward), links_of(reverse), method))
    assert got == [slow_symmetrise(f, r, method) for f, r in zip(forward, reverse, strict=True)]


def test_symmetrisation_of_nothing():
    for method in SYMMETRISATIONS:
        assert rows_of(symmetrise(links_of([[], []]), links_of([[], []]), method)) == [[], []]
        assert len(symmetrise(links_of([]), links_of([]), method)) == 0
    with pytest.raises(UserError, match="'grow' is not known"):
        symmetrise(links_of([]), links_of([]), "grow")


@pytest.mark.parametrize("domain", ["A", "B"])
@pytest.mark.parametrize("method", SYMMETRISATIONS)
def test_symmetrisation_equals_reference(reference, domain, method):
    folder = reference / "align"
    forward, reverse = read_links(folder / f"{domain}.forward.gz"), read_links(folder / f"{domain}.reverse.gz")
    expected = read_links(folder / f"{domain}.{method}.gz")
    got = symmetrise(forward, reverse, method)
    assert np.array_equal(got.values, expected.values)
    assert np.array_equal(got.offsets, expected.offsets)
