"""`tag`: texts in, each word with its tag out; and what `eval` shows of a tagger."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import add_row, json_text, say
from seqwright.cli.translating import asked, some_lines
from seqwright.inputs.tagged_text import TaggedText
from seqwright.metrics.tags import OUTSIDE, entities, mark_entities, parted
from seqwright.pictures import save
from seqwright.pictures.confusion import confusion_table
from seqwright.tasks import Evaluation
from seqwright.tasks.tagger import Tagger, Tagging
from seqwright.tasks.tagging import confusion_of

COLOURS = ("cyan", "yellow", "green", "magenta", "bright_blue", "red", "bright_cyan", "bright_yellow", "bright_green")
NAMES = {"accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1", "macro_f1": "macro F1"}


def tag_texts(folder: Path, texts: list[str], file: Path | None, *, spaces: bool, as_json: bool, which: str) -> None:
    """Print each text with the tags of its words, a line each."""
    texts, file = asked("tag", texts, file)
    run = opened_for("tag", folder, which)
    inputs: TaggedText = replace(run.inputs, split="spaces") if spaces else run.inputs
    tagger, console = Tagger(run.model, inputs), Console(highlight=False, soft_wrap=True)
    unknown: dict[str, None] = {}
    # A text stays as it is, though it has several lines; of a file or of standard input each line is one.
    for some in [texts] if texts else some_lines([], file):
        sentences = [inputs.words(text) for text in some]
        unknown |= dict.fromkeys(_unknown(inputs, sentences))
        for text, found in zip(some, tagger(sentences), strict=True):
            if as_json:
                print(_json(text, found, inputs), flush=True)
            else:
                console.print(coloured(found, inputs))
    if unknown:
        most = " ".join(list(unknown)[:8]) + (" …" if len(unknown) > 8 else "")
        say(f"the vocabulary lacks {most}: the model knows such words only by what stands around them")


def coloured(found: Tagging, inputs: TaggedText) -> Text:
    """`word/tag word/tag …`, each type in its colour; what is no entity stands alone, without a tag."""
    marked = mark_entities(inputs.tags)
    kinds = list(dict.fromkeys(parted(tag).kind if marked else tag for tag in inputs.tags if tag != OUTSIDE))
    line = Text()
    for word, tag in zip(found.words, found.tags, strict=True):
        line.append(" " if line else "")
        if marked and tag == OUTSIDE:
            line.append(word)
            continue
        colour = COLOURS[kinds.index(parted(tag).kind if marked else tag) % len(COLOURS)]
        line.append(word, style=f"bold {colour}").append(f"/{tag}", style=colour)
    return line


def draw_confusion(result: Evaluation, inputs: TaggedText, stem: Path) -> list[Path]:
    """Which tag was taken for which in an evaluation, as PNG and SVG."""
    said, true = ([answer[key] for answer in result.answers] for key in ("predicted", "tags"))
    return save(confusion_table(confusion_of(said, true, inputs), inputs.tags), stem)


def print_evaluation(result: Evaluation) -> None:
    """The run beside what has to be beaten, and each type of entity or tag."""
    console, scores = Console(), result.scores
    names = {name: title for name, title in NAMES.items() if name in scores}
    table = Table("", *names.values(), box=None, pad_edge=False)
    add_row(table, "this run", *(f"{scores[name]:.2f}" for name in names), style="bold")
    if "baseline_accuracy" in scores:
        add_row(table, "the tag each word mostly has", *(f"{scores[f'baseline_{name}']:.2f}" for name in names))
    console.print(table)
    console.print()
    each = Table("type" if "f1" in scores else "tag", "precision", "recall", "F1", "count", box=None, pad_edge=False)
    for kind, (_, count) in result.groups.items():
        shown = (f"{scores[f'{name}_{kind}']:.2f}" for name in ("precision", "recall", "f1"))
        add_row(each, kind or "without a type", *shown, f"{count:,}")
    console.print(each)


def _unknown(inputs: TaggedText, sentences: list[list[str]]) -> Iterator[str]:
    """The words that have something in them which the vocabulary lacks."""
    for words, encoded in zip(sentences, inputs.encode(sentences), strict=True):
        yield from (word for word, tokens in zip(words, encoded, strict=True) if inputs.tokenizer.unknowns(tokens))


def _json(text: str, found: Tagging, inputs: TaggedText) -> str:
    fields: dict[str, Any] = {"text": text, "words": found.words, "tags": found.tags}
    fields["probabilities"] = [round(probability, 4) for probability in found.probabilities]
    if mark_entities(inputs.tags):
        fields["entities"] = [
            {"type": kind, "text": " ".join(found.words[begin:end]), "begin": begin, "end": end}
            for kind, begin, end in entities(found.tags)
        ]
    return json_text(fields)
