"""The documentation: its code runs on a small model, its commands are configurations, the page of all keys has all."""

import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.config.folder import choices_of
from jaxsmt.pipeline.config.keys import known_keys, register_all_schemas
from jaxsmt.pipeline.config.reference import ExplainedKey, explained_keys, key_table, reference
from jaxsmt.pipeline.main import COMMANDS
from jaxsmt.pipeline.terminal.help import GROUPS
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config, train_config, write_corpus

DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^(<!-- run -->\n)?```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUICK = ("align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[]")
# functions in place of all programs: ours say what they were told, others do nothing
STAND_INS = """
jaxsmt() { printf '%s\\037' jaxsmt "$@" >> told; printf '\\036' >> told; }
python() { printf '%s\\037' python "$@" >> told; printf '\\036' >> told; }
python3() { :; }
command_not_found_handle() { :; }
"""

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash for what the documentation types")


def blocks(language, is_run):
    """(page, code) of all blocks of a language."""
    for path in PAGES:
        for mark, name, code in BLOCK.findall(path.read_text(encoding="utf-8")):
            if name == language and (bool(mark) or not is_run):
                yield path.relative_to(REPOSITORY).as_posix(), code


def shell(code, folder, path):
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"}
    command = [shutil.which("bash"), "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


def commands_of(code, folder):
    """The arguments of our commands in a shell block, as the shell reads it, without running any program."""
    shell(f": > told\n{STAND_INS}{code}", folder, str(folder / "nothing"))
    for call in (folder / "told").read_text(encoding="utf-8").split("\036"):
        program, *arguments = call.split("\037")[:-1] or [""]
        if program == "python" and arguments[0] in ("train.py", "decode.py"):
            yield [arguments[0].removesuffix(".py"), *arguments[1:]]
        elif program == "jaxsmt" and not arguments[0].startswith("--"):
            yield arguments


def variants(overrides):
    """Overrides without sweeps: every value of a sweep occurs, beside the first ones of all others."""
    parsed = OverridesParser.create().parse_overrides(overrides)
    choices = [list(part.sweep_string_iterator()) if part.is_sweep_override() else [None] for part in parsed]
    for place in range(max(map(len, choices), default=1)):
        yield [
            text if own == [None] else f"{text.partition('=')[0]}={own[min(place, len(own) - 1)]}"
            for text, own in zip(overrides, choices, strict=True)
        ]


def test_sweeps_are_taken_apart():
    assert list(variants(["a=1,2,3", "b=[1,2]", "c=x,y"])) == [
        ["a=1", "b=[1,2]", "c=x"], ["a=2", "b=[1,2]", "c=y"], ["a=3", "b=[1,2]", "c=y"],
    ]  # fmt: skip


@needs_bash
def test_commands_are_found_as_the_shell_reads_them(tmp_path):
    code = (
        "set -- a=1 'b=[x y]'\necho in | jaxsmt decode \"$@\" \\\n  {d,e}.f=2 > out\nrm -r x\npython train.py d=4 # no"
    )
    assert list(commands_of(code, tmp_path)) == [["decode", "a=1", "b=[x y]", "d.f=2", "e.f=2"], ["train", "d=4"]]


@needs_bash
@pytest.mark.parametrize("page", sorted({page for page, _ in blocks("sh", False)}))
def test_every_command_is_a_configuration(page, tmp_path):
    """Commands that need text which is not here are composed by Hydra, all their keys checked, and not run.

    Of a sweep its first job is, and of the others the choices are looked up.
    """
    found = 0
    for code in [code for of, code in blocks("sh", False) if of == page]:
        for command, *arguments in commands_of(code.replace(" …", ""), tmp_path):
            assert command in COMMANDS, (page, command)
            overrides = [text for text in arguments if not text.startswith("-") and text != "corpus=mine"]
            if importlib.util.find_spec("submitit") is None:  # an extra, which brings the launcher along
                overrides = [text for text in overrides if not text.startswith(("hydra/launcher", "hydra.launcher"))]
            first, *others = variants(overrides)
            compose_config(command.replace("-", "_"), first)
            found += 1
            for group, _, choice in (text.partition("=") for told in others for text in told):
                assert group not in GROUPS or choice in choices_of(group), (page, group, choice)
    assert found > 10 or page != "README.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with the files that pages speak of, and a model of a few sentences in the demo's place."""
    folder = tmp_path_factory.mktemp("documentation")
    corpus = write_corpus(folder / "corpus")
    config = train_config(folder / "runs" / "demo", [*corpus, *QUICK])
    train(config)
    for name, source in {"law": "travel.train", "test": "travel.test", "in": "kitchen.test"}.items():
        for language in ("fr", "en"):
            shutil.copy(folder / "corpus" / f"{source}.{language}", folder / f"{name}.{language}")
    programs = folder / "programs"
    programs.mkdir()
    program = programs / "jaxsmt"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jaxsmt.pipeline.main "$@" quiet=true\n')
    program.chmod(0o755)
    return folder


@needs_bash
@pytest.mark.parametrize(("page", "code"), list(blocks("sh", True)))
def test_shell_blocks_run(folder, page, code):
    path = f"{folder / 'programs'}{os.pathsep}{os.environ['PATH']}"
    done = shell(f"set -euo pipefail\n{code}", folder, path)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr.lower()
    for name in re.findall(r"output=([\w.]+)", code):
        assert (folder / name).exists(), name


@pytest.mark.parametrize(("page", "code"), list(blocks("python", True)))
def test_python_blocks_run(folder, page, code, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    exec(code, {})
    assert capsys.readouterr().out


@pytest.mark.parametrize(("page", "code"), list(blocks("python", False)))
def test_python_blocks_are_python(page, code):
    compile(code, page, "exec")


@pytest.mark.parametrize("page", [path for path in PAGES if path.parent != REPOSITORY])
def test_links_between_pages_lead_somewhere(page):
    """Files, and the headings that anchors name; the page of all keys is made when the site is built."""
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)", page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve() if target else page
        assert path.is_file() or path == DOCS / "reference.md", target
        if anchor and path.suffix == ".md" and path.is_file():
            heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head.lower())) for head in heads}
            assert anchor[1:] in slugs, (target, anchor)


def test_keys_are_read_with_their_comments():
    text = (
        "# a\n# b\nx: 1  # c\n\n# d\ny:\n  z: [1, 2]\n  w:\n    # e\n    v: 'q'\nsystems:\n  row: {a: 1}\nend: 3  # f\n"
    )
    assert explained_keys(text, "g") == [
        ExplainedKey("g.x", "1", "a b c"), ExplainedKey("g.y", "", "d"), ExplainedKey("g.y.z", "[1, 2]", ""),
        ExplainedKey("g.y.w", "", ""), ExplainedKey("g.y.w.v", "'q'", "e"), ExplainedKey("g.systems", "", ""),
        ExplainedKey("g.end", "3", "f"),
    ]  # fmt: skip
    assert key_table([ExplainedKey("a", "x|y", "b|c"), ExplainedKey("d", "", "")])[2:] == ["| `a` | `x\\|y` | b\\|c |"]
    assert key_table([]) == []


def test_the_page_of_all_keys_has_every_key_and_choice():
    register_all_schemas()
    text = reference(COMMANDS)
    listed = set(re.findall(r"^\| `([\w.]+)` \|", text, re.MULTILINE))
    for command in COMMANDS:
        assert f"\n## jaxsmt {command}\n" in text
        keys = known_keys(command.replace("-", "_"))
        for key in keys:
            shared = re.sub(r"^(lm\.classes\.)?estimation", "lm.estimation", re.sub(r"^adapt\.mert\.", "tune.", key))
            is_inner = any(other.startswith(f"{key}.") for other in keys)
            assert is_inner or key in GROUPS or shared in listed, (command, key)
    for path in (REPOSITORY / "conf").glob("*/*.yaml"):
        assert f"\n### {path.parent.name}={path.stem}\n" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {4}


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="no package mkdocs (extra docs)")
def test_the_site_is_built_without_a_warning_and_without_a_network(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 of" not in done.stdout
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert {path.relative_to(tmp_path / "site").with_suffix(".md").as_posix() for path in pages} == {
        "404.md", "reference.md", *(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")),
    }  # fmt: skip
    for path in pages:
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]* src=\"([^\"]+)\"|<link[^>]* href=\"([^\"]+)\"", path.read_text("utf-8")
        )
        assert not [url for url in itertools.chain(*loaded) if re.match(r"(https?:)?//", url)], path


def test_every_page_is_in_the_navigation():
    text = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} <= set(
        re.findall(r": ([\w/-]+\.md)$", text, re.M)
    )
    assert Path(DOCS / "dataflow.svg").read_text(encoding="utf-8").startswith("<svg ")
