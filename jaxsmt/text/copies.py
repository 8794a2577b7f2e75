"""Words of the output that keep their own characters: those copied from the source, and those of a glossary."""

from collections.abc import Sequence

from jaxsmt.text.tokenising import JOINER


def written_words(
    words: Sequence[str], ids: Sequence[int], tokens: Sequence[str], exact: Sequence[str], num_known: int
) -> tuple[list[str], list[bool]]:
    """Output words as they are to be written, and which of them keep their characters.

    ids: of the words; −1 − n is source token n, copied; from num_known on they are the glossary's own.
    tokens, exact: the source tokens as the model knows them, and with their own quotes, apostrophes and dashes.

    Copied punctuation is written as the model writes its own, unless it is inside a copied word.
    """
    result, is_exact = list(words), [number >= num_known for number in ids]
    for place, number in enumerate(ids):
        source = -1 - number if number < 0 else _inside_of_copied(ids, place)
        if source is None or words[place] != tokens[source]:
            continue
        if number >= 0 or _is_inner(words[place]) or any(map(str.isalnum, words[place])):
            result[place], is_exact[place] = exact[source], True
    return result, is_exact


def _is_inner(token: str) -> bool:
    return len(token) > 2 and token[0] == token[-1] == JOINER


def _inside_of_copied(ids: Sequence[int], place: int) -> int | None:
    """The source token between the two that are copied on either side of the place."""
    if not 0 < place < len(ids) - 1 or max(ids[place - 1], ids[place + 1]) >= 0:
        return None
    return -ids[place - 1] if ids[place - 1] - ids[place + 1] == 2 else None
