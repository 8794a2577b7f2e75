"""What is put on the device is asked about first."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.devices import room
from jaxsmt.common.errors import UserError


def test_there_is_room_and_less_of_it_with_a_smaller_fraction(monkeypatch):
    if jax.default_backend() != "cpu":
        pytest.skip("JAX has taken its share of the device already")
    whole = room.room()
    monkeypatch.setattr(room, "memory_fraction", lambda: 0.01)
    assert 0 < room.room() < whole


def test_bytes_of_arrays_alone_count():
    assert room.bytes_of({"a": np.zeros((3, 4), np.float32), "b": (jnp.zeros(2, jnp.int32), "text", None, 3)}) == 56


@jax.jit
def outer(x):
    return x[:, None] * x[None] + 1


def test_a_program_needs_its_arguments_results_and_more():
    assert room.program_bytes(outer, np.zeros(100, np.float32)) >= 4 * (100 + 100 * 100)
    more = room.program_bytes(outer, np.zeros(200, np.float64))
    assert more >= 4 * (200 + 200 * 200)  # as the device has it


def test_what_is_small_is_not_asked_about(monkeypatch):
    x = np.zeros(100, np.float32)
    monkeypatch.setattr(room, "room", lambda: 1000)
    assert not room.fits(outer, x)
    monkeypatch.setattr(room, "room", lambda: 100_000)
    assert room.fits(outer, x)
    monkeypatch.setattr(room, "program_bytes", None)
    assert room.fits(outer, x)
    monkeypatch.setattr(room, "room", lambda: None)
    assert room.fits(outer, x)


def test_a_model_without_room_says_by_how_much(monkeypatch):
    model = {"arcs": np.zeros(25_000_000, np.int32)}
    monkeypatch.setattr(room, "room", lambda: 60_000_000)
    with pytest.raises(UserError, match=r"the model takes 0\.10 GB .* 0\.06 GB are left, 0\.04 GB .*rescore\.kenlm"):
        room.check_model_room(model, "the model")
    monkeypatch.setattr(room, "room", lambda: 100_000_000)
    room.check_model_room(model, "the model")
