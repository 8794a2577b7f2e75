"""The generated corpus: counts, determinism, no leakage, ambiguous words, and how it reads."""

import hashlib
import re
from collections import Counter

import pytest

from jaxsmt.demo import AMBIGUOUS_WORDS, DOMAINS, SPLITS, english, french, generate_demo, write_demo
from jaxsmt.demo.dice import Dice, urn
from jaxsmt.demo.lexicon import MODULES
from jaxsmt.demo.words import Adjective, Noun

SHA256 = "93c28ad7507ef18852121edb458483246dafb4447ab6897ee5b81fd34964970e"
MIN_OCCURRENCES = 8


@pytest.fixture(scope="module")
def corpus():
    return generate_demo()


@pytest.fixture(scope="module")
def all_pairs(corpus):
    return [pair for splits in corpus.values() for pairs in splits.values() for pair in pairs]


def words_of(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text.lower())


def train_vocabulary(corpus, domain: str) -> set[str]:
    return {word for source, _ in corpus[domain]["train"] for word in words_of(source)}


def test_dice_are_splitmix64():
    # the first outputs of SplitMix64 for seed 1234567, from its published reference
    dice = Dice(1234567)
    assert [dice.below(1 << 64) for _ in range(2)] == [6457827717110365317, 3203168211198807973]


def test_urn_draws_in_proportion():
    counts = Counter(urn([("a", 1), ("b", 0), ("c", 3)]).draw(dice) for dice in [Dice(5)] for _ in range(4000))
    assert counts["b"] == 0
    assert 0.70 < counts["c"] / 4000 < 0.80


def test_same_bytes_everywhere(corpus):
    digest = hashlib.sha256()
    for domain in DOMAINS:
        for split in SPLITS:
            for source, target in corpus[domain][split]:
                digest.update(f"{domain}\t{split}\t{source}\t{target}\n".encode())
    assert digest.hexdigest() == SHA256


def test_counts(corpus):
    assert tuple(corpus) == DOMAINS
    assert len(DOMAINS) == 3
    for splits in corpus.values():
        assert {split: len(pairs) for split, pairs in splits.items()} == {"train": 3000, "dev": 200, "test": 200}


def test_no_source_twice_in_a_domain(corpus):
    for splits in corpus.values():
        sources = [source for pairs in splits.values() for source, _ in pairs]
        assert len(set(sources)) == len(sources)


def test_callers_cannot_spoil_the_next_call(corpus):
    changed = generate_demo()
    changed["software"]["test"].clear()
    assert len(generate_demo()["software"]["test"]) == 200


def test_vocabulary_sizes(corpus):
    vocabularies = {domain: train_vocabulary(corpus, domain) for domain in DOMAINS}
    for domain in DOMAINS:
        others = set().union(*(vocabularies[other] for other in DOMAINS if other != domain))
        assert len(vocabularies[domain]) > 1000
        assert len(vocabularies[domain] - others) > 400
    assert len(set.intersection(*vocabularies.values())) > 300


def french_forms(word) -> set[str]:
    if isinstance(word, Noun):
        return {word.french, word.french_plural}
    if isinstance(word, Adjective):
        return {word.form(gender, is_plural) for gender in "mf" for is_plural in (False, True)}
    tenses = ("present", "imperfect", "future", "conditional")
    forms = {french.conjugate(word.french, tense, person) for tense in tenses for person in french.PERSONS}
    done = french.participle(word.french)
    agreeing = {french.agree(done, gender, is_plural) for gender in "mf" for is_plural in (False, True)}
    return {word.french, *forms, *agreeing}


def english_forms(word) -> set[str]:
    if isinstance(word, Noun):
        return {word.english, word.english_plural}
    if isinstance(word, Adjective):
        return {word.english, english.comparison(word.english)[0]}
    base = word.base
    return {base, english.third_person(base), english.past(base), english.past_participle(base), english.gerund(base)}


