"""Programs that a person names to cut text without spaces into words: a Python entry `module:function`.

The function takes a run of letters and returns its words, which together are the run: `jieba:lcut`,
`pythainlp.tokenize:word_tokenize`, or two lines of one's own in a module of the working folder. It runs in this
process: a command would have to be fed and answered line by line and may buffer, reorder or hang.

A model keeps the names of its segmenters, but a folder from elsewhere must not decide what is run here: only those are
loaded that a person allowed, in the configuration of a training or in `segmenters` of decoding.
"""

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from jaxsmt.common.errors import UserError
from jaxsmt.text.languages.codes import base_code
from jaxsmt.text.languages.scripts import WITHOUT_SPACES

Segmenter = Callable[[str], list[str]]
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_allowed: set[str] = set()


def check_segmenters(named: Mapping[str, str]) -> None:
    """Raises UserError for names that are no entries, and for languages that have spaces."""
    for language, name in named.items():
        if base_code(language) not in WITHOUT_SPACES:
            raise UserError(
                f"text.segmenters has '{language}', which is written with spaces: "
                f"name segmenters for {', '.join(sorted(WITHOUT_SPACES))} only"
            )
        _check_name(name)


def allow(names: Iterable[str]) -> None:
    """These segmenters may be loaded in this process, whatever names them."""
    for name in names:
        _check_name(name)
        _allowed.add(name)


def segmenter_of(language: str, named: Mapping[str, str]) -> str | None:
    """The name of the one for a language, wherever it is spoken; None where none is named."""
    by_code = {base_code(key): name for key, name in named.items()}
    return by_code.get(base_code(language))


@cache
def load_segmenter(name: str) -> Segmenter:
    """The function that cuts a run of letters into words; their text is checked every time."""
    if name not in _allowed:
        raise UserError(
            f"the model cuts text with the Python function '{name}', and a model may not decide what runs here: "
            f"if you trust it, add segmenters=['{name}']"
        )
    module, _, path = name.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # installed programs do not look into the working folder
    try:
        function = importlib.import_module(module)
        for part in path.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError) as error:
        raise UserError(f"segmenter '{name}' cannot be loaded ({error}): install it, or correct its name") from None

    def cut(run: str) -> list[str]:
        words = [str(word) for word in function(run)]  # type: ignore[operator]
        if "".join(words) != run or not all(words):
            raise UserError(
                f"segmenter '{name}' gave {words} for '{run}': it must return words that together are the text"
            )
        return words

    return cut


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UserError(f"segmenter '{name}' is no Python function: write it as module:function")
