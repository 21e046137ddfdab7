"""The scores of entities against conlleval's own way of counting, which goes through both sequences at once.

The published script keeps no list of entities: at each word it asks whether an entity ends or begins in the truth and
in the answer, and counts one right that began in both together and ended in both together. It is written down here from
its description, in its own words and order, and shares nothing with ours.
"""

import random
from collections import Counter

import pytest

from seqwright.metrics.tags import entity_counts, together

PAIRS_THAT_END = {"BB", "BO", "IB", "IO", "EE", "EI", "EO", "EB", "BS", "IS", "ES", "SB", "SI", "SO", "SE", "SS"}
PAIRS_THAT_START = {"OB", "BB", "IB", "EB", "SB", "OI", "EI", "SI", "OE", "EE", "SE", "OS", "BS", "IS", "ES", "SS"}


def end_of_chunk(before: str, now: str, type_before: str, type_now: str) -> bool:
    return before + now in PAIRS_THAT_END or (before != "O" and type_before != type_now)


def start_of_chunk(before: str, now: str, type_before: str, type_now: str) -> bool:
    return before + now in PAIRS_THAT_START or (now != "O" and type_before != type_now)


def conlleval(said: list[list[str]], true: list[list[str]]) -> dict[str, Counter[str]]:
    """Chunks in the truth (`found_correct`), in the answer (`found_guessed`) and in both (`correct`), by type."""
    counts: dict[str, Counter[str]] = {"correct": Counter(), "found_guessed": Counter(), "found_correct": Counter()}
    for guesses, truths in zip(said, true, strict=True):
        in_correct = False
        last = {"guess": ("O", ""), "truth": ("O", "")}
        for guess, truth in zip([*guesses, "O"], [*truths, "O"], strict=True):
            now = {"guess": (guess[0], guess[2:]), "truth": (truth[0], truth[2:])}
            end, start = (
                {name: asks(last[name][0], now[name][0], last[name][1], now[name][1]) for name in now}
                for asks in (end_of_chunk, start_of_chunk)
            )
            if in_correct:
                if end["guess"] and end["truth"] and last["guess"][1] == last["truth"][1]:
                    in_correct = False
                    counts["correct"][last["truth"][1]] += 1
                elif end["guess"] != end["truth"] or now["guess"][1] != now["truth"][1]:
                    in_correct = False
            if start["guess"] and start["truth"] and now["guess"][1] == now["truth"][1]:
                in_correct = True
            counts["found_correct"][now["truth"][1]] += start["truth"]
            counts["found_guessed"][now["guess"][1]] += start["guess"]
            last = now
    return counts


@pytest.mark.parametrize("marks", ["BI", "BIES"])
@pytest.mark.parametrize("seed", range(4))
def test_conlleval_counts_the_same(marks: str, seed: int) -> None:
    draw = random.Random(seed)
    kinds = [f"{mark}-{kind}" for mark in marks for kind in ("per", "loc", "creative-work")]
    true = [[draw.choice(["O", "O", *kinds]) for _ in range(draw.randrange(1, 12))] for _ in range(300)]
    said = [[tag if draw.random() < 0.7 else draw.choice(["O", *kinds]) for tag in tags] for tags in true]
    counts, found = conlleval(said, true), entity_counts(said, true)
    for kind, each in found.items():
        wanted = (counts["correct"][kind], counts["found_guessed"][kind], counts["found_correct"][kind])
        assert (each.right, each.predicted, each.true) == wanted
    overall = together(found.values())
    assert (overall.right, overall.predicted, overall.true) == tuple(sum(each.values()) for each in counts.values())
    assert overall.right > 50