def ambiguous_entries():
    for domain, module in MODULES.items():
        for word in (*module.NOUNS, *module.ADJECTIVES, *module.TRANSITIVE, *module.INTRANSITIVE):
            meaning = AMBIGUOUS_WORDS.get(word.french, {}).get(domain)
            if meaning == word.english.replace("~", ""):
                yield domain, word


def test_ambiguous_words_are_many():
    assert len(AMBIGUOUS_WORDS) >= 25
    assert AMBIGUOUS_WORDS["carte"] == {"software": "card", "kitchen": "menu", "travel": "map"}
    for by_domain in AMBIGUOUS_WORDS.values():
        assert set(by_domain) <= set(DOMAINS)
        assert len(set(by_domain.values())) >= 2


def test_ambiguous_words_are_frequent_and_translated_right(corpus):
    entries = list(ambiguous_entries())
    assert {(word.french, domain) for domain, word in entries} == {
        (word, domain) for word, by_domain in AMBIGUOUS_WORDS.items() for domain in by_domain
    }
    for domain, word in entries:
        sources, targets = french_forms(word), english_forms(word)
        hits = [pair for pair in corpus[domain]["train"] if sources & set(words_of(pair[0]))]
        right = [pair for pair in hits if any(re.search(rf"\b{re.escape(form)}\b", pair[1], re.I) for form in targets)]
        assert len(right) >= MIN_OCCURRENCES, (domain, word.french, len(right))


def noun_sense_accuracy(corpus, domain: str, weights: dict[str, int]) -> float:
    """The share of ambiguous nouns in the domain's test whose most frequent sense in training is right."""
    nouns = {(d, word.french): word for d, word in ambiguous_entries() if isinstance(word, Noun)}
    counts = {d: Counter(word for pair in corpus[d]["train"] for word in set(words_of(pair[0]))) for d in DOMAINS}
    right = total = 0
    for (d, lemma), word in nouns.items():
        if d == domain:
            uses = sum(bool(french_forms(word) & set(words_of(source))) for source, _ in corpus[domain]["test"])
            senses: Counter[str] = Counter()
            for other in DOMAINS:
                if (other, lemma) in nouns:
                    seen = sum(counts[other][form] for form in french_forms(nouns[other, lemma]))
                    senses[AMBIGUOUS_WORDS[lemma][other]] += weights[other] * seen
            total += uses
            right += uses * (max(senses, key=lambda sense: senses[sense]) == AMBIGUOUS_WORDS[lemma][domain])
    return right / total


@pytest.mark.parametrize("domain", DOMAINS)
def test_weighting_the_domain_picks_better_senses(corpus, domain):
    pooled = noun_sense_accuracy(corpus, domain, dict.fromkeys(DOMAINS, 1))
    adapted = noun_sense_accuracy(corpus, domain, {other: 10 if other == domain else 1 for other in DOMAINS})
    assert pooled < 0.85
    assert adapted > 0.97


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_held_out_text_has_words_of_other_domains(corpus, domain, split):
    own = train_vocabulary(corpus, domain)
    others = set().union(*(train_vocabulary(corpus, other) for other in DOMAINS if other != domain))
    foreign = [(set(words_of(source)) - own) & others for source, _ in corpus[domain][split]]
    assert sum(map(bool, foreign)) >= 30  # of 200 sentences
    assert len(set().union(*foreign)) >= 30


# ------------------------------------------------------------------------------------- how it reads


def test_lengths(all_pairs):
    for pair in all_pairs:
        assert all(4 <= len(side.split()) <= 25 for side in pair), pair


