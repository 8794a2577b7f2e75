"""Translates text: `python decode.py model_dir=runs/demo/model input=in.fr output=out.en`, or stdin to stdout."""

import hydra
from omegaconf import DictConfig

from jaxsmt.pipeline.config import DecodeSchema, register_schemas
from jaxsmt.pipeline.decoding import decode
from jaxsmt.pipeline.launch import launch, run_job

register_schemas()


@hydra.main(version_base="1.3", config_path="conf", config_name="decode")
def main(config: DictConfig) -> None:
    return run_job(decode, config)


if __name__ == "__main__":
    launch(main, DecodeSchema)
