"""Kernels made ready while a person still types."""

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.source_text import SourceText
from jaxsmt.pipeline.translating.session import Session
from jaxsmt.text.vocabulary import Vocabulary

COMMON_LENGTHS = (24, 48)  # words; each has kernels of its own in the stack search
_WORD = "\ue000"  # nobody has it in a text


@dataclass(frozen=True)
class Warming:
    """Translates lines of common lengths in threads, so that their kernels are there when a line comes.

    busy: by length, held until its kernels are there; stopped: no more are wanted.
    threads: all that were begun.
    """

    busy: dict[int, threading.Lock] = field(default_factory=lambda: {size: threading.Lock() for size in COMMON_LENGTHS})
    stopped: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self, session: Session, labeller: Labeller, size: int = 0) -> None:
        """Begins, the shortest lines first; size: of n-best lists, which have kernels of their own."""

        def work() -> None:
            for length, lock in self.busy.items():
                with lock:
                    if self.stopped.is_set():
                        return
                    text = common_text(session.model.source.vocabulary, length)
                    session.answers(text, labeller.labels_of(text.tokens), size)

        self.threads.append(threading.Thread(target=work, daemon=True))
        self.threads[-1].start()

    def stop(self) -> None:
        """Ends with the kernels that are being made: XLA takes it ill if a process ends while it compiles."""
        self.stopped.set()
        self.wait_for_all()

    def wait_for_all(self) -> None:
        """Until all kernels are there."""
        for thread in self.threads:
            thread.join()

    def wait(self, num_words: int) -> AbstractContextManager:
        """What a line waits for: kernels of its own length that are being made, lest they are made twice."""
        return next((lock for size, lock in self.busy.items() if num_words <= size), nullcontext())


def common_text(vocabulary: Vocabulary, length: int) -> SourceText:
    """A line of so many words: half are the model's commonest, for which it has rules, half nobody knows."""
    known = vocabulary.words[: length // 2]
    tokens = [*known, *[_WORD] * (length - len(known))]
    return SourceText([" ".join(tokens)], [tokens], [tokens])
