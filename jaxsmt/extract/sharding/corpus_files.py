"""An indexed corpus and its batches as a file that workers map: each reads what its shards need."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.extract.alignments import WordLinks
from jaxsmt.extract.corpus import AlignedCorpus
from jaxsmt.extract.ngrams import NgramIndex
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch

FILE = "corpus.safetensors"
SIZE = "num_ngrams"  # the one field of an index that is no array


def save_corpus(folder: Path, corpus: AlignedCorpus, batches: Sequence[Batch]) -> None:
    """Writes all that rows are extracted from."""
    parts: dict[str, object] = {"source": corpus.bitext.source, "target": corpus.bitext.target}
    parts |= {"source_ngrams": corpus.source_ngrams, "target_ngrams": corpus.target_ngrams}
    for number, (links, word_links) in enumerate(zip(corpus.alignments, corpus.word_links, strict=True)):
        parts |= {f"links{number}": links, f"word_links{number}": word_links}
    lengths = np.array([len(batch.rows) for batch in batches], np.int64)
    parts["batches"] = Ragged(np.concatenate([batch.rows for batch in batches]), offsets_of(lengths))
    arrays = {
        f"{name}.{field}": np.atleast_1d(value) for name, part in parts.items() for field, value in vars(part).items()
    }
    arrays["widths"] = np.array([(batch.width_source, batch.width_target) for batch in batches], np.int64)
    save_arrays(folder / FILE, arrays)


@lru_cache(maxsize=1)
def open_corpus(folder: Path) -> tuple[AlignedCorpus, list[Batch]]:
    """What `save_corpus` wrote, mapped; a process keeps the last one."""
    arrays = open_arrays(folder / FILE)
    bitext = Bitext(Ragged(**_fields(arrays, "source")), Ragged(**_fields(arrays, "target")))
    numbers = range(sum(name.startswith("links") and name.endswith(".offsets") for name in arrays))
    corpus = AlignedCorpus(
        bitext,
        tuple(Ragged(**_fields(arrays, f"links{number}")) for number in numbers),
        _ngrams(_fields(arrays, "source_ngrams")),
        _ngrams(_fields(arrays, "target_ngrams")),
        tuple(WordLinks(**_fields(arrays, f"word_links{number}")) for number in numbers),
    )
    rows = Ragged(**_fields(arrays, "batches"))
    widths = arrays["widths"].tolist()
    return corpus, [Batch(np.array(rows[number]), *widths[number]) for number in range(len(rows))]


def _fields(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    return {key.partition(".")[2]: array for key, array in arrays.items() if key.startswith(f"{name}.")}


def _ngrams(fields: dict[str, np.ndarray]) -> NgramIndex:
    return NgramIndex(**{**fields, SIZE: int(fields[SIZE][0])})  # type: ignore[arg-type]
