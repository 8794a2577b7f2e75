"""`jaxsmt extract`: parallel text and its links in, Moses' tables out, by the stages that training counts with."""

from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.align.model import AlignConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import scratch_folder
from jaxsmt.common.progress import log
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.pipeline.checking.lists import check_given
from jaxsmt.pipeline.checking.outputs import check_folders
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.schemas import LinksConfig, TmConfig
from jaxsmt.pipeline.jobs.cluster import opened_tasks
from jaxsmt.pipeline.stages.components import FOLDER, component_stage
from jaxsmt.pipeline.stages.given_text import NAME, given_text
from jaxsmt.pipeline.stages.links import links_stage
from jaxsmt.pipeline.stages.tables import write_moses_tables
from jaxsmt.pipeline.store import Store
from jaxsmt.tm.component import load_component


def extract(config: DictConfig) -> None:
    """Extracts and counts phrase pairs or rules, and writes all tables to the folder `output`."""
    if config.alignment is None or config.output is None:
        raise UserError(
            "name the links of the text, alignment=a.align (jaxsmt align makes them), and a folder, output=…"
        )
    settings = room_config(ExtractConfig, config.extract)
    check_folders({"output": config.output})
    check_given(config, ("alignment",))
    with scratch_folder("extract") as scratch, opened_tasks(config.cluster, scratch) as tasks:
        store = Store(scratch, tasks=tasks)
        text = given_text(store, config)
        links = links_stage(store, [text], AlignConfig(), LinksConfig(files={NAME: config.alignment}))
        component = component_stage(store, text, links[NAME], settings, TmConfig())
        write_moses_tables(Path(config.output), load_component(component.folder / FOLDER))
    log.info("tables: %s", config.output)
