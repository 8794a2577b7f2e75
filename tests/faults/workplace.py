"""A folder with one of everything that commands read, and commands run in it within this process."""

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path

from jaxsmt.common.files import write_text
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.main import main
from tests.pipeline.small_corpus import train_config, write_corpus

QUICK = ("align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[]")
CORPUS = """
defaults: [files, _self_]
name: mine
components:
  kitchen: {source: corpus/kitchen.train.fr, target: corpus/kitchen.train.en}
  travel: {source: corpus/travel.train.fr, target: corpus/travel.train.en}
dev:
  kitchen: {source: corpus/kitchen.dev.fr, target: corpus/kitchen.dev.en}
test:
  kitchen: {source: corpus/kitchen.test.fr, target: corpus/kitchen.test.en}
"""
LIST = (
    "0 ||| the cat ||| LM= -1 TM= -2 ||| -3\n0 ||| a cat ||| LM= -2 TM= -1 ||| -3.5\n"
    "1 ||| he eats ||| LM= -1 TM= -1 ||| -2\n"
)
ARPA = (
    "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n-0.7\tcat\n\n\\end\\\n"
)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind: its exit code and all it said."""

    code: int
    stdout: str
    stderr: str


def furnish(folder: Path) -> None:
    """Writes the files, and trains a model on the corpus."""
    corpus = write_corpus(folder / "corpus")
    train(train_config(folder / "trained", [*corpus, *QUICK]))
    files = {
        "conf/corpus/mine.yaml": CORPUS,
        "some.fr": "le chat\nil mange\n",
        "some.en": "the cat\nhe eats\n",
        "some.nbest": LIST,
        "weights.txt": "LM_0 0.5\nTM_0 0.5\n",
        "some.arpa": ARPA,
        "some.align": "0-0 1-1\n0-0 1-1\n",
        "folder/file": "",
    }
    for name, text in files.items():
        write_text(folder / name, text)


def outcome(arguments: list[str], stdin: bytes | None = b"") -> Outcome:
    """Runs `jaxsmt` with these arguments in the working folder; stdin: None for a closed one."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    given = None if stdin is None else io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    before, code = (sys.stdin, sys.argv), 0
    try:
        sys.stdin = given  # type: ignore[assignment]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdin, sys.argv = before
    out.flush()
    return Outcome(code, out.buffer.getvalue().decode(), err.getvalue())  # type: ignore[attr-defined]
