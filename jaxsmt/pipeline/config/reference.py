"""The reference of all keys as Markdown, made from `conf/`: what a command or a choice is, its keys, what they mean."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from jaxsmt.pipeline.config.folder import conf_folder
from jaxsmt.pipeline.terminal.help import GROUPS, read_command_file

KEY = re.compile(r"( *)(\w+):(?: +(.*))?")
# keys whose entries users name: sets of a corpus, rows and columns of an experiment's tables
OPEN = {
    "components", "dev", "corpus.adapt", "test", "groups", "demo",
    "systems", "members", "figures", "claims", "defaults",
}  # fmt: skip


class ExplainedKey(NamedTuple):
    """A dotted key, its value as the file has it ('' where it holds others), and the comments above and beside it."""

    name: str
    value: str
    meaning: str


def explained_keys(text: str, prefix: str = "") -> list[ExplainedKey]:
    """The keys of a file's text in its order; those below `OPEN` keys are left out."""
    found: list[ExplainedKey] = []
    comments: list[str] = []
    parents: list[tuple[int, str]] = []
    hidden: int | None = None
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            comments.append(line.lstrip().removeprefix("#").strip())
            continue
        match = KEY.fullmatch(line)
        if match is not None:
            indent = len(match.group(1))
            if hidden is None or indent <= hidden:
                value, _, beside = (match.group(3) or "").partition("  #")
                parents = [(place, name) for place, name in parents if place < indent] + [(indent, match.group(2))]
                name = ".".join([*([prefix] if prefix else []), *(part for _, part in parents)])
                meaning = " ".join([*comments, *([beside.strip()] if beside else [])])
                found.append(ExplainedKey(name, value.strip(), meaning))
                is_open = not OPEN.isdisjoint((name, match.group(2))) and not value.strip()
                hidden = indent if is_open else None
        comments = []
    return [key for key in found if key.name.rpartition(".")[2] != "defaults"]


def command_reference(command: str) -> str:
    """The section of a command."""
    parts = read_command_file(command)
    words = [line for line in parts.header if line and not line.startswith("  ")]
    examples = [line.strip() for line in parts.header if line.startswith("  ")]
    groups = [f"[`{group}={choice}`](#{group})" for group, choice in parts.groups.items()]
    lines = [f"## jaxsmt {command}", "", *words, "", "```sh", *examples, "```", ""]
    lines += [f"Groups, with what is chosen without a word: {', '.join(groups)}.", ""] if groups else []
    return "\n".join([*lines, *key_table(explained_keys(parts.keys)), ""])


def group_reference(group: str) -> str:
    """The section of a group: every choice, and its own keys."""
    lines = [f"## {group}", "", f"`{group}=`: {GROUPS[group]}.", ""]
    folder = conf_folder() / group
    for path in sorted(folder.rglob("*.yaml")):
        header, keys = _opening(path.read_text(encoding="utf-8"))
        choice = path.relative_to(folder).with_suffix("").as_posix()
        name = f"{group}={choice}" if "/" not in choice else f"{group}/{choice.replace('/', '=')}"
        prefix = ".".join([group, *path.relative_to(folder).parent.parts])
        lines += [f"### {name}", "", *header, "", *key_table(explained_keys(keys, prefix)), ""]
    return "\n".join(lines)


def reference(commands: Sequence[str]) -> str:
    """The whole page."""
    head = [
        "# All keys", "",
        "Made from the comments of `conf/`. A command takes `key=value`; a group takes `group=choice`, which sets many "
        "keys at once, each of which may then be set on its own.", "",
    ]  # fmt: skip
    shared = explained_keys((conf_folder() / "base.yaml").read_text(encoding="utf-8"))
    own = ["## All commands", "", *key_table([key for key in shared if not key.name.startswith("hydra")]), ""]
    parts = [*map(command_reference, commands), *(group_reference(group) for group in sorted(GROUPS))]
    return "\n".join([*head, *own, *parts])


def key_table(keys: Sequence[ExplainedKey]) -> list[str]:
    """One line a key; what only holds others has its own line if it is explained."""
    rows = [key for key in keys if key.value or key.meaning]
    if not rows:
        return []
    lines = ["| key | value | |", "|---|---|---|"]
    return [*lines, *(f"| `{key.name}` | {_code(key.value)} | {_cell(key.meaning)} |" for key in rows)]


def _opening(text: str) -> tuple[list[str], str]:
    """The comment that a file begins with, line by line, and the rest without the list of what it is based on."""
    lines = text.splitlines()
    end = next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))
    header = [line.removeprefix("#").removeprefix(" ") for line in lines[:end]]
    rest = re.sub(r"^defaults:\n(?:  .*\n)+", "", "\n".join(lines[end:]) + "\n", flags=re.MULTILINE)
    return [f"    {line}" if line.startswith("  ") else line for line in header], rest


def _code(value: str) -> str:
    return f"`{value.replace('|', chr(92) + '|')}`" if value else ""


def _cell(text: str) -> str:
    return re.sub(r"([|<>*])", r"\\\1", text)
