"""Every kernel lowers for GPUs and TPUs; and what is read from kernels that are compiled for a GPU is true."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.kernels.certificate import certify, text_flags
from benchmarks.kernels.compiling import Compiled, Loop, can_compile, parse_thunks, walk
from benchmarks.kernels.loops import count_loops
from benchmarks.kernels.recording import Kernel, jitted_functions, recorded
from benchmarks.kernels.scenes import SCENES, Recording
from jaxsmt.lm import scoring
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import write_corpus

HOT = {
    "align.em._e_step", "extract.boxes.search_boxes", "tm.features._mixed_features",
    "tm.fit.perplexity.minimise_mixture", "lm.scoring._score_rows", "search.chart.kernel.fill_chart",
    "search.stack.kernel.fill_stacks", "tune.mira._one_pass", "tune.mert.envelope.upper_envelopes",
    "adapt.bpa.kernels.log_partitions", "adapt.bpa.kernels.mixture_sums",
}  # fmt: skip
SEQUENCE = """\
001: kCopy   [source       | next=002 (1)] kCopy
002: kWhile  [prev=001 (1) | next=011 (1)]
condition:
    003: kCustomKernel [source | sink] compare grid: [1, 1, 1]
  body:
    000: kCommandBuffer [source | next=006 (1)]
        004: kCustomKernel [source | sink] add grid: [1, 1, 1]
        005: kCustomKernel [source | sink] add grid: [1, 1, 1]
    006: kWhile [prev=000 (1) | next=009 (1)]
condition:
        007: kCustomKernel [source | sink] compare grid: [1, 1, 1]
      body:
        008: kCustomKernel [source | sink] sort_1 grid: [1, 1, 1]
    009: kConditional [prev=006 (1) | sink]
      false_branch:
      true_branch:
        010: kCustomKernel [source | sink] add grid: [1, 1, 1]
011: kCustomKernel [prev=002 (1) | sink] add grid: [1, 1, 1]
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """What small runs call."""
    folder = tmp_path_factory.mktemp("kernels")
    overrides = [*write_corpus(folder, 60), "translate=[dev]", "all_ways=false"]
    recording = Recording("cpu")
    for scene in ("stack", "hiero"):
        recording.train(scene, [*overrides, *SCENES[scene]], folder / "work")
    return recording.kernels()


def test_kernels_are_found_without_a_list():
    assert set(jitted_functions()) >= HOT


def test_runs_call_the_hot_kernels(kernels):
    assert {kernel.name for kernel in kernels} >= HOT
    assert all(kernel.num_sentences for kernel in kernels if ".fill_" in kernel.name)
    assert {kernel.choice for kernel in kernels if kernel.name == "align.em._e_step"} == {"diagonal", "hmm"}


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_all_kernels_lower(kernels, platform):
    for kernel in kernels:
        with jax.default_matmul_precision("default"):  # so that a product's own word is seen
            text = kernel.trace().lower(lowering_platforms=(platform,)).as_text()
        assert "stablehlo" in text
        assert "f64" not in text, kernel.title
        assert "callback" not in text, kernel.title
        products = [line for line in text.splitlines() if "stablehlo.dot_general" in line]
        assert [line for line in products if "precision = [HIGHEST, HIGHEST]" not in line] == [], kernel.title


def test_recording_ends_with_the_block():
    before = scoring.look_up
    with recorded("here") as found:
        assert scoring.look_up is not before
        assert scoring.look_up.__name__ == "look_up"
    assert scoring.look_up is before
    assert found == {}


def loops_of(first, second):
    return {2: Loop(first, "a.py", 1, 1), 6: Loop(second, "b.py", 2, 2)}


def test_launches_are_counted_through_loops():
    compiled = Compiled(0.0, (0.0, 0.0, 0.0), parse_thunks(SEQUENCE), loops_of(10, 20), "", "")
    assert [thunk.number for thunk in walk(compiled.thunks)] == [1, 2, 3, 0, 4, 5, 6, 7, 8, 9, 10, 11]
    found = certify(compiled, None)
    body = 2 + 20 + 1  # the buffer's, the inner loop's bodies, the longer branch; nobody asks for conditions
    assert found.launches == 1 + 10 * body + 1
    assert found.submissions == 1 + 10 * (body - 1) + 1
    assert (found.steps, found.is_exact, found.flags) == (10, True, ["sort"])
    assert found.a_step == body


def test_branches_count_as_often_as_they_were_taken():
    places = {9: Loop(None, "file", 7, 7)}
    compiled = Compiled(0.0, (0.0, 0.0, 0.0), parse_thunks(SEQUENCE), loops_of(10, 20), "", "", places)
    longest = certify(compiled, None).launches
    for share in (0.0, 0.3, 1.0):
        counts = SimpleNamespace(shares=lambda place, num, share=share: [1 - share, share][:num])
        assert certify(compiled, counts).launches == longest - 10 + round(10 * share)