def test_typography(all_pairs):
    for source, target in all_pairs:
        for side in (source, target):
            assert side == side.strip()
            assert "  " not in side
            assert side[0].isupper()
            assert side[-1] in ".?!"
            assert not re.search(r"[{}#~_’/]", side), side
            assert not [word for word in re.findall(r"\b[A-ZÀ-Ý]{2,}\b", side) if word != "USB"], side
        assert source[-1] == target[-1], source
        assert not re.search(r"[^ ][?!:;]|  [?!:;]| [.,]", source), source
        assert not re.search(r" [?!:;.,]", target), target


def test_french_elision_and_contraction(all_pairs):
    for source, _ in all_pairs:
        lower = source.lower()
        assert not re.search(r"(?<![-\w])(le|la|je|ne|de|que|me|te|se) [aeiouyéèêàâîôûœ](?!aourt)", lower), source
        assert not re.search(r"\bà les? |\bde les? (?!\w+(er|ir|re)\b|leur |lui )", lower), source
        assert not re.search(r"\bsi ils? |\b(ce|ma|sa) [aeiouéèêîôœ]", lower), source
        assert not re.search(r"\b(\w+) \1\b", lower), source
        assert not re.search(r"[ln]'[^aeiouyhéèêàâîôûœ]", lower), source


def test_english_articles(all_pairs):
    for _, target in all_pairs:
        lower = target.lower()
        assert not re.search(r"\ba (?!use|usu|uni|usb|ute|one)[aeiou]", lower), target
        assert not re.search(r"\ban (?!hour)[^aeiou]", lower), target
        assert not re.search(r"\b(\w+) \1\b", lower), target
        assert not re.search(r"\bdid not \w+ed\b|\b(will|must|can|not to) (?!bring)\w+ing\b", lower), target


def test_questions_and_negation_translate(corpus):
    text = [pair for domain in DOMAINS for pair in corpus[domain]["train"]]
    negative = [pair for pair in text if re.search(r"\b(ne|n')\b.*\bpas\b", pair[0])]
    assert len(negative) > 500
    assert all(re.search(r"\b(not|cannot|no)\b", target) for _, target in negative)


# ------------------------------------------------------------------------------------------- files


def test_write_demo(tmp_path, corpus):
    paths = write_demo(tmp_path)
    source, target = paths["kitchen"]["dev"]
    assert (source, target) == (tmp_path / "kitchen" / "dev.fr", tmp_path / "kitchen" / "dev.en")
    lines = [path.read_text(encoding="utf-8").splitlines() for path in (source, target)]
    assert list(zip(*lines, strict=True)) == corpus["kitchen"]["dev"]
    assert len(list(tmp_path.rglob("*.*"))) == 18


def test_write_demo_leaves_equal_files_alone_and_mends_others(tmp_path):
    paths = write_demo(tmp_path)
    kept, spoilt = paths["travel"]["test"]
    before = kept.stat().st_ino, kept.stat().st_mtime_ns
    spoilt.write_text("other\n", encoding="utf-8")
    write_demo(tmp_path)
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == before
    assert len(spoilt.read_text(encoding="utf-8").splitlines()) == 200


@pytest.mark.parametrize("domain", DOMAINS)
def test_pronouns_before_the_verb_are_frequent(corpus, domain):
    text = [(source.lower(), target.lower()) for source, target in corpus[domain]["train"]]
    pairs_of_pronouns = r"(?<![-\w])(?:(?:me|te|nous|vous) l(?:e |a |es |')|l(?:e|a|es) (?:lui|leur)\b)"
    both = [pair for pair in text if re.search(pairs_of_pronouns, pair[0])]
    assert len(both) >= 150
    assert sum(bool(re.search(r"\b(it|them|him|her)\b", target)) for _, target in both) > 0.97 * len(both)
    patterns = [
        "me l",
        "te l",
        "nous l",
        "vous l",
        "l(?:e|a|es) lui",
        "l(?:e|a|es) leur",
        "-vous",
        r"\bne [^.]*\bpas\b",
    ]
    for pattern in patterns:
        assert sum(bool(re.search(pattern, source)) for source, _ in both) >= 3, pattern
