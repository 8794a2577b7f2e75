"""Bad inputs, and what is said of them: a table that a test runs through and the documentation shows."""

from dataclasses import dataclass, field

LONG = "a" * 300
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\nmsgid "le chat"\nmsgstr ""\n'
TMX = (
    b'<tmx version="1.4"><header/><body><tu><tuv xml:lang="fr"><seg>a</seg></tuv>'
    b'<tuv xml:lang="en"><seg>b</seg></tuv></tu>\n</body></tmx>'
)


@dataclass(frozen=True)
class BadInput:
    """One way to go wrong.

    name: what is wrong; command, arguments: as on a command line, in a folder as `workplace.furnish` makes it.
    sentence: a part of what is said; code: the exit code.
    files: what is written to the folder before; stdin: None for a closed one.
    """

    name: str
    command: str
    arguments: tuple[str, ...]
    sentence: str
    code: int = 1
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes | None = b""


def _mine(text: str) -> dict[str, bytes]:
    return {"conf/corpus/slip.yaml": text.encode()}


TRAIN = [
    BadInput("a training file that is not there", "train", ("corpus.components.kitchen.source=nowhere.fr",),
             "corpus.components.kitchen: 'nowhere.fr' does not exist"),
    BadInput("training files of different lengths", "train", ("corpus.components.kitchen.source=some.fr",),
             "'some.fr' has 2 lines and 'corpus/kitchen.train.en' has 40"),
    BadInput("a development set of different lengths", "train", ("corpus.dev.kitchen.source=some.fr",),
             "corpus.dev.kitchen: 'some.fr' has 2 lines"),
    BadInput("a test file that is not there", "train", ("corpus.test.kitchen.target=nowhere.en",),
             "corpus.test.kitchen: 'nowhere.en' does not exist"),
    BadInput("an adaptation set that is not UTF-8", "train",
             ("+corpus.adapt.x.source=latin", "+corpus.adapt.x.target=some.en"), "'latin' line 1 is not UTF-8",
             files={"latin": b"caf\xe9\nb\n"}),
    BadInput("both sides in one file", "train", ("corpus.components.kitchen.target=corpus/kitchen.train.fr",),
             "source and target are both"),
    BadInput("one column for both sides", "train",
             ("+corpus.components.x.path=a.tsv", "+corpus.components.x.target_column=1"),
             "source_column and target_column are both 1"),
    BadInput("a table with a line of one column", "train", ("+corpus.components.x.path=a.tsv",),
             "corpus.components.x: 'a.tsv' line 3 has 1 tab-separated columns", files={"a.tsv": b"a\tb\nc\td\ne\n"}),
    BadInput("a translation memory that was cut off", "train", ("+corpus.components.x.path=a.tmx",),
             "corpus.components.x: 'a.tmx' is not well-formed XML at line 2", files={"a.tmx": TMX[:-6]}),
    BadInput("links of a table with more lines", "train", ("+corpus.components.x.path=a.tsv", "+links.files.x=a.align"),
             "links.files.x: alignment 'a.align' has 1 lines and the text 2 pairs",
             files={"a.tsv": b"a\tb\nc\td\n", "a.align": b"0-0\n"}),
    BadInput("links of another text", "train", ("+links.files.kitchen=some.align",),
             "links.files.kitchen: alignment 'some.align' has 2 lines and the text 40 pairs"),
    BadInput("links of a text that is not there", "train", ("+links.development.nobody=some.align",),
             "links.development names 'nobody', which is not a development set"),
    BadInput("an aligner that is none", "train", ("links.aligner=folder",), "which has no 'aligner.safetensors'"),
    BadInput("an ARPA file that is none", "train", ("+lm.arpas.news=some.en",), "lm.arpas.news: 'some.en' line 1"),
    BadInput("a language model that is none", "train", ("+lm.further.news=folder",), "lm.further.news is 'folder'"),
    BadInput("a table that is none", "train", ("+tm.tables.x=some.en", "+tm.lexical.x=x"),
             "tm.tables.x: 'some.en' line 1 has fewer than three fields"),
    BadInput("a table without word counts", "train", ("+tm.tables.x=some.en",), "tm.tables names 'x' and tm.lexical"),
    BadInput("a component folder that is none", "train", ("+tm.folders.x=folder",), "tm.folders.x: 'folder' is not a"),
    BadInput("a part of the corpus that does not exist", "train", ("translate=[dve]",), "translate has 'dve'"),
    BadInput("a group of sets that do not exist", "train", ("+corpus.groups.x=[nobody]",), "corpus.groups.x has"),
    BadInput("an order that is too high", "train", ("lm.estimation.order=70",),
             "lm.estimation.order is 70: give a number from 1 to 9"),
    BadInput("NaN", "train", ("align.alpha=nan",), "align.alpha is nan: give a finite number"),
    BadInput("infinity", "train", ("search.stack.threshold=inf",), "search.stack.threshold is inf: give a finite"),
    BadInput("a negative number of starts", "train", ("tune=mert", "tune.restarts=-1"), "tune.restarts is -1"),
    BadInput("words where numbers belong", "train", ("lm.estimation.prune=[a]",), "Value 'a' of type 'str'"),
    BadInput("too few weights", "train", ("weights.rule=[1,2]",), "weights.rule is (1.0, 2.0): give 4 numbers"),
    BadInput("lists of no translation", "train", ("nbest_size=0",), "nbest_size is 0: give a number from 1"),
    BadInput("a metric that does not exist", "train", ("evaluate.metrics=[foo]",), "evaluate.metrics is 'foo'"),
    BadInput("a name of 300 letters", "train", (f"+corpus.test.{LONG}.source=some.fr",
             f"+corpus.test.{LONG}.target=some.en"), "letters, too many for a key: use shorter names"),
    BadInput("a file as output folder", "train", ("output_dir=some.fr",), "output_dir is 'some.fr', which is a file"),
    BadInput("YAML that does not end", "train", ("corpus=slip",), "slip.yaml' line 4, column 1 is not YAML",
             files=_mine("name: x\ncomponents:\n  a: {source: b\n")),
    BadInput("YAML with a tab", "train", ("corpus=slip",), "slip.yaml' line 2, column 1 is not YAML",
             files=_mine("name: x\n\tdev: y\n")),
    BadInput("YAML that is not UTF-8", "train", ("corpus=slip",), "slip.yaml' is not UTF-8",
             files={"conf/corpus/slip.yaml": b"name: caf\xe9\n"}),
    BadInput("words where a text belongs", "train", ("corpus=slip",), "corpus.components.a is 'words'",
             files=_mine("defaults: [files, _self_]\nname: x\ncomponents:\n  a: words\n")),
    BadInput("a key with letters beyond ASCII", "train", ("+corpus.dev.Übung.source=some.fr",),
             "'+corpus.dev.Übung.source' cannot be a key on the command line"),
]  # fmt: skip

