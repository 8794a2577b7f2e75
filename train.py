"""Trains a model: `python train.py` on the embedded demo, `python train.py corpus=files …` on your texts."""

import hydra
from omegaconf import DictConfig

from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.commands.tune_lists import tuner_keys
from jaxsmt.pipeline.config.adapters import adapter_keys
from jaxsmt.pipeline.config.launch import launch, run_job
from jaxsmt.pipeline.config.schemas import TrainSchema, register_schemas

register_schemas()


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(config: DictConfig) -> float:
    return run_job(train, config)


if __name__ == "__main__":
    launch(main, TrainSchema, [*tuner_keys(), *adapter_keys()])
