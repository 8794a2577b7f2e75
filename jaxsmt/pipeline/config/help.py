"""What `--help` prints, read from `conf/`: its comments say what a command does and what its keys mean.

The file of a command begins with a comment: one line, then more, then examples, indented and beginning with a command.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from omegaconf import OmegaConf

from jaxsmt.pipeline.config.folder import choices_of, conf_folder

GROUPS = {
    "corpus": "the texts; your own in conf/corpus/mine.yaml",
    "text": "how text is prepared",
    "align": "the word aligner",
    "links": "one aligner for all components, or one each",
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
    "experiment": "the comparison of a paper",
    "device": "where programs run: processor, GPU or TPU, and how much of its memory they use",
}
REFUSED = {
    ("tune-lists", "tune"): ("none",),
    ("adapt-lists", "adapt"): ("none", "recognise"),  # which needs a decoder
    ("consensus-lists", "consensus"): ("none",),
}
WIDTH = 110


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


def overview(commands: Sequence[str]) -> str:
    """All commands, a line each."""
    lines = ["jaxsmt: statistical machine translation for several domains at once.", ""]
    lines += ["  jaxsmt COMMAND key=value …     runs a command"]
    lines += ["  jaxsmt COMMAND --help          says more about it", ""]
    width = max(map(len, commands))
    lines += [f"  {command:{width}}  {read_command_file(command).header[0]}" for command in commands]
    return "\n".join([*lines, "", "Files may be compressed (.gz, .xz); '-' is standard input or output.", ""])


def command_help(command: str) -> str:
    """What a command does, its groups with their choices, its keys, examples."""
    parts = read_command_file(command)
    examples = [line for line in parts.header if line.startswith("  ")]
    words = [line for line in parts.header if not line.startswith("  ")]
    lines = [f"jaxsmt {command} key=value …", "", *_stripped(words), "", "Examples:", *examples, ""]
    if parts.groups:
        lines += ["Groups, name=choice; those with * are chosen without a word:"]
        for group, default in parts.groups.items():
            choices = [choice for choice in choices_of(group) if choice not in REFUSED.get((command, group), ())]
            lines += _group_lines(group, choices, default)
        lines += [""]
    if parts.keys:
        lines += ["Keys:", *(f"  {line}".rstrip() for line in parts.keys.splitlines()), ""]
    lines += ["--cfg job shows the whole configuration that a command line leads to; quiet=true shows results alone."]
    lines += [f"Every key is explained in {conf_folder()}."]
    return "\n".join([*lines, ""])


def _group_lines(group: str, choices: Sequence[str], default: str) -> list[str]:
    named = ", ".join(f"{choice}*" if choice == default else choice for choice in choices)
    return textwrap.wrap(f"  {group + '=':9} {named}  ({GROUPS[group]})", WIDTH, subsequent_indent=" " * 12)


def _stripped(lines: list[str]) -> list[str]:
    text = "\n".join(lines).strip("\n")
    return re.sub(r"\n{2,}", "\n", text).splitlines()
