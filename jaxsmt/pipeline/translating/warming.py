"""Kernels made ready while a person still types."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.source_text import SourceText
from jaxsmt.pipeline.translating.session import Session

COMMON_LENGTHS = (24, 48)  # words; each has kernels of its own in the stack search
_WORD = "\ue000"  # nobody has it in a text


@dataclass(frozen=True)
class Warming:
    """Translates lines of common lengths in a thread, so that their kernels are there when a line comes.

    busy: by length, held until its kernels are there; stopped: no more are wanted.
    """

    busy: dict[int, threading.Lock] = field(default_factory=lambda: {size: threading.Lock() for size in COMMON_LENGTHS})
    stopped: threading.Event = field(default_factory=threading.Event)

    def start(self, session: Session, labeller: Labeller) -> threading.Thread:
        """Begins, the shortest lines first."""

        def work() -> None:
            for length, lock in self.busy.items():
                with lock:
                    if self.stopped.is_set():
                        return
                    text = unknown_text([length])
                    session.answers(text, labeller.labels_of(text.tokens))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def wait(self, num_words: int) -> AbstractContextManager:
        """What a line waits for: kernels of its own length that are being made, lest they are made twice."""
        return next((lock for size, lock in self.busy.items() if num_words <= size), nullcontext())


def unknown_text(lengths: Sequence[int]) -> SourceText:
    """Lines of so many words each that no model knows."""
    tokens = [[_WORD] * length for length in lengths]
    return SourceText([" ".join(line) for line in tokens], tokens, tokens)
