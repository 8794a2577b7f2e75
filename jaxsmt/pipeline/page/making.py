"""The parts of a page about how a model was made: weights, clusters, tuning, data, what was run."""

from collections.abc import Sequence

from jaxsmt.pipeline.page.markup import Html, details, section, tag
from jaxsmt.pipeline.page.pictures import Line, curves, scatter
from jaxsmt.pipeline.page.records import ClusterPicture, RunRecord, Setup, TuningCurve
from jaxsmt.pipeline.page.tables import heat_table, table
from jaxsmt.pipeline.store import StageRun

MOST_BANDS = 3  # more than that hide each other


def weights_section(record: RunRecord) -> Html:
    """Heat maps of component and language-model weights, then the log-linear ones."""
    maps = [
        heat_table(f"{own.title}, as shares of their sum", own.names, own.columns, own.rows, own.more, own.more_rows)
        for own in record.weights
    ]
    if not maps:
        maps = [tag("p", "There is one component, or each has features of its own: nothing is mixed.")]
    heads, rows = record.log_linear
    features = table("Log-linear weights of the features", ["feature"], heads, rows)
    return section("weights", "Weights", *maps, details("Log-linear weights", features))


def clusters_section(clusters: ClusterPicture | None) -> Html | None:
    """What is in each cluster, and a picture."""
    if clusters is None:
        return None
    sizes = [f"{size:,}" for size in clusters.sizes]
    if not clusters.shares:
        rows = [[name, size] for name, size in zip(clusters.names, sizes, strict=True)]
        return section("clusters", "Clusters", table("Clusters of training text", ["cluster"], ["sentences"], rows))
    shares = [((name,), own) for name, own in zip(clusters.names, clusters.shares, strict=True)]
    made = heat_table(
        "Where the sentences of each cluster come from", ["cluster"], clusters.sets, shares, ["sentences"],
        [[size] for size in sizes],
    )  # fmt: skip
    title = "Development sentences by their entropies under the components' models, two main directions of them"
    return section("clusters", "Clusters", made, scatter(clusters.points, clusters.groups, clusters.names, title))


def tuning_section(tuned: Sequence[TuningCurve]) -> Html | None:
    """A curve and a table for each tuning."""
    if not tuned:
        return None
    parts = [part for curve in tuned for part in (tag("h3", curve.name), tuning_picture([curve]), tuning_table(curve))]
    note = "BLEU of the decoder's own best translations of the tuning text, before each iteration changed the weights; "
    note += "the band is what it is in 95 of 100 samples of the sentences; the ring marks the weights that were taken."
    return section("tuning", "Tuning", tag("p", note, class_="soft"), *parts)


def tuning_picture(tuned: Sequence[TuningCurve]) -> Html:
    """Curves with their intervals, in one picture."""
    lines = []
    for curve in tuned:
        has_band = len(tuned) <= MOST_BANDS and all(row["interval"] for row in curve.iterations)
        low, high = ([100 * row["interval"][end] for row in curve.iterations] if has_band else () for end in (0, 1))
        lines.append(Line(curve.name, [100 * row["bleu"] for row in curve.iterations], low, high, curve.chosen))
    return curves(lines, "BLEU by iteration", "iteration", "BLEU")


def tuning_table(curve: TuningCurve) -> Html:
    """The numbers of a curve."""
    rows = [
        [
            str(row["number"]), f"{100 * row['bleu']:.2f}", "–".join(f"{100 * end:.2f}" for end in row["interval"]),
            "" if row["ter"] is None else f"{100 * row['ter']:.2f}", f"{row['length_ratio']:.3f}",
            f"{row['num_hypotheses']:,}", f"{100 * row['list_score']:.2f}", f"{row['change']:.4f}",
        ]
        for row in curve.iterations
    ]  # fmt: skip
    ending = "The weights stayed" if curve.has_converged else "The largest number of iterations was reached"
    numbers = ["BLEU", "95 %", "TER", "length", "hypotheses", "list score", "change"]
    made = table(f"{ending}; iteration {curve.chosen} was taken", ["iteration"], numbers, rows)
    return details("Numbers of the iterations", made)


def data_section(record: RunRecord) -> Html:
    """Sizes of the components, and how well language models predict the development sets."""
    rows = []
    for own in record.components:
        numbers = (own.sentence_pairs, own.source_words, own.target_words, own.rules, own.word_pairs)
        rows.append([own.name, *("" if number is None else f"{number:,}" for number in numbers)])
    heads = ["sentence pairs", "source words", "target words", "phrase pairs or rules", "word pairs"]
    parts = [table("Components", ["component"], heads, rows)]
    for title, found in record.perplexities.items():
        columns = list(next(iter(found.values())))
        values = [[name, *(f"{own[column]:.2f}" for column in columns)] for name, own in found.items()]
        parts.append(table(f"Perplexity of development sets: {title}", ["dev"], columns, values))
    for part, (head, *members) in record.members.items():
        parts.append(table(f"Bags of fewer members, {part}", [head[0]], head[1:], members))
    return section("data", "Data", *parts)


def setup_section(setup: Setup) -> Html:
    """The configuration, versions, device, and what each stage took."""
    told = tag("code", " ".join(["jaxsmt train", *setup.told])) if setup.told else "nothing but the defaults"
    facts = [["device", setup.device], *setup.versions.items()]
    versions = table("Versions", ["what"], [], facts, ["version"])
    configuration = details("The whole configuration", tag("pre", setup.configuration, tabindex="0"))
    stages = stage_table(setup.stages)
    return section("setup", "What was run", tag("p", "Told: ", told), configuration, versions, stages)


def stage_table(stages: Sequence[StageRun]) -> Html | None:
    """Seconds and memory of every stage."""
    if not stages:
        return None
    rows = []
    for own in stages:
        taken = "found" if own.seconds is None else f"{own.seconds:.1f}"
        memory = "" if own.peak_bytes is None else f"{own.peak_bytes / 1e9:.2f}"
        rows.append([own.stage, taken, memory, "" if own.folder is None else own.folder.name])
    caption = "Stages; those that were found had been made before. Memory is the most that the process had"
    return table(caption, ["stage"], ["seconds", "GB"], rows, ["artefact"])
