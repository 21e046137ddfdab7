"""Inputs and outputs of runs over texts, without data to learn them from."""

from collections.abc import Iterable, Mapping
from typing import Any

from seqwright.inputs import Room
from seqwright.inputs.running_text import RunningTextInput, RunningTextSettings
from seqwright.inputs.sentences import Form, SentencesInput
from seqwright.inputs.text import TextInput, TextSettings
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.outputs.label import LabelOutput
from seqwright.outputs.masked import MaskedOutput
from seqwright.outputs.next_token import NextTokenOutput
from seqwright.tasks.wired import Wires


def text_input(texts: Iterable[str] | Tokenizer, **settings: Any) -> TextInput:
    """Words of these texts as tokens, or a tokenizer's own; `begins` and `pairs` as they are asked for."""
    begins, pairs = (settings.pop(name, False) for name in ("begins", "pairs"))
    chosen = TextSettings.model_validate({"tokenizer": "words", **settings})
    tokenizer = texts if isinstance(texts, Tokenizer) else Tokenizer.train(texts, chosen)
    return TextInput(tokenizer, chosen.longest, chosen.truncation, begins, pairs)


def classifier_wires(texts: Iterable[str] | Tokenizer, counts: Mapping[str, int], **settings: Any) -> Wires:
    """The same, and labels with the numbers of their examples."""
    return Wires(text_input(texts, **settings), LabelOutput(counts))


def masked_wires(tokenizer: Tokenizer, context: int, form: Form = "sentence-pairs") -> Wires:
    """A tokenizer with a mask, in rows as long as the model reads, and 15 % of the tokens masked."""
    output = MaskedOutput(tokenizer, "tokens", 0.15, asks_next=form == "sentence-pairs")
    return Wires(SentencesInput(tokenizer, context, context, form), output)


def running_wires(texts: Iterable[str] | Tokenizer, context: int | None = None, **settings: Any) -> Wires:
    """Characters of running text, or a tokenizer's own; a context is that of a model that carries no state."""
    chosen = RunningTextSettings.model_validate({"tokenizer": "characters", **settings})
    like, train = (texts, ()) if isinstance(texts, Tokenizer) else (None, texts)
    room = Room(context=context, windows=context is not None, packs=context is not None)
    return Wires.learn(RunningTextInput, NextTokenOutput, train, chosen, room=room, like=like)
