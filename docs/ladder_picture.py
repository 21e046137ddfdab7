"""The first picture of the README: the ladder of translators, drawn from what `seqwright compare ladder` wrote down."""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

REPOSITORY = Path(__file__).resolve().parents[1]
STEPS = {  # the rows of the comparison by the year of their papers, with what was new
    "LSTM, thought vector": ("LSTM", "2014 · one vector for the whole sentence"),
    "context GRU": ("context GRU", "2014 · that vector at every step"),
    "Bahdanau": ("Bahdanau", "2015 · attention"),
    "ByteNet": ("ByteNet", "2016 · characters"),
    "Deep-Att": ("Deep-Att", "2016 · fast-forward connections"),
    "GNMT": ("GNMT", "2016 · deep, with residual connections"),
    "ConvS2S": ("ConvS2S", "2017 · convolutions"),
    "Transformer": ("Transformer", "2017 · attention alone"),
    "mixture of experts": ("mixture of experts", "2021 · a few experts for each token"),
    "ensemble": ("ensemble", "Bahdanau, ConvS2S, Transformer"),
}


def draw(target: Path) -> None:
    """A bar for each step: BLEU, and half of the bootstrap interval on both sides."""
    rows = {row["name"]: row for row in json.loads((REPOSITORY / "results/ladder.json").read_text())["rows"]}
    figure, axes = pyplot.subplots(figsize=(9, 5.2), dpi=160)
    for place, (name, (short, news)) in enumerate(STEPS.items()):
        bleu = rows[name]["scores"]["bleu"]
        colour = "#d9480f" if name == "Transformer" else "#64748b" if name == "ensemble" else "#2b6cb0"
        axes.barh(place, bleu["mean"], color=colour, height=0.72)
        axes.errorbar(bleu["mean"], place, xerr=bleu["interval"], color="#1a202c", linewidth=1.4, capsize=3)
        axes.text(0.5, place, f"{short}   {news}", va="center", color="white", fontsize=9.5)
        axes.text(
            bleu["mean"] + bleu["interval"] + 0.5, place, f"{bleu['mean']:.1f}", va="center", fontsize=10, weight="bold"
        )
    axes.set_title("German captions into English, ten epochs each on one CPU core", loc="left", fontsize=12, pad=10)
    axes.set_xlabel("BLEU on Multi30k test_2016, greedy, with 95 % bootstrap intervals; 0.6 to 6.8 M parameters")
    axes.set_yticks([])
    axes.invert_yaxis()
    axes.set_xlim(0, 46)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(target, metadata={"Software": None})
    pyplot.close(figure)


if __name__ == "__main__":
    draw(REPOSITORY / "docs/images/ladder.png")
