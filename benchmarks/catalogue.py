"""A real PO catalogue with entries blanked at random, filled in again, and compared with what it was (needs polib).

    python benchmarks/catalogue.py text fr.po train.en.gz train.fr.gz text.en text.fr   # without its own messages
    python benchmarks/catalogue.py blank fr.po blank.po
    python benchmarks/catalogue.py memory other.po other.tmx en fr
    python benchmarks/catalogue.py score fr.po blank.po filled.po …

Nothing is translated here: docs/localisation.md has the commands in between.
"""

import random
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import polib

from jaxsmt.evaluate.scores import corpus_scores
from jaxsmt.text.streams import read_lines

NUM_BLANK, SEED = 200, 18
UNIT = re.compile(r"%(?:\d+\$)?[-+#0 ']*\d*(?:\.\d+)?[hlzjt]*[a-zA-Z%]|\{[^{}]*\}|</?\w[^<>]*>|\n")


def folded(text: str) -> str:
    """Letters in lower case, all else as one space."""
    return re.sub(r"[\W\d_]+", " ", text.lower().replace("_", "").replace("&", "")).strip()


def texts_of(entry: polib.POEntry) -> list[tuple[str, str]]:
    """Messages with their translations."""
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    return [(entry.msgid_plural if form else entry.msgid, text) for form, text in sorted(entry.msgstr_plural.items())]


def entries_of(path: str) -> dict[tuple[str | None, str], polib.POEntry]:
    """By context and message, obsolete ones left out."""
    return {(entry.msgctxt, entry.msgid): entry for entry in polib.pofile(path) if not entry.obsolete}


def text(catalogue: str, source: str, target: str, source_output: str, target_output: str) -> None:
    """Writes a bitext without the lines that equal a message or a translation of a catalogue."""
    own = {folded(part) for entry in polib.pofile(catalogue) for pair in texts_of(entry) for part in pair} - {""}
    pairs = list(zip(read_lines(source), read_lines(target), strict=True))
    kept = [pair for pair in pairs if not own & set(map(folded, pair))]
    for path, lines in zip((source_output, target_output), zip(*kept, strict=True), strict=True):
        Path(path).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(f"{len(pairs)} pairs, {len(pairs) - len(kept)} left out")


def without_translation(block: str) -> str:
    """An entry with its translations and the flag fuzzy taken out."""
    lines, is_inside = [], False
    for line in block.split("\n"):
        if line.startswith("msgstr"):
            lines.append(line.split(" ")[0] + ' ""')
        elif not (is_inside and line.startswith('"')) and line != "#, fuzzy":
            lines.append(line.replace("#, fuzzy,", "#,"))
        is_inside = line.startswith("msgstr") or (is_inside and line.startswith('"'))
    return "\n".join(lines)


def blank(catalogue: str, output: str) -> None:
    """Takes the translations of some entries out, byte by byte nothing else."""
    blocks = Path(catalogue).read_text(encoding="utf-8").split("\n\n")
    is_entry = [
        re.search("^msgid ", block, re.MULTILINE) and 'msgid ""\nmsgstr' not in block and "fuzzy" not in block
        for block in blocks
    ]
    chosen = set(random.Random(SEED).sample([place for place, found in enumerate(is_entry) if found], NUM_BLANK))
    new = [without_translation(block) if place in chosen else block for place, block in enumerate(blocks)]
    Path(output).write_text("\n\n".join(new), encoding="utf-8")


def memory(catalogue: str, output: str, source: str, target: str) -> None:
    """The finished entries of a catalogue as TMX."""
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="{}" segtype="block"/><body>\n'
    with Path(output).open("w", encoding="utf-8") as stream:
        stream.write(head.format(source))
        for pair in (pair for entry in polib.pofile(catalogue).translated_entries() for pair in texts_of(entry)):
            sides = zip((source, target), map(escape, pair), strict=True)
            variants = (f'<tuv xml:lang="{code}"><seg>{part}</seg></tuv>' for code, part in sides)
            stream.write(f"<tu>{''.join(variants)}</tu>\n")
        stream.write("</body></tmx>\n")


def score(catalogue: str, blanked: str, *filled: str) -> None:
    """BLEU, chrF and TER of what was filled in; placeholders that are not there; what else is not as it was."""
    whole, empty = entries_of(catalogue), entries_of(blanked)
    keys = [key for key, entry in empty.items() if not entry.translated() and not entry.fuzzy]
    references = [" ".join(text.split()) for key in keys for _, text in texts_of(whole[key])]
    for path in filled:
        found = entries_of(path)
        pairs = [pair for key in keys for pair in texts_of(found[key])]
        output = [" ".join(text.split()) for _, text in pairs]
        units = [[sorted(UNIT.findall(side)) for side in pair] for pair in pairs if pair[1]]
        num_lost = sum(own != other for own, other in units)
        blocks = zip(*(Path(name).read_text(encoding="utf-8").split("\n\n") for name in (blanked, path)), strict=True)
        num_changed = sum(old != new and old != without_translation(new) for old, new in blocks)
        scores = corpus_scores(output, references)
        print(
            f"{path}: BLEU {scores.bleu:.2f} chrF {scores.chrf:.2f} TER {scores.ter:.2f}; of {len(output)} texts "
            f"{sum(map(str.__eq__, output, references))} as they were, {output.count('')} empty, "
            f"{num_lost} with other placeholders; {num_changed} entries differ in something else"
        )


if __name__ == "__main__":
    {part.__name__: part for part in (text, blank, memory, score)}[sys.argv[1]](*sys.argv[2:])
