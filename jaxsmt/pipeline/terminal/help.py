"""What `--help` prints, read from `conf/`: its comments say what a command does and what its keys mean.

The file of a command begins with a comment: one line, then more, then examples, indented and beginning with a command.
"""

import re
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from omegaconf import OmegaConf

from jaxsmt.pipeline.config.folder import choices_of, conf_folder
from jaxsmt.pipeline.terminal.wrapping import wrapped_command, wrapped_keys, wrapped_sentences

GROUPS = {
    "corpus": "the texts; your own in conf/corpus/mine.yaml",
    "text": "how text is prepared",
    "align": "the word aligner",
    "links": "one aligner for all components, one each, or several at once",
    "extract": "phrase pairs or hierarchical rules",
    "tm": "translations kept of each source side",
    "mixture": "how components become one model",
    "lm": "language models",
    "search": "how the decoder searches",
    "weights": "log-linear weights before tuning",
    "tune": "the tuner of log-linear weights",
    "adapt": "adaptation after tuning",
    "consensus": "translations chosen by score, or by minimum Bayes risk",
    "evaluate": "the test of significance",
    "quality": "quickly trained, or all that makes translations better",
    "experiment": "the comparison of a paper",
    "space": "where a sweep looks; your own in conf/space/mine.yaml",
    "cluster": "tasks of large corpora: in this process, in several, in batch jobs, on a Dask cluster",
    "device": "where programs run: processor, GPU or TPU, and how much of its memory they use",
}
REFUSED = {
    ("tune-lists", "tune"): ("none",),
    ("adapt-lists", "adapt"): ("none", "recognise"),  # which needs a decoder
    ("consensus-lists", "consensus"): ("none",),
}
NARROWEST, WIDEST = 40, 110  # help of other widths is hard to read


@dataclass(frozen=True)
class CommandFile:
    """The parts of conf/<command>.yaml: its opening comment, its groups with their defaults, its own keys."""

    header: list[str]
    groups: dict[str, str]
    keys: str


def read_command_file(command: str) -> CommandFile:
    """Takes the file of a command apart."""
    path = conf_folder() / f"{command.replace('-', '_')}.yaml"
    opening, _, rest = path.read_text(encoding="utf-8").partition("defaults:\n")
    header = [line.removeprefix("#").removeprefix(" ") for line in opening.splitlines()]
    files = [path, conf_folder() / "base.yaml"]
    entries = [entry for file in files for entry in OmegaConf.load(file).defaults if OmegaConf.is_dict(entry)]
    groups = {str(key): str(value) for entry in entries for key, value in entry.items() if key in GROUPS}
    keys = re.sub(r"\A(?:  .*\n)+", "", rest)  # without the list of defaults
    return CommandFile(header, groups, re.split(r"^hydra:", keys, flags=re.MULTILINE)[0].strip("\n"))


def help_width() -> int:
    """Of the terminal, or as COLUMNS says; 80 where there is none."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, NARROWEST), WIDEST)


def overview(commands: Sequence[str]) -> str:
    """All commands, a line each where that is wide enough."""
    size, width = help_width(), max(map(len, commands))
    lines = [*wrapped_sentences(["jaxsmt: statistical machine translation for several domains at once."], size), ""]
    lines += ["  jaxsmt COMMAND key=value …     runs a command"]
    lines += ["  jaxsmt COMMAND --help          says more about it", ""]
    for command in commands:
        text = f"  {command:{width}}  {read_command_file(command).header[0]}"
        lines += textwrap.wrap(text, size, subsequent_indent=" " * (width + 4), break_on_hyphens=False)
    ending = wrapped_sentences(["Files may be compressed (.gz, .xz); '-' is standard input or output."], size)
    return "\n".join([*lines, "", *ending, ""])


def command_help(command: str) -> str:
    """What a command does, its groups with their choices, its keys, examples."""
    parts, width = read_command_file(command), help_width()
    examples = [part for line in parts.header if line.startswith("  ") for part in wrapped_command(line, width)]
    words = wrapped_sentences(_stripped([line for line in parts.header if not line.startswith("  ")]), width)
    lines = [f"jaxsmt {command} key=value …", "", *words, "", "Examples:", *examples, ""]
    if parts.groups:
        lines += wrapped_sentences(["Groups, name=choice; those with * are chosen without a word:"], width)
        for group, default in parts.groups.items():
            choices = [choice for choice in choices_of(group) if choice not in REFUSED.get((command, group), ())]
            lines += _group_lines(group, choices, default, width)
        lines += [""]
    if parts.keys:
        lines += ["Keys:", *(f"  {line}".rstrip() for line in wrapped_keys(parts.keys.splitlines(), width - 2)), ""]
    whole = "--cfg job shows the whole configuration that a command line leads to; quiet=true shows results alone."
    lines += wrapped_sentences([whole], width)
    lines += [f"Every key is explained in {conf_folder()}."]
    return "\n".join([*lines, ""])


def _group_lines(group: str, choices: Sequence[str], default: str, width: int) -> list[str]:
    named = ", ".join(f"{choice}*" if choice == default else choice for choice in choices)
    text = f"  {group + '=':11}{named}  ({GROUPS[group]})"
    return textwrap.wrap(text, width, subsequent_indent=" " * 13, break_on_hyphens=False)


def _stripped(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").splitlines()
