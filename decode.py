"""Translates text: `python decode.py model_dir=runs/demo/model input=in.fr output=out.en`, or stdin to stdout."""

from jaxsmt.pipeline.main import run

if __name__ == "__main__":
    run("decode")
