"""All kinds of sentences and how often each is drawn."""

from collections.abc import Callable

from jaxsmt.demo import english, french
from jaxsmt.demo.dice import urn
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.sentences.clitics import clitic_question, person_clitic, two_clitics
from jaxsmt.demo.sentences.commands import command, command_with_clitic, give_me
from jaxsmt.demo.sentences.frames import frame
from jaxsmt.demo.sentences.parts import Tokens
from jaxsmt.demo.sentences.questions import (
    how_many_question,
    where_question,
    which_question,
    who_question,
    why_question,
    yes_no_question,
)
from jaxsmt.demo.sentences.statements import (
    clitic_statement,
    comparing,
    describing,
    existential,
    intransitive_statement,
    passive_statement,
    statement,
    topic_and_clitic,
    transfer_statement,
    two_statements,
)
from jaxsmt.demo.sentences.subordinates import (
    because_sentence,
    before_sentence,
    if_sentence,
    necessity,
    relative_sentence,
    when_sentence,
    while_sentence,
)

KINDS: tuple[tuple[Callable[[Sampler], Tokens], int], ...] = (
    (statement, 20), (clitic_statement, 6), (topic_and_clitic, 4), (transfer_statement, 9), (passive_statement, 9),
    (intransitive_statement, 7), (describing, 8), (comparing, 2), (existential, 4), (command, 9),
    (command_with_clitic, 4), (give_me, 4), (yes_no_question, 6), (where_question, 3), (why_question, 3),
    (who_question, 3), (which_question, 4), (how_many_question, 2), (if_sentence, 5), (when_sentence, 4),
    (because_sentence, 4), (while_sentence, 4), (before_sentence, 7), (relative_sentence, 7), (necessity, 4),
    (frame, 18), (two_statements, 9), (two_clitics, 8), (clitic_question, 3), (person_clitic, 3),
)  # fmt: skip
_KIND_URN = urn(KINDS)


def draw_sentence(draw: Sampler) -> tuple[str, str]:
    """One sentence pair, French and English, as written text."""
    french_tokens, english_tokens = _KIND_URN.draw(draw.dice)(draw)
    return french.surface(french_tokens), english.surface(english_tokens)
