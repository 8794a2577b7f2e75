"""How text is prepared, as a person configured it; what that person names may run."""

from typing import Any

from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.languages.segmenters import allow


def text_config(node: Any) -> TextConfig:
    """The settings of a node `text`; its segmenters are allowed in this process."""
    config = room_config(TextConfig, node)
    allow(config.segmenters.values())
    return config