def test_the_branches_that_are_taken_are_counted():
    def run(numbers):
        return jax.lax.map(lambda at: jax.lax.switch(at, [lambda: 1, lambda: 2, lambda: 3]), numbers)

    counts = count_loops(Kernel("run", "", jax.jit(run), (jnp.array([0, 2, 2, 2]),), {}))
    assert sorted(counts.taken.values()) == [1, 3]
    assert {branch: count for (*_, branch), count in counts.taken.items()} == {0: 1, 2: 3}


def test_a_loop_of_unknown_length_asks_the_host():
    compiled = Compiled(0.0, (0.0, 0.0, 0.0), parse_thunks(SEQUENCE), loops_of(2, None), "", "")
    found = certify(compiled, None)
    assert not found.is_exact
    assert found.flags == ["host loop"]  # two iterations are no loop, so the sort is not in an inner one
    counted = certify(compiled, SimpleNamespace(of=lambda loop: 60))
    assert counted.is_exact
    assert counted.launches == 1 + 2 * (2 + 1) + (60 + 2) + 60 + 1


@pytest.mark.parametrize(
    ("program", "assembly", "flag"),
    [
        ("x = f64[3] add(a, b)", "", "f64"),
        ('custom-call(), custom_call_target="xla_ffi_python_gpu_callback"', "", "callback"),
        ("", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {", "tf32"),
        ("", "atom.relaxed.sys.global.cas.b32 %r1", "cas"),
        ("", "red.global.add.f32 [%rd1], %f1;", "atomic"),
        ("", "atom.relaxed.gpu.global.add.f32 %f1", "atomic"),
    ],
)
def test_what_must_not_be_there(program, assembly, flag):
    assert text_flags(program, assembly) == {flag}


def test_sums_of_integers_and_maxima_may_be_atomic():
    assert text_flags("x = f32[3] add(a, b)", "red.global.add.u32 [%rd1]; atom.global.max.s32 %r; add.f32 %f") == set()


def collatz(start):
    """Loops whose lengths the device alone knows."""

    def lengths(number, total):
        def step(state):
            value, count = state
            return jnp.where(value % 2 == 0, value // 2, 3 * value + 1), count + 1

        return total + jax.lax.while_loop(lambda state: state[0] > 1, step, (number + 1, 0))[1]

    return jax.lax.fori_loop(0, start, lengths, 0)


def test_iterations_are_counted():
    kernel = Kernel("collatz", "", jax.jit(collatz), (np.int32(6),), {})
    counts = count_loops(kernel)
    assert sorted(counts.iterations.values()) == [6, 0 + 1 + 7 + 2 + 5 + 8]
    assert count_loops(kernel).iterations == counts.iterations
    assert int(kernel.function(6)) == 23


PROGRAM = """
import json
import jax, jax.numpy as jnp, numpy as np
from benchmarks.kernels.certificate import certify
from benchmarks.kernels.compiling import compile_for
from benchmarks.kernels.loops import count_loops
from benchmarks.kernels.recording import Kernel
from tests.benchmarks.test_device_kernels import collatz

def scattered(x, index):
    return x.at[index].add(jnp.matmul(x[index], x, precision="default"), mode="promise_in_bounds")

x, index = np.ones((64, 64), np.float32), np.zeros(64, np.int32)
calls = (scattered, (x, index)), (collatz, (np.int32(6),))
for kernel in (Kernel(function.__name__, "", jax.jit(function), arguments, {}) for function, arguments in calls):
    for device in ("a100", "h100"):
        compiled = compile_for(kernel, device)
        found = certify(compiled, count_loops(kernel))
        print("found", json.dumps([found.flags, found.launches, found.is_exact, compiled.memory_mb[0]]))
"""


@pytest.mark.skipif(not can_compile(), reason="no plug-in for CUDA, see the extra aot")
def test_small_kernels_compile_for_both_devices():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=REPOSITORY, env=environment
    )
    found = [json.loads(line.removeprefix("found ")) for line in done.stdout.splitlines() if line.startswith("found")]
    assert len(found) == 4
    for flags, launches, is_exact, megabytes in found[:2]:
        assert "tf32" in flags
        assert {"cas", "atomic"} & set(flags)
        assert is_exact
        assert 2 <= launches <= 8
        assert megabytes == pytest.approx((64 * 64 + 64) * 4 / 1e6)
    for flags, launches, is_exact, _ in found[2:]:
        assert flags == ["host loop"]
        assert is_exact
        assert launches >= 6 + 23
