"""French and English forms against hand-written tables."""

import pytest

from jaxsmt.demo import english, french
from jaxsmt.demo.clauses import Clause, english_clause, english_imperative, french_clause, french_imperative, passive
from jaxsmt.demo.noun_phrases import NounPhrase, noun_phrase, pronoun
from jaxsmt.demo.words import Verb, adjectives, noun, verbs


@pytest.mark.parametrize(
    ("singular", "plural"),
    [("fichier", "fichiers"), ("tableau", "tableaux"), ("canal", "canaux"), ("prix", "prix"), ("jeu", "jeux")],
)
def test_french_plural(singular, plural):
    assert french.plural(singular) == plural


@pytest.mark.parametrize(
    ("masculine", "feminine"),
    [
        ("petit", "petite"),
        ("délicieux", "délicieuse"),
        ("premier", "première"),
        ("actif", "active"),
        ("bon", "bonne"),
        ("blanc", "blanche"),
        ("public", "publique"),
        ("complet", "complète"),
        ("virtuel", "virtuelle"),
        ("rouge", "rouge"),
    ],
)
def test_french_feminine(masculine, feminine):
    assert french.feminine(masculine) == feminine


@pytest.mark.parametrize(
    ("infinitive", "tense", "person", "form"),
    [
        ("chercher", "present", "3p", "cherchent"),
        ("manger", "present", "1p", "mangeons"),
        ("manger", "imperfect", "3s", "mangeait"),
        ("manger", "imperfect", "1p", "mangions"),
        ("lancer", "present", "1p", "lançons"),
        ("acheter", "present", "3s", "achète"),
        ("acheter", "future", "1s", "achèterai"),
        ("préférer", "present", "3p", "préfèrent"),
        ("préférer", "future", "3s", "préférera"),
        ("sécher", "present", "1s", "sèche"),
        ("appeler", "present", "3s", "appelle"),
        ("appeler", "present", "2p", "appelez"),
        ("jeter", "future", "3p", "jetteront"),
        ("essuyer", "present", "3s", "essuie"),
        ("nettoyer", "future", "2p", "nettoierez"),
        ("envoyer", "future", "3s", "enverra"),
        ("choisir", "present", "3p", "choisissent"),
        ("choisir", "imperfect", "1s", "choisissais"),
        ("attendre", "present", "3s", "attend"),
        ("attendre", "future", "1p", "attendrons"),
        ("prendre", "present", "3p", "prennent"),
        ("voir", "conditional", "1s", "verrais"),
        ("être", "imperfect", "3p", "étaient"),
        ("réduire", "imperfect", "3s", "réduisait"),
        ("créer", "present", "3s", "crée"),
        ("copier", "imperfect", "1p", "copiions"),
        ("déplacer", "imperfect", "3p", "déplaçaient"),
        ("apparaître", "future", "3s", "apparaîtra"),
        ("vérifier", "future", "3s", "vérifiera"),
        ("épicer", "present", "3s", "épice"),
    ],
)
def test_french_conjugation(infinitive, tense, person, form):
    assert french.conjugate(infinitive, tense, person) == form


@pytest.mark.parametrize(
    ("infinitive", "form"), [("choisir", "choisi"), ("perdre", "perdu"), ("prendre", "pris"), ("ouvrir", "ouvert")]
)
def test_french_participle(infinitive, form):
    assert french.participle(infinitive) == form


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("la taille de LE fichier .", "La taille du fichier."),
        ("la taille de LE écran .", "La taille de l'écran."),
        ("il parle à LES clients .", "Il parle aux clients."),
        ("il vient de le voir .", "Il vient de le voir."),
        ("je ne ai pas LA huile .", "Je n'ai pas l'huile."),
        ("LE haricot et LE huit .", "Le haricot et le huit."),
        ("si il veut , que elle vienne !", "S'il veut, qu'elle vienne !"),
        ("De Anvers à LE port .", "D'Anvers au port."),
        ("où est LA carte ?", "Où est la carte ?"),
        ("nous avons besoin de DES fichiers .", "Nous avons besoin de fichiers."),
    ],
)
def test_french_surface(tokens, text):
    assert french.surface(tokens.split()) == text


