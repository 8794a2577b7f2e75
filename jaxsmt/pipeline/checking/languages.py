"""Before every training: are the sides of all its texts in the languages they should be in?"""

from collections.abc import Mapping

from jaxsmt.text.checking.language import refuse_mixed_up
from jaxsmt.text.reading import BitextSource, read_bitext


def check_languages(sources: Mapping[str, Mapping[str, BitextSource]]) -> None:
    """Raises UserError for the first text whose sides look swapped or alike; sources: by part and name."""
    for part, texts in sources.items():
        for name, spec in texts.items():
            check_language(f"corpus.{part}.{name}", spec)


def check_language(key: str, spec: BitextSource) -> None:
    """The same for one text; key: where the configuration names it."""
    refuse_mixed_up(read_bitext(spec), (spec.source_language, spec.target_language), key, spec.files)
