"""Language models: time and memory of estimation, queries per CPU-second, bytes per n-gram, agreement with KenLM.

Run: python benchmarks/lm.py [--data FOLDER] [--reference FOLDER] [--small]
Real text comes from FOLDER/fr-en/<domain>/{train,dev,test}.en.gz (option --data, or JAXSMT_DATA); without it a corpus
is generated. The last line is one JSON object.
"""

import argparse
import gzip
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from measure import print_figures

from jaxsmt.common.ragged import Ragged, concatenate, offsets_of, ragged_from_rows
from jaxsmt.lm.arpa import read_arpa, write_arpa
from jaxsmt.lm.automaton import Automaton, build_automaton, to_device
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kenlm_model import kenlm_word_log_probs, load_kenlm
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.model import Lm
from jaxsmt.lm.scoring import look_up, score, word_log_probs
from jaxsmt.text.vocabulary import NUM_RESERVED, SENTENCE_END, UNKNOWN, Vocabulary, build_vocabulary

REPOSITORY = Path(__file__).resolve().parent.parent
TOKEN = re.compile(r"\w+|[^\w\s]")
TRAINING_DOMAINS = ("law", "software")
LMPLZ_SENTENCES, LMPLZ_CPU_SECONDS = 19_000, 0.53  # the last measured run of lmplz, order 3
BATCHES = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Corpus:
    """Text to train on, held-out text with unknown words, and what the ids mean."""

    name: str
    train: Ragged
    held_out: Ragged
    vocabulary: Vocabulary


def main() -> None:
    options = read_options()
    corpus = real_corpus(options.data, options.small) or generated_corpus(options.small)
    print(f"corpus: {corpus.name}; {len(corpus.train)} sentences, {len(corpus.train.values)} tokens")
    report_small_estimation(corpus)
    report_lmplz_agreement(options.reference)
    rows = {order: measure_order(corpus, order) for order in (3, 5)}
    print_orders(rows)
    print_speeds(rows)
    result = {f"mqps_{order}": round(row["mqps"][10_000], 3) for order, row in rows.items()}
    result["bytes_per_ngram"] = round(max(row["bytes_per_ngram"] for row in rows.values()), 2)
    errors = [row["max_error"] for row in rows.values()]
    result["automaton_max_error"] = None if None in errors else float(f"{max(errors):.2e}")
    print_figures(result)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = REPOSITORY.parent / "shared"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("JAXSMT_DATA", shared / "data")))
    reference = Path(os.environ.get("JAXSMT_REFERENCE", shared / "reference"))
    parser.add_argument("--reference", type=Path, default=reference, help="folder with lmplz's ARPA files")
    parser.add_argument("--small", action="store_true", help="a tenth of the text, for a quick look")
    return parser.parse_args()


# --- text ---------------------------------------------------------------------------------------------------------


def read_lines(paths: Iterable[Path], limit: int | None = None) -> list[list[str]]:
    rows: list[list[str]] = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            rows += [TOKEN.findall(line.lower()) for _, line in zip(range(limit or sys.maxsize), stream, strict=False)]
    return rows


def encode(rows: list[list[str]], vocabulary: Vocabulary) -> Ragged:
    ids = vocabulary.id_of
    flat = np.fromiter((ids.get(token, UNKNOWN) for row in rows for token in row), np.int32)
    return Ragged(flat, offsets_of(np.array([len(row) for row in rows], np.int64)))


def real_corpus(data: Path, small: bool) -> Corpus | None:
    folder = data / "fr-en"
    if not folder.is_dir():
        return None
    train = read_lines((folder / name / "train.en.gz" for name in TRAINING_DOMAINS), 15_000 if small else None)
    vocabulary = build_vocabulary(Counter(token for row in train for token in row))
    held_out = read_lines(path for part in ("dev", "test") for path in sorted(folder.glob(f"*/{part}.en.gz")))
    name = f"{' + '.join(TRAINING_DOMAINS)} (English)"
    return Corpus(name, encode(train, vocabulary), encode(held_out, vocabulary), vocabulary)


def generated_corpus(small: bool) -> Corpus:
    """Sentences from a random first-order chain over Zipf-distributed words."""
    rng = np.random.default_rng(0)
    num_words, num_sentences, length = 20_000, 10_000 if small else 100_000, 20
    followers = rng.zipf(1.3, (num_words, 8)) % num_words
    words = np.empty((num_sentences + 20_000, length), np.int64)
    words[:, 0] = rng.zipf(1.3, len(words)) % num_words
    for t in range(1, length):
        fresh = rng.zipf(1.3, len(words)) % num_words
        follow = followers[words[:, t - 1], np.minimum(rng.geometric(0.4, len(words)) - 1, 7)]
        words[:, t] = np.where(rng.random(len(words)) < 0.8, follow, fresh)
    vocabulary = Vocabulary(tuple(f"w{i}" for i in range(num_words)))
    train, held_out = (
        ragged_from_rows(list(part + NUM_RESERVED)) for part in np.split(words.astype(np.int32), [num_sentences])
    )
    return Corpus("generated (no real text was found)", train, held_out, vocabulary)


