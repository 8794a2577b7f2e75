import threading

import pytest

from jaxsmt.common.lanes import in_lanes


@pytest.mark.parametrize("num_lanes", [0, 1, 2, 5])
def test_every_item_comes_once_and_lanes_keep_their_order(num_lanes):
    lanes = [[(lane, number) for number in range(3 * lane + 20)] for lane in range(num_lanes)]
    found = list(in_lanes(lanes))
    assert sorted(found) == sorted(item for lane in lanes for item in lane)
    for lane, items in enumerate(lanes):
        assert [item for item in found if item[0] == lane] == items


def test_lanes_really_run_side_by_side():
    meeting = threading.Barrier(2, timeout=20)

    def lane():
        meeting.wait()  # breaks unless both are running
        yield threading.get_ident()

    assert len(set(in_lanes([lane(), lane()]))) == 2


@pytest.mark.parametrize("num_lanes", [1, 3])
def test_an_error_in_a_lane_is_raised_and_the_others_stop(num_lanes):
    def failing():
        yield 1
        raise RuntimeError("lane broke")

    endless = [iter(int, 1) for _ in range(num_lanes - 1)]
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="lane broke"):
        for _ in in_lanes([failing(), *endless]):
            pass
    assert threading.active_count() == before


def test_threads_end_when_nobody_reads_on():
    before = threading.active_count()
    reader = in_lanes([iter(int, 1), iter(int, 1)])
    assert next(reader) == 0
    reader.close()
    assert threading.active_count() == before
