"""Trains a model: `python train.py` on the embedded demo, `python train.py corpus=files …` on your texts."""

from jaxsmt.pipeline.main import run

if __name__ == "__main__":
    run("train")