# --- estimation ---------------------------------------------------------------------------------------------------


def cpu_seconds() -> float:
    return time.process_time()


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def report_small_estimation(corpus: Corpus) -> None:
    """An order-3 model of 19,000 sentences, against lmplz where it is on the machine."""
    sentences = corpus.train.take(np.arange(min(LMPLZ_SENTENCES, len(corpus.train))))
    begin = cpu_seconds()
    lm = estimate_lm(sentences, corpus.vocabulary, LmConfig(order=3, rest_costs=False))
    ours = cpu_seconds() - begin
    size = f"{len(sentences)} sentences, {len(sentences.values)} tokens, {sum(lm.counts)} n-grams"
    print(f"order 3 on {size}: {ours:.2f} CPU-s")
    if (lmplz := shutil.which("lmplz")) is None:
        print(f"lmplz is not on this machine; its last measured run (19,000 sentences): {LMPLZ_CPU_SECONDS} CPU-s")
        return
    names = [""] * NUM_RESERVED + list(corpus.vocabulary.words)
    text = "".join(" ".join(names[i] for i in sentences[r]) + "\n" for r in range(len(sentences)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([lmplz, "-o", "3", "--discount_fallback"], input=text.encode(), capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"lmplz on the same: {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.2f} CPU-s")


def report_lmplz_agreement(reference: Path) -> None:
    """The largest difference to what lmplz estimated from the same text, where its files are there."""
    if not (reference / "lm" / "A.en.5.arpa.gz").is_file():
        print("agreement with lmplz: no reference files")
        return
    with gzip.open(reference / "text" / "A.en.gz", "rt", encoding="utf-8") as stream:
        rows = [line.split() for line in stream]
    vocabulary = build_vocabulary(Counter(token for row in rows for token in row))
    ours = estimate_lm(encode(rows, vocabulary), vocabulary, LmConfig(order=5))
    theirs = read_arpa(reference / "lm" / "A.en.5.arpa.gz", vocabulary)
    differences = [
        np.abs(getattr(a, name) - getattr(b, name)).max()
        for a, b in zip(ours.levels[1:], theirs.levels[1:], strict=True)
        for name in ("log_p", "log_backoff")
    ]
    print(f"agreement with lmplz, order 5, {sum(ours.counts)} n-grams: largest difference {max(differences):.1e}")


def measure_order(corpus: Corpus, order: int) -> dict:
    begin = cpu_seconds()
    lm = estimate_lm(corpus.train, corpus.vocabulary, LmConfig(order=order))
    estimated = cpu_seconds()
    automaton = build_automaton(lm, rest_costs=False)
    packed = cpu_seconds()
    with_rest = build_automaton(lm)
    row = {
        "num_ngrams": sum(lm.counts),
        "estimate": estimated - begin,
        "build": packed - estimated,
        "peak_gb": peak_gb(),
        "bytes_per_ngram": automaton.num_bytes / sum(lm.counts),
        "bytes_with_rest": with_rest.num_bytes / sum(lm.counts),
    }
    automaton = to_device(automaton)
    row |= compare_with_kenlm(lm, automaton, corpus)
    state, word = queries(automaton, corpus.held_out)
    row["mqps"] = {size: speed(automaton, state, word, size) for size in BATCHES}
    row["mqps_in_loop"] = {size: speed_in_loop(automaton, state, word, size) for size in BATCHES[:-1]}
    return row


# --- agreement and speed ------------------------------------------------------------------------------------------


def compare_with_kenlm(lm: Lm, automaton: Automaton, corpus: Corpus) -> dict:
    """The largest difference in natural log p on held-out, random and unknown words, and KenLM's own speed."""
    try:
        import kenlm  # noqa: F401
    except ImportError:
        return {"max_error": None, "kenlm_mqps": None}
    rng = np.random.default_rng(1)
    random_words = rng.integers(NUM_RESERVED, len(corpus.vocabulary), 20_000).astype(np.int32)
    random_words[::7] = UNKNOWN
    sample = corpus.held_out.take(np.arange(0, len(corpus.held_out), 4))
    sentences = concatenate([sample, Ragged(random_words, np.arange(0, 20_001, 20))])
    with tempfile.TemporaryDirectory() as folder:
        begin = cpu_seconds()
        write_arpa(lm, Path(folder) / "lm.arpa")
        write_seconds = cpu_seconds() - begin
        model = load_kenlm(Path(folder) / "lm.arpa")
    names = ["<unk>"] * NUM_RESERVED + list(corpus.vocabulary.words)
    texts = [[names[i] for i in sentences[r]] for r in range(len(sentences))]
    theirs = np.concatenate([kenlm_word_log_probs(model, text) for text in texts])
    ours = word_log_probs(automaton, sentences).values[:, 0]
    lines = [" ".join(text) for text in texts]
    kenlm_seconds = best_seconds(lambda: [model.score(line) for line in lines])
    return {
        "max_error": float(np.abs(ours - theirs).max()),
        "num_compared": len(ours),
        "kenlm_mqps": len(theirs) / kenlm_seconds / 1e6,
        "write_arpa": write_seconds,
    }


def queries(automaton: Automaton, sentences: Ragged) -> tuple[np.ndarray, np.ndarray]:
    """All (state, word) pairs of held-out text, </s> included, in random order, at least a million of them."""
    state = np.full(len(sentences), automaton.start, np.int32)
    advance = jax.jit(look_up)
    states, words = [], []
    for t in range(int(sentences.lengths.max()) + 1):
        alive = np.flatnonzero(sentences.lengths >= t)
        word = column(sentences, t)
        word[sentences.lengths == t] = SENTENCE_END
        states.append(state[alive])
        words.append(word[alive])
        state = np.asarray(advance(automaton, state, word).state)
    flat_state, flat_word = np.concatenate(states), np.concatenate(words)
    repeats = -(-max(BATCHES) // len(flat_state))
    order = np.random.default_rng(0).permutation(np.tile(np.arange(len(flat_state)), repeats))
    return flat_state[order], flat_word[order]


def column(sentences: Ragged, t: int) -> np.ndarray:
    """[R] int32: word t of every sentence, <unk> after its end."""
    inside = sentences.lengths > t
    place = np.where(inside, sentences.offsets[:-1] + t, 0)
    return np.where(inside, sentences.values[place], UNKNOWN).astype(np.int32)


def best_seconds(run: Callable[[], object], repeats: int = 15) -> float:
    """CPU seconds of all threads, the best of several runs: other people's load must not count."""
    jax.block_until_ready(run())
    seconds = []
    for _ in range(repeats):
        begin = cpu_seconds()
        jax.block_until_ready(run())
        seconds.append(cpu_seconds() - begin)
    return min(seconds)


def speed(automaton: Automaton, state: np.ndarray, word: np.ndarray, size: int) -> float:
    """Million queries per CPU-second, one call of a compiled function for each batch."""
    num_batches = max(1, min(100, 300_000 // size))
    places = range(0, num_batches * size, size)
    batches = [(jnp.asarray(state[at : at + size]), jnp.asarray(word[at : at + size])) for at in places]
    run = jax.jit(score)

    def run_all() -> None:
        for batch in batches:
            jax.block_until_ready(run(automaton, *batch))

    return num_batches * size / best_seconds(run_all) / 1e6


def speed_in_loop(automaton: Automaton, state: np.ndarray, word: np.ndarray, size: int) -> float:
    """Million queries per CPU-second where a compiled loop, such as a decoder's, asks batch after batch."""
    num_batches = max(3, 500_000 // size)
    states, words = (jnp.asarray(np.resize(values, (num_batches, size))) for values in (state, word))

    def step(total: jax.Array, batch: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        log_p, after = score(automaton, *batch)
        return total + log_p + after, None

    run = jax.jit(lambda s, w: jax.lax.scan(step, jnp.zeros(size), (s, w))[0])
    return num_batches * size / best_seconds(lambda: run(states, words)) / 1e6


def print_orders(rows: dict[int, dict]) -> None:
    titles = f"{'order':>5} {'n-grams':>9} {'estimate':>9} {'pack':>7} {'peak':>7}"
    print(f"\n{titles} {'bytes/n-gram':>13} {'+ rest':>7} {'KenLM error':>12}")
    for order, row in rows.items():
        error = "-" if row["max_error"] is None else f"{row['max_error']:.1e}"
        print(
            f"{order:>5} {row['num_ngrams']:>9} {row['estimate']:>7.1f} s {row['build']:>5.1f} s "
            f"{row['peak_gb']:>4.1f} GB "
            f"{row['bytes_per_ngram']:>13.1f} {row['bytes_with_rest']:>7.1f} {error:>12}"
        )
    print("CPU seconds; peak of the whole process, text included; error: largest |difference| of ln p to KenLM")


def print_speeds(rows: dict[int, dict]) -> None:
    print("\nmillion queries per CPU-second by batch size, held-out text in random order")
    print(f"{'order':>5} " + "".join(f"{size:>10}" for size in BATCHES) + f"{'KenLM':>10}")
    for order, row in rows.items():
        kenlm = "-" if row["kenlm_mqps"] is None else f"{row['kenlm_mqps']:.2f}"
        print(f"{order:>5} " + "".join(f"{row['mqps'][size]:>10.2f}" for size in BATCHES) + f"{kenlm:>10}")
        in_loop = "".join(f"{row['mqps_in_loop'][size]:>10.2f}" for size in BATCHES[:-1])
        print(f"{'':>5} {in_loop}{'':>10}{'':>10}  (inside one compiled loop)")
    print("KenLM: its Python binding scoring whole sentences, words in text order")


if __name__ == "__main__":
    main()