DECODE = [
    BadInput("a negative number of translations", "decode", ("nbest=-3",), "nbest is -3: give a number"),
    BadInput("a folder as output", "decode", ("output=folder",), "output is 'folder', which is a folder"),
    BadInput("a folder for unknown words", "decode", ("unknown_words=folder",), "unknown_words is 'folder'"),
    BadInput("an output below a file", "decode", ("output=some.fr/x",), "'some.fr/x', and"),
    BadInput("an output that is the input", "decode", ("input=some.fr", "output=some.fr"),
             "output and input are both 'some.fr'"),
    BadInput("two outputs in one file", "decode", ("output=x", "alignments=x"), "alignments and output are both 'x'"),
    BadInput("two outputs on standard output", "decode", ("input=some.fr", "alignments=-"),
             "output and alignments both go to standard output ('-'): give a file, alignments=…"),
    BadInput("an output with a name of 300 letters", "decode", (f"output={LONG}",), "a name of 300 bytes"),
    BadInput("an argument without a key", "decode", ("in.fr",), "'in.fr' is not key=value"),
    BadInput("a limit of nothing", "decode", ("limits.line=0",), "limits.line is 0: give a number from 100"),
    BadInput("more labels than lines", "decode", ("input=some.fr", "labels=labels"),
             "'labels' has 3 lines and the input 2", files={"labels": b"kitchen\n" * 3}),
    BadInput("fewer labels than lines", "decode", ("input=some.fr", "labels=labels"),
             "'labels' has 1 lines and the input more", files={"labels": b"kitchen\n"}),
    BadInput("a domain that the model has not", "decode", ("domain=law",), "domain 'law' is not in the model"),
    BadInput("a component weight that is no number", "decode", ("component_weights=[nan,1]",), "'kitchen' is nan"),
    BadInput("input that is closed", "decode", (), "standard input is closed", stdin=None),
    BadInput("a charset that is none of text", "decode", ("input=a.po", "output=o.po"),
             "'a.po' says its charset is 'hex'", files={"a.po": PO.format("hex").encode()}),
    BadInput("a line without end", "decode", ("input=long", "limits.line=100"),
             "'long' line 2 has more than 100 bytes", files={"long": b"a\n" + b"a" * 1000}),
]  # fmt: skip

