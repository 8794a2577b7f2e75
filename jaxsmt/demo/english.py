"""English morphology: plural, verb forms, comparison, articles. British spelling."""

import re

# base: past, past participle
_IRREGULAR = {
    "be": "was been", "have": "had had", "do": "did done", "go": "went gone", "see": "saw seen",
    "take": "took taken", "give": "gave given", "find": "found found", "choose": "chose chosen",
    "bring": "brought brought", "buy": "bought bought", "lose": "lost lost", "leave": "left left",
    "keep": "kept kept", "know": "knew known", "forget": "forgot forgotten", "show": "showed shown",
    "send": "sent sent", "sell": "sold sold", "lend": "lent lent", "cut": "cut cut", "read": "read read",
    "write": "wrote written", "throw": "threw thrown", "freeze": "froze frozen", "run": "ran run",
    "put": "put put", "get": "got got", "stick": "stuck stuck", "sink": "sank sunk", "drive": "drove driven",
    "slide": "slid slid", "hear": "heard heard", "say": "said said", "eat": "ate eaten", "drink": "drank drunk",
    "steal": "stole stolen", "make": "made made", "come": "came come", "sleep": "slept slept",
    "think": "thought thought", "draw": "drew drawn", "break": "broke broken", "beat": "beat beaten",
    "grind": "ground ground", "rise": "rose risen", "fall": "fell fallen", "begin": "began begun",
    "hold": "held held", "pay": "paid paid", "shut": "shut shut", "set": "set set", "spread": "spread spread",
    "meet": "met met", "understand": "understood understood", "burn": "burnt burnt", "wake": "woke woken",
}  # fmt: skip
_DOUBLING = {"cancel", "prefer", "travel", "forget", "format", "begin", "unplug", "label"}
_PRESENT_OF_BE = {"1s": "am", "3s": "is", "1p": "are", "2p": "are", "3p": "are"}
_AN_IN_SPITE = ("hour", "honest", "heir")
_A_IN_SPITE = ("use", "usual", "uni", "one", "euro", "utensil", "once", "utili", "usb")
_COMPARISON = {"good": ("better", "best"), "bad": ("worse", "worst")}


def plural(noun: str) -> str:
    """The regular plural."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if re.search("[^aeiou]y$", noun) else noun + "s"


def third_person(base: str) -> str:
    """he sees, he watches, he carries."""
    return {"be": "is", "have": "has", "do": "does", "go": "goes"}.get(base) or plural(base)


def present(base: str, person: str) -> str:
    if base == "be":
        return _PRESENT_OF_BE[person]
    return third_person(base) if person == "3s" else base


def past(base: str, person: str = "3s") -> str:
    if base == "be":
        return "was" if person in ("1s", "3s") else "were"
    return _IRREGULAR[base].split()[0] if base in _IRREGULAR else _regular_past(base)


def past_participle(base: str) -> str:
    return _IRREGULAR[base].split()[1] if base in _IRREGULAR else _regular_past(base)


def gerund(base: str) -> str:
    if base.endswith("e") and not base.endswith(("ee", "be", "ye")):
        return base[:-1] + "ing"
    return _doubled(base) + "ing"


def comparison(adjective: str) -> tuple[str, str]:
    """Comparative and superlative: faster, fastest; more useful, most useful."""
    if adjective in _COMPARISON:
        return _COMPARISON[adjective]
    if len(re.findall("[aeiouy]+", adjective.removesuffix("e"))) == 1:
        stem = _doubled(adjective.removesuffix("e"))
        return stem + "er", stem + "est"
    if adjective.endswith("y"):
        return adjective[:-1] + "ier", adjective[:-1] + "iest"
    return "more " + adjective, "most " + adjective


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if re.search("[^aeiou]y$", base) else _doubled(base) + "ed"


def _doubled(base: str) -> str:
    """Doubles the last letter of stop, drag, hot and of verbs stressed on the last syllable."""
    one_syllable = re.fullmatch("(?:[^aeiou]|qu)*[aeiou][^aeiouwxy]", base)
    return base + base[-1] if one_syllable or base in _DOUBLING else base


def takes_an(word: str) -> bool:
    """Whether the indefinite article before this word is "an"."""
    word = word.lower()
    if word.startswith(_AN_IN_SPITE):
        return True
    return word[0] in "aeiou" and not word.startswith(_A_IN_SPITE)


def surface(tokens: list[str]) -> str:
    """Joins tokens to a written sentence: a/an, cannot, possessive 's, capital, punctuation."""
    words = [token for phrase in tokens for token in phrase.split()]
    for place, word in enumerate(words[:-1]):
        if word == "a" and takes_an(words[place + 1]):
            words[place] = "an"
    text = " ".join(words)
    text = re.sub(r" ([.,;:?!])", r"\1", text).replace("can not", "cannot")
    text = text.replace("s 's", "s'").replace(" 's", "'s")
    return text[0].upper() + text[1:]