@pytest.mark.parametrize(
    ("base", "third", "past", "participle", "gerund"),
    [
        ("choose", "chooses", "chose", "chosen", "choosing"),
        ("stop", "stops", "stopped", "stopped", "stopping"),
        ("carry", "carries", "carried", "carried", "carrying"),
        ("watch", "watches", "watched", "watched", "watching"),
        ("open", "opens", "opened", "opened", "opening"),
        ("cancel", "cancels", "cancelled", "cancelled", "cancelling"),
        ("drag", "drags", "dragged", "dragged", "dragging"),
        ("load", "loads", "loaded", "loaded", "loading"),
        ("mix", "mixes", "mixed", "mixed", "mixing"),
        ("see", "sees", "saw", "seen", "seeing"),
        ("go", "goes", "went", "gone", "going"),
        ("chop", "chops", "chopped", "chopped", "chopping"),
        ("unplug", "unplugs", "unplugged", "unplugged", "unplugging"),
        ("tow", "tows", "towed", "towed", "towing"),
    ],
)
def test_english_verb_forms(base, third, past, participle, gerund):
    made = english.third_person(base), english.past(base), english.past_participle(base), english.gerund(base)
    assert made == (third, past, participle, gerund)


@pytest.mark.parametrize(
    ("adjective", "comparative", "superlative"),
    [
        ("fast", "faster", "fastest"),
        ("large", "larger", "largest"),
        ("big", "bigger", "biggest"),
        ("dirty", "dirtier", "dirtiest"),
        ("useful", "more useful", "most useful"),
        ("good", "better", "best"),
        ("noisy", "noisier", "noisiest"),
        ("simple", "simpler", "simplest"),
        ("spicy", "spicier", "spiciest"),
    ],
)
def test_english_comparison(adjective, comparative, superlative):
    assert english.comparison(adjective) == (comparative, superlative)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("I see a icon .", "I see an icon."),
        ("she is a user for a hour", "She is a user for an hour"),
        ("you can not open a USB stick", "You cannot open a USB stick"),
        ("the cook 's knife and the users 's files", "The cook's knife and the users' files"),
    ],
)
def test_english_surface(tokens, text):
    assert english.surface(tokens.split()) == text


CARD = noun("f carte = card", "thing")
FILE = noun("m fichier = file", "thing")
ISLAND = noun("f île = island", "thing")
HOTEL = noun("m hôtel = hotel", "thing")
FLOUR = noun("f farine = flour mass", "food")
COOK = noun("m cuisinier = cook", "person")
OLD, WHITE, NEW = adjectives({"thing": "<vieux/vieille = old; blanc = white; <nouveau/nouvelle = new"})


@pytest.mark.parametrize(
    ("phrase", "fr", "en"),
    [
        (noun_phrase(CARD, "the", adjective=WHITE), "La carte blanche", "The white card"),
        (noun_phrase(FILE, "a", True, adjective=NEW), "De nouveaux fichiers", "Some new files"),
        (noun_phrase(FILE, "a", True, adjective=WHITE), "Des fichiers blancs", "Some white files"),
        (noun_phrase(HOTEL, "this", adjective=OLD), "Ce vieil hôtel", "This old hotel"),
        (noun_phrase(HOTEL, "this"), "Cet hôtel", "This hotel"),
        (noun_phrase(HOTEL, "the", adjective=OLD), "Le vieil hôtel", "The old hotel"),
        (noun_phrase(ISLAND, "own", owner=pronoun("elle")), "Son île", "Her island"),
        (noun_phrase(CARD, "own", owner=pronoun("ils")), "Leur carte", "Their card"),
        (noun_phrase(CARD, "own", owner=pronoun("on")), "Sa carte", "Our card"),
        (noun_phrase(FLOUR, "a"), "De la farine", "Some flour"),
        (noun_phrase(CARD, "all", True), "Toutes les cartes", "All the cards"),
        (noun_phrase(ISLAND, "a"), "Une île", "An island"),
    ],
)
def test_noun_phrases(phrase: NounPhrase, fr, en):
    assert french.surface(list(phrase.french)) == fr
    assert english.surface(list(phrase.english)) == en