OTHERS = [
    BadInput("texts of different lengths", "align", ("source=some.fr", "target=corpus/kitchen.dev.en"),
             "source and target have different numbers of lines"),
    BadInput("a text that is not there", "align", ("source=nowhere", "target=some.en"), "source: 'nowhere' does not"),
    BadInput("a folder as output", "align", ("source=some.fr", "target=some.en", "output=folder"),
             "output is 'folder'"),
    BadInput("no iterations", "align", ("align.ibm1_iterations=-1",), "align.ibm1_iterations is -1"),
    BadInput("links of another text", "extract", ("source=corpus/kitchen.dev.fr", "target=corpus/kitchen.dev.en",
             "alignment=some.align", "output=tables"), "have different numbers of lines"),
    BadInput("a file as output folder", "extract", ("source=some.fr", "target=some.en", "alignment=some.align",
             "output=some.fr"), "output is 'some.fr', which is a file"),
    BadInput("an order of nothing", "lm", ("input=some.en", "estimation.order=0"), "estimation.order is 0"),
    BadInput("a text that is not there", "lm", ("input=some.en", "output=m.arpa", "perplexity=nowhere"),
             "perplexity: 'nowhere' does not exist"),
    BadInput("a model that is none", "lm", ("model=some.en", "perplexity=some.en"), "'some.en' line 1"),
    BadInput("an output that is not there", "compare", ("references=[some.en]", "+systems.a=[nowhere]"),
             "systems.a: 'nowhere' does not exist"),
    BadInput("an output that is too short", "compare", ("references=[some.en]", "+systems.a=one"),
             "1 translations against 2 references", files={"one": b"a\n"}),
    BadInput("a number of trials that is none", "compare", ("references=[some.en]", "+systems.a=some.en",
             "evaluate.trials=0"), "evaluate.trials is 0"),
    BadInput("a list that is none", "tune-lists", ("nbest=[some.en]", "references=[some.en]"), "is no n-best entry"),
    BadInput("a list for sentence -1", "tune-lists", ("nbest=[bad]", "references=[some.en]"), "line 1 is no n-best",
             files={"bad": b"-1 ||| a ||| LM= 1 ||| 1\n"}),
    BadInput("a feature that is no number", "tune-lists", ("nbest=[bad]", "references=[some.en]"), "'nan' is no number",
             files={"bad": b"0 ||| a ||| LM= nan ||| 1\n"}),
    BadInput("a start that is no number", "tune-lists",
             ("nbest=[some.nbest]", "references=[some.en]", "+start.LM_0=nan"), "start.LM_0 is nan"),
    BadInput("a folder as output", "tune-lists", ("nbest=[some.nbest]", "references=[some.en]", "output=folder"),
             "output is 'folder'"),
    BadInput("lists to rerank that are not there", "adapt-lists", ("nbest=[nowhere]", "adaptation_nbest=[some.nbest]",
             "adaptation_references=[some.en]", "weights_file=weights.txt"), "nbest: 'nowhere' does not exist"),
    BadInput("a weight that is no number", "adapt-lists", ("nbest=[some.nbest]", "adaptation_nbest=[some.nbest]",
             "adaptation_references=[some.en]", "weights_file=bad"), "'bad' line 1", files={"bad": b"LM_0 inf\n"}),
    BadInput("a sample of nothing", "adapt-lists", ("adapt.num_samples=0",), "adapt.num_samples is 0"),
    BadInput("a scale that is no number", "consensus-lists", ("nbest=[some.nbest]", "consensus.gamma=nan"),
             "consensus.gamma is nan"),
    BadInput("lists that are not there", "consensus-lists", ("nbest=[nowhere]", "consensus.gamma=1"),
             "nbest: 'nowhere' does not exist"),
]  # fmt: skip

BAD_INPUTS = [*TRAIN, *DECODE, *OTHERS]
