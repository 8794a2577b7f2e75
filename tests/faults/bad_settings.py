"""Bad settings and damaged files, as data: what each is, and the sentence that it gets."""

from dataclasses import dataclass

from jaxsmt.model.folder import SETTINGS


@dataclass(frozen=True)
class BadSetting:
    """One mistake: the command with its overrides, in a folder with a trained `model`, and a part of what is said.

    damage: a file of the model that is cut in two; '' for none.
    """

    name: str
    command: str
    what: str
    sentence: str
    overrides: tuple[str, ...] = ()
    damage: str = ""
    code: int = 1


CASES = (
    BadSetting("misspelled", "train", "a misspelled key: `extract.max_phrase_lenght=5`",
               "unknown configuration key 'extract.max_phrase_lenght': did you mean 'extract.max_phrase_length'?",
               ("extract.max_phrase_lenght=5",)),
    BadSetting("no choice", "train", "a choice that does not exist: `extract=hierro`",
               "is not a choice: did you mean 'hiero'?; choose from hiero, phrase", ("extract=hierro",)),
    BadSetting("wrong type", "train", "a word where a number belongs: `extract.max_phrase_length=seven`",
               "configuration key 'extract.max_phrase_length': Value 'seven'", ("extract.max_phrase_length=seven",)),
    BadSetting("too large", "train", "a number out of range: `extract.max_phrase_length=70`",
               "extract.max_phrase_length is 70: give a number from 1 to 8", ("extract.max_phrase_length=70",)),
    BadSetting("list as number", "train", "a list where a number belongs: `lm.estimation.discount_fallback=[[1]]`",
               "lm.estimation.discount_fallback is [1]: give a number from 0 to 3",
               ("lm.estimation.discount_fallback=[[1]]",)),
    BadSetting("number as choice", "train", "a number where a choice belongs: `+text=-2.5`",
               "Config group override must be a string or a list. Got float", ("+text=-2.5",)),
    BadSetting("added by force", "train", "a key that does not exist, added by force: `++text.typgraphy=none`",
               "unknown configuration key 'typgraphy': did you mean 'typography'?", ("++text.typgraphy=none",)),
    BadSetting("unknown by force", "decode", "a key that does not exist at all, added by force: `++alignment=x`",
               "unknown configuration key 'alignment': did you mean 'alignments'?",
               ("model_dir=model", "++alignment=x")),
    BadSetting("without its type", "decode", "a key that was removed and added again: `~segmenters ++segmenters=0.1`",
               "configuration key 'segmenters': Invalid value assigned",
               ("model_dir=model", "~segmenters", "++segmenters=0.1")),
    BadSetting("no value", "train", "what stands for no value: `align.cells_per_batch=???`",
               "align.cells_per_batch is '???', which stands for a value that is not there",
               ("align.cells_per_batch=???",)),
    BadSetting("no text", "train", "no text: `corpus=files` alone", "corpus.components is empty", ("corpus=files",)),
    BadSetting("no model", "decode", "a folder that is no model", "'nowhere' is not a model folder",
               ("model_dir=nowhere",)),
    BadSetting("cut settings", "decode", "a model whose `model.json` was cut off", "is damaged: train the model again",
               ("model_dir=model",), SETTINGS),
    BadSetting("cut text", "decode", "a model with a file that was cut off",
               "not what was written when the model was trained, so it is damaged or incomplete", ("model_dir=model",),
               "components/kitchen/source.vocabulary"),
    BadSetting("half of two", "decode", "`nbest=5` without `nbest_output=`", "nbest and nbest_output go together",
               ("model_dir=model", "nbest=5")),
)  # fmt: skip
