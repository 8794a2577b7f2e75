"""What the features of listed derivations are made of: rules with their orientations, and words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import Ragged, concatenate, offsets_of
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.search.decoder import Decoder, Request, complete_request
from jaxsmt.search.nbest.arrays import NBestArrays
from jaxsmt.search.nbest.derivation import RULE, START, Derivation
from jaxsmt.search.nbest.rescoring import lm_words
from jaxsmt.search.stack.features import Phrases, orientations_of

NONE = -1


@dataclass(frozen=True)
class DerivationUses:
    """What H derivations are made of.

    rules: H rows of (rule of the grammar, its orientation to the previous phrase, to the next), the latter columns of
      [A, 6] orientations or NONE.
    words: for each language model H rows of log p_d [T, D] float32 of the words and </s>.
    """

    rules: Ragged
    words: tuple[Ragged, ...]

    def __len__(self) -> int:
        return len(self.rules)

    def take(self, rows: np.ndarray) -> "DerivationUses":
        """Those of some derivations."""
        return DerivationUses(self.rules.take(rows), tuple(part.take(rows) for part in self.words))


def joined_uses(parts: Sequence[DerivationUses]) -> DerivationUses:
    """Those of several lists, one after the other."""
    words = (concatenate(own) for own in zip(*(part.words for part in parts), strict=True))
    return DerivationUses(concatenate([part.rules for part in parts]), tuple(words))


def uses_of(decoder: Decoder, request: Request, lists: NBestArrays) -> DerivationUses:
    """What the derivations of lists, which were made with keep_trees, are made of."""
    request = complete_request(request, decoder.rules, decoder.lms)
    derivations = [lists.derivation(number) for number in range(len(lists.sentence))]
    words = tuple(
        word_log_probs(own.lm.automaton, lm_words(number, own.lm_ids, request, lists.sentence, lists.tokens))
        for number, own in enumerate(decoder.targets)
    )
    return DerivationUses(_rule_uses(derivations, decoder.makes_chains), words)


def _rule_uses(derivations: Sequence[Derivation], are_chains: bool) -> Ragged:
    """H rows [·, 3] int32; are_chains: derivations of the stack search, chains of phrases."""
    columns = [
        (owner, node.pair if node.kind == RULE else NONE, node.start, node.end)
        for owner, derivation in enumerate(derivations)
        for node in reversed(derivation.nodes)
        if node.kind != START
    ]
    phrases = Phrases(*np.array(columns, np.int64).reshape(-1, 4).T)
    before = np.full(len(phrases.owner), NONE)
    after = before.copy()
    if are_chains:
        before = orientations_of(phrases)
        has_next = np.flatnonzero(phrases.owner[:-1] == phrases.owner[1:])
        after[has_next] = 3 + before[has_next + 1]
    kept = np.flatnonzero(phrases.pair != NONE)
    rows = np.stack([phrases.pair, before, after], 1)[kept].astype(np.int32)
    return Ragged(rows, offsets_of(np.bincount(phrases.owner[kept], minlength=len(derivations))))
