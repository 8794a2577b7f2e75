"""A second process takes its compiled programs from the cache of the first."""

import json
import os
import subprocess
import sys

from tests.conftest import REPOSITORY

PROGRAM = """
import json
import jax
import numpy as np
from jax._src import monitoring
from jaxsmt.common.device import setup_device

setup_device()
hits = []
monitoring.register_event_listener(lambda event, **_: hits.append(event) if event.endswith("/cache_hits") else None)
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.rules.model import fixed_rules
from tests.search.search_oracle import WEIGHTS, random_lm, random_sentences, random_table

random = np.random.default_rng(0)
table, automaton = random_table(random, 8, 1), random_lm(random, 1)
config = SearchConfig(Beam(kept=2, rules=3, expanded=2, neighbours=3), max_span=3, table_limit=2)
decoder = make_decoder(fixed_rules(table), [LmFeatures(automaton)], config)
(found,) = decoder.translate(Request(random_sentences(random, [3]), weights=WEIGHTS))
print(json.dumps({"hits": len(hits), "tokens": found.tokens, "score": found.score}))
"""


def run(cache):
    """What the program prints, and the names of stored programs afterwards; optimisation would only take time here."""
    environment = {
        **os.environ,
        "JAXSMT_CACHE": str(cache),
        "PYTHONPATH": str(REPOSITORY),
        "XLA_FLAGS": "--xla_backend_optimization_level=0",
    }
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    stored = {path.name for path in (cache / "compiled").glob("*-cache")}
    return json.loads(process.stdout.splitlines()[-1]), stored


def test_a_second_process_starts_warm(tmp_path):
    first, stored = run(tmp_path)
    charts = {name for name in stored if name.startswith("jit_fill_chart")}
    assert first["hits"] == 0
    assert len(charts) == 1
    second, stored_then = run(tmp_path)
    assert second["hits"] >= len(stored)
    assert {name for name in stored_then if name.startswith("jit_fill_chart")} == charts  # not compiled again
    assert (second["tokens"], second["score"]) == (first["tokens"], first["score"])
