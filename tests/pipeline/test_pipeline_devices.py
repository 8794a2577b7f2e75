"""One device or several of a machine: the same bytes."""

import os
import subprocess
import sys

import pytest

from jaxsmt.demo import generate_demo
from jaxsmt.pipeline.commands.train import train
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import train_config, write_corpus

FLAG = "--xla_force_host_platform_device_count"


@pytest.mark.parametrize("options", [["extract=phrase"], ["extract=hiero"]], ids=["phrase", "hiero"])
def test_the_number_of_devices_changes_no_byte(tmp_path, options):
    corpus = write_corpus(tmp_path / "corpus")
    train(train_config(tmp_path, [*corpus, *options, "align=ibm1", "lm=trigram", "translate=[]"]))
    lines = [source for source, _ in generate_demo()["travel"]["dev"][:12]]
    lines += [" ".join(lines[:number]) for number in (2, 5, 9)]  # of several lengths: several batches
    (tmp_path / "lines.fr").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    written = [translated(tmp_path, number) for number in (1, 3)]
    assert written[0] == written[1]
    assert len(written[0][0].splitlines()) == len(lines)


def translated(folder, num_devices):
    """Translations and lists, by a process that has so many devices."""
    names = [folder / f"{num_devices}.{suffix}" for suffix in ("en", "nbest")]
    command = [sys.executable, REPOSITORY / "decode.py", f"model_dir={folder / 'model'}", "quiet=true"]
    command += [f"input={folder / 'lines.fr'}", f"output={names[0]}", "nbest=5", f"nbest_output={names[1]}"]
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}={num_devices}"
    subprocess.run(command, check=True, env={**os.environ, "XLA_FLAGS": flags.strip()})
    return [path.read_bytes() for path in names]
