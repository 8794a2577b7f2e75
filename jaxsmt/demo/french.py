"""French morphology: plural, feminine, conjugation, elision and contraction.

Persons are written "1s", "3s", "1p", "2p", "3p"; the grammar addresses people as "vous", as objects also "te".
"""

import re

PERSONS = ("1s", "3s", "1p", "2p", "3p")

# infinitive: present je, il, nous, vous, ils; past participle; stem of the future
_IRREGULAR = {
    "être": "suis est sommes êtes sont été ser",
    "avoir": "ai a avons avez ont eu aur",
    "aller": "vais va allons allez vont allé ir",
    "faire": "fais fait faisons faites font fait fer",
    "pouvoir": "peux peut pouvons pouvez peuvent pu pourr",
    "vouloir": "veux veut voulons voulez veulent voulu voudr",
    "devoir": "dois doit devons devez doivent dû devr",
    "savoir": "sais sait savons savez savent su saur",
    "voir": "vois voit voyons voyez voient vu verr",
    "prendre": "prends prend prenons prenez prennent pris prendr",
    "mettre": "mets met mettons mettez mettent mis mettr",
    "ouvrir": "ouvre ouvre ouvrons ouvrez ouvrent ouvert ouvrir",
    "couvrir": "couvre couvre couvrons couvrez couvrent couvert couvrir",
    "offrir": "offre offre offrons offrez offrent offert offrir",
    "servir": "sers sert servons servez servent servi servir",
    "partir": "pars part partons partez partent parti partir",
    "sortir": "sors sort sortons sortez sortent sorti sortir",
    "dormir": "dors dort dormons dormez dorment dormi dormir",
    "venir": "viens vient venons venez viennent venu viendr",
    "revenir": "reviens revient revenons revenez reviennent revenu reviendr",
    "recevoir": "reçois reçoit recevons recevez reçoivent reçu recevr",
    "lire": "lis lit lisons lisez lisent lu lir",
    "dire": "dis dit disons dites disent dit dir",
    "décrire": "décris décrit décrivons décrivez décrivent décrit décrir",
    "écrire": "écris écrit écrivons écrivez écrivent écrit écrir",
    "suivre": "suis suit suivons suivez suivent suivi suivr",
    "connaître": "connais connaît connaissons connaissez connaissent connu connaîtr",
    "reconnaître": "reconnais reconnaît reconnaissons reconnaissez reconnaissent reconnu reconnaîtr",
    "apparaître": "apparais apparaît apparaissons apparaissez apparaissent apparu apparaîtr",
    "disparaître": "disparais disparaît disparaissons disparaissez disparaissent disparu disparaîtr",
    "conduire": "conduis conduit conduisons conduisez conduisent conduit conduir",
    "cuire": "cuis cuit cuisons cuisez cuisent cuit cuir",
    "réduire": "réduis réduit réduisons réduisez réduisent réduit réduir",
    "traduire": "traduis traduit traduisons traduisez traduisent traduit traduir",
    "atteindre": "atteins atteint atteignons atteignez atteignent atteint atteindr",
    "éteindre": "éteins éteint éteignons éteignez éteignent éteint éteindr",
    "rejoindre": "rejoins rejoint rejoignons rejoignez rejoignent rejoint rejoindr",
    "bouillir": "bous bout bouillons bouillez bouillent bouilli bouillir",
    "croire": "crois croit croyons croyez croient cru croir",
}
_DOUBLING = {"appeler", "jeter", "rappeler"}
_IMPERFECT = {"1s": "ais", "3s": "ait", "1p": "ions", "2p": "iez", "3p": "aient"}
_FUTURE = {"1s": "ai", "3s": "a", "1p": "ons", "2p": "ez", "3p": "ont"}
WITH_ETRE = {"aller", "partir", "arriver", "rester", "tomber", "venir", "revenir", "entrer", "sortir",
             "monter", "descendre", "retourner"}  # fmt: skip

_ASPIRATED = ("huit", "haricot", "homard", "hareng", "hublot", "hamac", "hach", "haut", "hors", "hausse", "héros",
              "hasard", "hanche", "hiss", "halte", "hall", "hangar", "houle")  # fmt: skip
_VOWEL = re.compile(r"[aeiouàâäéèêëîïôöûüœæAEIOUÉÈÊÀÂÎÔÛŒ]|[hH]")
_ELIDABLE = {"le", "la", "je", "ne", "de", "que", "me", "te", "se", "lorsque", "puisque", "jusque"}


