"""The exchange algorithm written out: every likelihood counted anew from the text."""

import math
from collections import Counter
from itertools import pairwise

TIE = 1e-4


def log_likelihood(sentences, classes):
    """log p of sentences: Π p(class | class before) p(word | class), by relative frequencies."""
    pairs, contexts, words, members = Counter(), Counter(), Counter(), Counter()
    for sentence in sentences:
        row = ["start", *(classes[word] for word in sentence), "end"]
        pairs.update(pairwise(row))
        contexts.update(row[:-1])
        words.update(sentence)
        members.update(row[1:-1])
    total = sum(n * math.log(n / contexts[left]) for (left, _), n in pairs.items())
    return total + sum(n * math.log(n / members[classes[word]]) for word, n in words.items())


def gain(sentences, classes, moves):
    return log_likelihood(sentences, {**classes, **moves}) - log_likelihood(sentences, classes)


def best_class(sentences, classes, word, num_classes, count):
    """The lowest of the best classes, and its gain; its own class where none is better."""
    gains = [gain(sentences, classes, {word: number}) for number in range(num_classes)]
    if max(gains) <= TIE * count:
        return classes[word], 0.0
    target = next(c for c in range(num_classes) if gains[c] >= max(gains) - TIE * count)
    return target, gains[target]


def exchange(sentences, num_classes, passes, batch_words=1, batch_share=1.0):
    """Classes of words after so many passes, and the likelihood before the first and after each."""
    counts = Counter(word for sentence in sentences for word in sentence)
    order = sorted(counts, key=lambda word: (-counts[word], word))
    classes = {word: min(rank, num_classes - 1) for rank, word in enumerate(order)}
    found = [log_likelihood(sentences, classes)]
    for _ in range(passes):
        left = order
        while left:
            size = 1
            limit = batch_share * sum(counts.values())
            while size < min(batch_words, len(left)) and sum(counts[word] for word in left[: size + 1]) <= limit:
                size += 1
            move_batch(sentences, classes, left[:size], num_classes, counts)
            left = left[size:]
        found.append(log_likelihood(sentences, classes))
    return classes, found


def move_batch(sentences, classes, batch, num_classes, counts):
    while batch:
        chosen = {word: best_class(sentences, classes, word, num_classes, counts[word]) for word in batch}
        movers = [word for word in batch if chosen[word][0] != classes[word]]
        made = list(movers)
        while made:
            together = gain(sentences, classes, {word: chosen[word][0] for word in made})
            if together > 0 and together >= sum(chosen[word][1] for word in made) / 2:
                break
            made = made[: len(made) // 2]
        classes.update({word: chosen[word][0] for word in made})
        if len(made) == len(movers):
            return
        batch = batch[batch.index((made or movers)[max(len(made), 1) - 1]) + 1 :]
