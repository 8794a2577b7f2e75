"""An aligned corpus made ready for extraction: n-grams numbered on both sides, links by target word."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxsmt.align.links import check_links
from jaxsmt.common.ragged import Ragged
from jaxsmt.extract.alignments import WordLinks, index_links
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.ngrams import NgramIndex, index_ngrams
from jaxsmt.text.bitext import Bitext


@dataclass(frozen=True)
class AlignedCorpus:
    """A bitext with one or more alignments, indexed.

    alignments: one `Ragged` of links [T, 2] (source, target) per alignment.
    word_links: the same links by target word, one per alignment.
    """

    bitext: Bitext
    alignments: tuple[Ragged, ...]
    source_ngrams: NgramIndex
    target_ngrams: NgramIndex
    word_links: tuple[WordLinks, ...]

    @property
    def nbytes(self) -> int:
        """Memory of the indexes."""
        return self.source_ngrams.nbytes + self.target_ngrams.nbytes + sum(links.nbytes for links in self.word_links)


def index_corpus(bitext: Bitext, alignments: Sequence[Ragged], config: ExtractConfig) -> AlignedCorpus:
    """Numbers the n-grams that phrases and rules of this configuration can have."""
    for links in alignments:
        check_links(links, bitext.source.lengths, bitext.target.lengths, "of the corpus to extract from")
    return AlignedCorpus(
        bitext,
        tuple(alignments),
        index_ngrams(bitext.source, config.source_width),
        index_ngrams(bitext.target, config.target_width),
        tuple(index_links(bitext, links) for links in alignments),
    )