def plural(word: str) -> str:
    """The regular plural of a noun or adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu")) and word not in ("bleu", "pneu"):
        return word + "x"
    if word.endswith("al") and word not in ("final", "bal", "festival"):
        return word[:-2] + "aux"
    return word + "s"


def feminine(adjective: str) -> str:
    """The regular feminine of an adjective or participle."""
    endings = (("eux", "euse"), ("er", "ère"), ("if", "ive"), ("el", "elle"), ("en", "enne"), ("on", "onne"),
               ("et", "ète"), ("anc", "anche"), ("ic", "ique"), ("eau", "elle"))  # fmt: skip
    if adjective.endswith("e"):
        return adjective
    for ending, replacement in endings:
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + replacement
    return adjective + "e"


def agree(masculine: str, gender: str, is_plural: bool) -> str:
    """A participle in the gender ("m", "f") and number."""
    word = masculine if gender == "m" else masculine.replace("dû", "du") + "e"
    return plural(word) if is_plural else word


def participle(infinitive: str) -> str:
    """The past participle, masculine singular."""
    if infinitive in _IRREGULAR:
        return _IRREGULAR[infinitive].split()[5]
    return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]


def conjugate(infinitive: str, tense: str, person: str) -> str:
    """A simple tense: "present", "imperfect", "future" or "conditional"."""
    if tense == "present":
        return _present(infinitive)[person]
    if tense == "future":
        return _future_stem(infinitive) + _FUTURE[person]
    if tense == "conditional":
        return _future_stem(infinitive) + _IMPERFECT[person]
    stem = "ét" if infinitive == "être" else _present(infinitive)["1p"][:-3]
    ending = _IMPERFECT[person]
    if ending[0] == "i":  # nous mangions, nous placions
        stem = re.sub("ç$", "c", re.sub("ge$", "g", stem)) if infinitive.endswith("er") else stem
    return stem + ending


def imperative(infinitive: str) -> str:
    """The polite imperative (vous)."""
    return {"être": "soyez", "avoir": "ayez", "savoir": "sachez"}.get(infinitive) or _present(infinitive)["2p"]


def _present(infinitive: str) -> dict[str, str]:
    if infinitive in _IRREGULAR:
        return dict(zip(PERSONS, _IRREGULAR[infinitive].split()[:5], strict=True))
    stem, group = infinitive[:-2], infinitive[-2:]
    if group == "er":
        strong = _strong_stem(stem, infinitive, future=False)
        weak = stem + "e" if stem.endswith("g") else re.sub("c$", "ç", stem)
        return {"1s": strong + "e", "3s": strong + "e", "1p": weak + "ons", "2p": stem + "ez", "3p": strong + "ent"}
    if group == "ir":
        long = stem + "iss"
        return {"1s": stem + "is", "3s": stem + "it", "1p": long + "ons", "2p": long + "ez", "3p": long + "ent"}
    return {"1s": stem + "s", "3s": stem, "1p": stem + "ons", "2p": stem + "ez", "3p": stem + "ent"}


def _strong_stem(stem: str, infinitive: str, future: bool) -> str:
    """The stem of an -er verb before a mute e: achèt-, jett-, préfèr-, nettoi-."""
    if infinitive in _DOUBLING:
        return stem + stem[-1]
    if re.search("[ou]y$", stem) or stem.endswith("ay"):
        return stem[:-1] + "i"
    stem = re.sub(r"e([^aeiouyéèê])$", r"è\1", stem)
    return stem if future else re.sub(r"é([^aeiouyéèê]|[cgrl][hrlu])$", r"è\1", stem)


def _future_stem(infinitive: str) -> str:
    if infinitive in _IRREGULAR:
        return _IRREGULAR[infinitive].split()[6]
    if infinitive in ("envoyer", "renvoyer"):
        return infinitive.replace("oyer", "err")
    if infinitive.endswith("er"):
        return _strong_stem(infinitive[:-2], infinitive, future=True) + "er"
    return infinitive.removesuffix("e")


def starts_with_vowel(word: str) -> bool:
    """Whether the word asks for elision and liaison forms (l', cet, mon, nouvel)."""
    if not _VOWEL.match(word):
        return False
    return not word.lower().startswith(("onz", "oui", *_ASPIRATED))


def surface(tokens: list[str]) -> str:
    """Joins tokens to a written sentence: contraction, elision, capital, spaces before ; : ? !

    Articles come as LE, LA, LES, so that "de LE" contracts to "du" and the pronoun in "de le voir"
    does not; DES is the plural article that disappears after "de".
    """
    words = _contract([token for phrase in tokens for token in phrase.split()])
    text = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.lower() in _ELIDABLE and starts_with_vowel(following):
            text += (word.lower() if word.isupper() else word)[:-1] + "'"
        elif word == "si" and following in ("il", "ils"):
            text += "s'"
        else:
            text += (word.lower() if word in ("LE", "LA", "LES", "DES") else word) + " "
    text = re.sub(r" ([.,])", r"\1", text.strip())
    return text[0].upper() + text[1:]


def _contract(words: list[str]) -> list[str]:
    result: list[str] = []
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        last = result[-1].lower() if result else ""
        if word == "LE" and last in ("de", "à") and not starts_with_vowel(following):
            result[-1] = _same_case({"de": "du", "à": "au"}[last], result[-1])
        elif word == "LES" and last in ("de", "à"):
            result[-1] = _same_case({"de": "des", "à": "aux"}[last], result[-1])
        elif word == "DES" and last == "de":
            continue
        else:
            result.append(word)
    return result


def _same_case(word: str, model: str) -> str:
    return word.capitalize() if model[0].isupper() else word
