"""The KenLM boundary: other people's ARPA and binary files scored on the host. log10 ends here."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.lm.arpa import LOG_10, check_arpa_header
from jaxsmt.lm.model import SPECIAL_WORDS

_BINARY_MAGIC = b"mmap lm http://kheafield.com/code"


def load_kenlm(path: str | Path) -> Any:
    """Opens an ARPA file (plain or compressed) or a KenLM binary; returns KenLM's own model."""
    try:
        import kenlm
    except ImportError:
        raise UserError(
            f"scoring with '{path}' on the host needs the package kenlm, which is not installed and does not build on "
            "Python 3.13 and newer: use a Python below 3.13 (pip install kenlm), or an ARPA file in lm.arpas, which "
            "needs no KenLM"
        ) from None
    path = Path(path)
    if not path.is_file():
        raise UserError(f"language model '{path}' does not exist: check the path")
    with open(path, "rb") as stream:
        is_binary = stream.read(len(_BINARY_MAGIC)) == _BINARY_MAGIC
    if not is_binary:
        check_arpa_header(path)
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(str(path), config)
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error.__cause__ or error).split())
        reason = re.sub(r"^.* (?:threw|because) \S+ ", "", reason)  # KenLM begins with the place in its source
        raise UserError(f"KenLM cannot read '{path}': {reason}") from None


def kenlm_word_log_probs(model: Any, tokens: Sequence[str]) -> np.ndarray:
    """[len(tokens) + 1] float64: natural log p of every word of a sentence and of </s>.

    A token that is spelled <s>, </s> or <unk> is an unknown word, as everywhere here.
    """
    plain = " ".join("<unk>" if token in SPECIAL_WORDS else token for token in tokens)
    return np.array([log10_p for log10_p, _, _ in model.full_scores(plain)]) * LOG_10


def kenlm_sentence_log_probs(model: Any, sentences: Iterable[Sequence[str]]) -> np.ndarray:
    """[R] float64: natural log p of every sentence, </s> included."""
    return np.array([kenlm_word_log_probs(model, tokens).sum() for tokens in sentences], np.float64)


def kenlm_sentence_entropies(model: Any, sentences: Iterable[Sequence[str]]) -> np.ndarray:
    """[R] float64: cross-entropy in bits per word (</s> counts as one) of every sentence."""
    return np.array([-kenlm_word_log_probs(model, tokens).mean() / np.log(2) for tokens in sentences], np.float64)


def is_kenlm_binary(path: str | Path) -> bool:
    """Whether a file begins like a KenLM binary; one that is not there does not."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as stream:
        return stream.read(len(_BINARY_MAGIC)) == _BINARY_MAGIC