SEE, LOOK, SWITCH = verbs("voir = see : any; chercher = look for : any; couper = switch ~off : any")
GIVE = Verb("donner", "give", frozenset())
LEAVE = verbs("partir = leave : any", is_transitive=False)[0]
THE_CARD, THE_FILES = noun_phrase(CARD, "the"), noun_phrase(FILE, "the", True)
THE_COOK, THE_COOKS = noun_phrase(COOK, "the"), noun_phrase(COOK, "the", True)
ME, SHE, WE, THEY = (pronoun(word) for word in ("je", "elle", "nous", "elles"))


@pytest.mark.parametrize(
    ("clause", "fr", "en"),
    [
        (Clause(ME, SEE, object_clitic=THE_CARD), "Je la vois", "I see it"),
        (Clause(ME, SEE, "past", object_clitic=THE_CARD, negation="pas"), "Je ne l'ai pas vue", "I did not see it"),
        (Clause(WE, SEE, "past", object_clitic=THE_FILES), "Nous les avons vus", "We saw them"),
        (Clause(SHE, GIVE, object=THE_CARD, recipient_clitic=THEY),
         "Elle leur donne la carte", "She gives them the card"),
        (Clause(SHE, GIVE, object_clitic=THE_CARD, recipient_clitic=THE_COOK),
         "Elle la lui donne", "She gives it to him"),
        (Clause(SHE, GIVE, object_clitic=THE_CARD, recipient_clitic=ME), "Elle me la donne", "She gives it to me"),
        (Clause(SHE, GIVE, "can", THE_CARD, recipient=THE_COOK), "Elle peut donner la carte au cuisinier",
         "She can give the card to the cook"),
        (Clause(THE_COOKS, LOOK, "must", object_clitic=THE_CARD, negation="pas"),
         "Les cuisiniers ne doivent pas la chercher", "The cooks must not look for it"),
        (Clause(SHE, SWITCH, "just", object_clitic=THE_CARD),
         "Elle vient de la couper", "She has just switched it off"),
        (Clause(SHE, SWITCH, "future", THE_FILES), "Elle coupera les fichiers", "She will switch off the files"),
        (Clause(THEY, LEAVE, "past"), "Elles sont parties", "They left"),
        (Clause(SHE, SEE, "progressive", THE_CARD), "Elle est en train de voir la carte", "She is seeing the card"),
        (Clause(SHE, SEE, object=THE_CARD, negation="plus"),
         "Elle ne voit plus la carte", "She no longer sees the card"),
        (Clause(ME, SEE, "want", THE_CARD, negation="pas"),
         "Je ne veux pas voir la carte", "I do not want to see the card"),
        (passive(Clause(ME, SEE, "past", THE_FILES), THE_COOK), "Les fichiers ont été vus par le cuisinier",
         "The files were seen by the cook"),
        (passive(Clause(ME, SEE, "must", THE_CARD)), "La carte doit être vue", "The card must be seen"),
    ],
)  # fmt: skip
def test_clauses(clause: Clause, fr, en):
    assert french.surface(french_clause(clause)) == fr
    assert english.surface(english_clause(clause)) == en


def test_questions():
    clause = Clause(pronoun("vous"), SEE, "past", THE_CARD)
    assert french.surface([*french_clause(clause, inverted=True), "?"]) == "Avez-vous vu la carte ?"
    assert english.surface([*english_clause(clause, is_question=True), "?"]) == "Did you see the card?"
    present = Clause(SHE, LOOK, object=THE_CARD)
    assert english.surface(english_clause(present, is_question=True)) == "Does she look for the card"


@pytest.mark.parametrize(
    ("clause", "fr", "en"),
    [
        (Clause(ME, GIVE, object_clitic=THE_CARD, recipient_clitic=THE_COOK), "Donnez-la-lui", "Give it to him"),
        (Clause(ME, GIVE, object=THE_CARD, recipient_clitic=ME), "Donnez-moi la carte", "Give me the card"),
        (Clause(ME, SEE, object_clitic=THE_FILES, negation="pas"), "Ne les voyez pas", "Do not see them"),
        (Clause(ME, SWITCH, object=THE_CARD, negation="pas"), "Ne coupez pas la carte", "Do not switch off the card"),
    ],
)
def test_imperatives(clause: Clause, fr, en):
    assert french.surface(french_imperative(clause)) == fr
    assert english.surface(english_imperative(clause)) == en
