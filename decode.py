"""Translates text: `python decode.py model_dir=runs/demo/model input=in.fr output=out.en`, or stdin to stdout."""

import hydra
from omegaconf import DictConfig

from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.config.decoding import DecodeSchema, register_decode_schema
from jaxsmt.pipeline.config.launch import launch, run_job

register_decode_schema()


@hydra.main(version_base="1.3", config_path="conf", config_name="decode")
def main(config: DictConfig) -> None:
    return run_job(decode, config)


if __name__ == "__main__":
    launch(main, DecodeSchema)
