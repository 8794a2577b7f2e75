"""A process that does one job of a command: its whole configuration comes in as JSON, its end is an exit code."""

import json
import sys
import warnings


def main() -> None:
    """Runs the command that the first argument names as it is told."""
    from jaxsmt.common.devices.threads import fix_threads
    from jaxsmt.common.integrity.ending import ended_quietly, stopped_at_once

    with ended_quietly():
        told = json.load(sys.stdin)
        if not told.get("debug") and not sys.warnoptions:
            warnings.simplefilter("ignore")
        fix_threads()
        with stopped_at_once():
            import importlib

            from omegaconf import OmegaConf

            from jaxsmt.pipeline.config.launch import run_job

            name = sys.argv[1]
            job = getattr(importlib.import_module(f"jaxsmt.pipeline.commands.{name}"), name)
        run_job(job, OmegaConf.create(told))


if __name__ == "__main__":
    main()
