"""What a model makes of development and test sets: with and without weights of their domain, adapted, by consensus."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jaxsmt.common.files import write_text
from jaxsmt.common.progress import track
from jaxsmt.evaluate.scores import Scores, corpus_scores
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.reranking.bagging import BaggedTranslator
from jaxsmt.model.source_text import NO_TEXT, SourceText, source_text
from jaxsmt.model.translation import PlainTranslator, Translator, plain_translator
from jaxsmt.pipeline.bag_report import BagReport, joined
from jaxsmt.pipeline.standard import unknown_lines
from jaxsmt.search.statistics import SearchCounts
from jaxsmt.text.reading import BitextSource, read_bitext

UNWEIGHTED, OWN, ADAPTED, CONSENSUS = "unweighted", "own domain", "adapted", "consensus"
Way = tuple[str, str, str]  # part, domain and weighting, such as test, kitchen and unweighted


@dataclass(frozen=True)
class ScoreTable:
    """What was found for each set and weighting: scores, numbers of unknown words, the work of the search.

    unknown_words: how often each of them came.
    """

    scores: dict[Way, Scores]
    unknown: dict[Way, int]
    unknown_words: dict[Way, Counter[str]] = field(default_factory=dict)
    searches: dict[Way, SearchCounts] = field(default_factory=dict)

    def mean(self, part: str) -> float:
        """Mean BLEU of a part's sets, each adapted or with its own domain's weights where the model has that domain."""
        best = {domain: scores.bleu for (of, domain, _), scores in self.scores.items() if of == part}
        return sum(best.values()) / len(best) if best else 0.0


def evaluate_model(
    model: Model, parts: Mapping[str, Mapping[str, BitextSource]], output_dir: Path, all_ways: bool = True
) -> ScoreTable:
    """Translates every set unweighted; where the model has its label or clusters, with the label's weights; adapted;
    and by consensus in the last of these ways.

    all_ways: otherwise only the last of these ways that the model has.
    Translations, lists of unknown words and, from a bag, what fewer members make of each set and of all, go to
    <output_dir>/translations, scores to <output_dir>/scores.json.
    """
    jobs = [(part, domain) for part, sources in parts.items() for domain in sources]
    plain = plain_translator(model if jobs else model.for_text(NO_TEXT))  # rules are fetched for who translates
    translators = WayTranslators(plain)
    found: dict[Way, Scores] = {}
    unknown: dict[Way, Counter[str]] = {}
    searches: dict[Way, SearchCounts] = {}
    reports: dict[str, list[BagReport]] = {}
    for part, domain in track(jobs, "translating", len(jobs)):
        pairs = list(read_bitext(parts[part][domain]))
        text, references = source_text(model.source, (source for source, _ in pairs)), [target for _, target in pairs]
        write_text(source_file(output_dir, part, domain), "".join(source + "\n" for source, _ in pairs))
        write_text(reference_file(output_dir, part, domain), "".join(target + "\n" for target in references))
        ways = list(weightings(model, text, domain).items())
        for name, profiles in ways if all_ways else ways[-1:]:
            report = _bag_report(model, name, references)
            translator = translators.of(name, dict(ways), report)
            before = plain.statistics.total()
            translated = translator.translate(text, profiles)
            searches[part, domain, name] = plain.statistics.total().since(before)
            if report is not None:
                write_text(output_file(output_dir, part, domain, "members"), report.table())
                reports.setdefault(part, []).append(report)
            output = [line.text for line in translated]
            found[part, domain, name] = corpus_scores(output, references)
            write_text(output_file(output_dir, part, domain, name), "".join(line + "\n" for line in output))
            unknown[part, domain, name] = Counter(word for line in translated for word in line.unknown)
        write_text(unknown_file(output_dir, part, domain), unknown_lines(unknown[part, domain, name]))
    for part, own in reports.items():
        write_text(output_dir / "translations" / f"{part}.members.txt", joined(own).table())
    scores = ScoreTable(found, {key: counts.total() for key, counts in unknown.items()}, unknown, searches)
    _write_scores(output_dir / "scores.json", scores)
    return scores


def weightings(model: Model, text: SourceText, domain: str) -> dict[str, list[Profile]]:
    """The profiles of lines of a domain, in each way that the model can translate them."""
    base = model.unadapted
    found = {UNWEIGHTED: base.profiles([None] * len(text))}
    own = base.labeller(domain).labels_of(text.tokens)
    if any(own):
        found[OWN] = base.profiles(own)
    if model.adaptation is not None:
        labels = model.labeller(domain).labels_of(text.tokens)
        if any(model.adaptation.is_for(label) for label in labels):
            found[ADAPTED] = model.profiles(labels)
    if model.consensus is not None:
        found[CONSENSUS] = list(found.values())[-1]
    return found


def _bag_report(model: Model, weighting: str, references: Sequence[str]) -> BagReport | None:
    """A report on fewer members, where there are members and they take part."""
    bag = model.adaptation.bag if model.adaptation is not None and weighting == ADAPTED else None
    if bag is None:
        return None
    return BagReport(bag, [" ".join(model.target.preprocess(reference)) for reference in references])


@dataclass(frozen=True)
class WayTranslators:
    """What translates in each of the ways; the decoder is the same for all."""

    plain: PlainTranslator

    @cached_property
    def base(self) -> Translator:
        """The model as it is before its adaptation, rescored if it was tuned so."""
        rescoring = self.plain.model.rescoring
        return self.plain if rescoring is None else rescoring.translator(self.plain)

    def of(self, weighting: str, ways: Iterable[str], report: BagReport | None = None) -> Translator:
        """ways: all that the text has; report: sees what the members of a bag say."""
        if weighting == CONSENSUS:
            assert self.plain.model.consensus is not None
            lists = self._adapted(None) if ADAPTED in ways else self.base
            return lists.with_consensus(self.plain.model.consensus)
        return self._adapted(report) if weighting == ADAPTED else self.base

    def _adapted(self, report: BagReport | None) -> Translator:
        if report is not None:
            return BaggedTranslator(self.plain, report.bag, observe_fn=report.add)
        assert self.plain.model.adaptation is not None
        return self.plain.model.adaptation.translator(self.plain)


def unknown_file(output_dir: Path, part: str, domain: str) -> Path:
    """Where the words of a set that nobody could translate are listed."""
    return output_dir / "translations" / f"{part}.{domain}.unknown.txt"


def output_file(output_dir: Path, part: str, domain: str, name: str) -> Path:
    """Where the translation of a set lies."""
    return output_dir / "translations" / f"{part}.{domain}.{name.replace(' ', '-')}.txt"


def source_file(output_dir: Path, part: str, domain: str) -> Path:
    """Where its source lies, a line a sentence."""
    return output_dir / "translations" / f"{part}.{domain}.source.txt"


def reference_file(output_dir: Path, part: str, domain: str) -> Path:
    """Where its reference lies."""
    return output_dir / "translations" / f"{part}.{domain}.reference.txt"


def _write_scores(path: Path, table: ScoreTable) -> None:
    rows = [
        {
            "part": part,
            "domain": domain,
            "weights": label,
            "bleu": round(value.bleu, 4),
            "chrf": round(value.chrf, 4),
            "ter": round(value.ter, 4),
            "unknown_words": table.unknown[part, domain, label],
        }
        for (part, domain, label), value in table.scores.items()
    ]
    signatures = sorted(
        {text for v in table.scores.values() for text in (v.bleu_signature, v.chrf_signature, v.ter_signature)}
    )
    write_text(path, json.dumps({"scores": rows, "signatures": signatures}, indent=1, ensure_ascii=False) + "\n")
