"""Several systems that differ in their log-linear weights alone: all decode in one request (sentence × member)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.search.decoder import Request
from jaxsmt.search.request import mixture_rows
from jaxsmt.search.weights import SearchWeights


def for_members(request: Request, members: Sequence[SearchWeights]) -> Request:
    """The request of B sentences for M members, member by member: row m · B + b is sentence b with the weights of m.

    A batch of the decoder then has few different weights.
    """
    num = len(request.sentences)
    rows = np.tile(np.arange(num), len(members))
    columns = {
        name: np.repeat(np.array([getattr(member, name) for member in members], np.float32), num, axis=0)
        for name in vars(members[0])
    }
    copies = request.copy_ids
    return replace(
        request,
        sentences=request.sentences.take(rows),
        copy_ids=None if copies is None else Ragged(copies, request.sentences.offsets).take(rows).values,
        weights=SearchWeights(**columns),
        mixture=None if request.mixture is None else request.mixture[rows],
        lm_mixture=mixture_rows(request.lm_mixture, rows),
        forced={
            (number * num + row, start, end): ids
            for number in range(len(members))
            for (row, start, end), ids in request.forced.items()
        },
    )
