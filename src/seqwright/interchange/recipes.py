"""What a recipe says of a model that came from elsewhere, and what turns a user's texts into its tokens."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from seqwright.data.files import content_hash
from seqwright.inputs.plain_text import PlainText
from seqwright.inputs.question import QuestionInput
from seqwright.inputs.sentences import SentencesInput
from seqwright.inputs.text import TextInput
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.words import WordsInput
from seqwright.interchange.checkpoints import Checkpoint
from seqwright.outputs.label import LabelOutput
from seqwright.outputs.masked import MaskedOutput
from seqwright.outputs.number import NumberOutput
from seqwright.outputs.span import SpanOutput
from seqwright.outputs.tags import TagsOutput
from seqwright.tasks.wired import Wires

AROUND = 2  # tokens that stand before and after a text
UNKNOWN = NumberOutput(0.0, 1.0, 0.0, 0.0)  # what the model says is the value


def recipe_of(checkpoint: Checkpoint, name: str) -> dict[str, Any]:
    """A recipe in plain values."""
    context, marks = int(checkpoint.settings["context"]), AROUND + checkpoint.pairs * checkpoint.tokenizer.between
    lengths: Mapping[str, dict[str, Any]] = {
        "language-modeling": {
            "segment": context,
            "longest": context - 1,
            "rows": "windows" if _is_joined(checkpoint) else "documents",
        },
        "masked-language-modeling": {
            "longest": context,
            "rows": "sentence-pairs" if _asks_what_follows(checkpoint) else "full-sentences",
        },
        "text-classification": {"longest": context - marks},
        "text-regression": {"longest": context - marks},
        "token-classification": {"longest": context - AROUND},
        "question-answering": _windows(context),
    }
    tokenizer = {"tokenizer": checkpoint.tokenizer.kind, "vocabulary": checkpoint.tokenizer.size, "normalise": "none"}
    sums = [content_hash(path) for path in checkpoint.files]
    whole = sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
    return {
        "description": f"a {checkpoint.family.kind} that came from {name}",
        "task": checkpoint.task,
        "data": {"imported": name, "sha256": whole},
        "input": {**tokenizer, **lengths[checkpoint.task]},
        "model": checkpoint.settings,
    }


def _is_joined(checkpoint: Checkpoint) -> bool:
    """Whether a text begins with the end of the one before, as in GPT-2, or with a token of its own."""
    tokenizer = checkpoint.tokenizer
    return checkpoint.first != tokenizer.begin or tokenizer.begin == tokenizer.end


def _asks_what_follows(checkpoint: Checkpoint) -> bool:
    """Whether the model also says if the second text follows the first, as BERT does."""
    return any(name.startswith("cls.seq_relationship.") for name in checkpoint.tensors)


def _windows(context: int) -> dict[str, int]:
    """The usual windows of a context, or smaller ones where the model reads less."""
    longest = min(384, context)
    return {"longest": longest, "longest_question": longest // 6, "stride": longest // 3}


def inputs_of(checkpoint: Checkpoint, settings: Any) -> Any:
    """What a run has to turn texts into tokens; how many training texts had each label is not known."""
    tokenizer, counts, pairs = checkpoint.tokenizer, dict.fromkeys(checkpoint.labels, 0), checkpoint.pairs
    makers: dict[str, Callable[[], Any]] = {
        "language-modeling": lambda: PlainText(tokenizer),
        "masked-language-modeling": lambda: _masked(settings, tokenizer),
        "text-classification": lambda: Wires(_text(settings, tokenizer, pairs), LabelOutput(counts)),
        "text-regression": lambda: Wires(_text(settings, tokenizer, pairs), UNKNOWN),
        "token-classification": lambda: Wires(_words(settings, tokenizer), TagsOutput(counts)),
        "question-answering": lambda: Wires(
            _question(settings, tokenizer), SpanOutput(settings.answer, unanswerable=True)
        ),
    }
    return makers[checkpoint.task]()


def _masked(settings: Any, tokenizer: Tokenizer) -> Wires:
    read = SentencesInput(tokenizer, settings.longest, settings.longest, settings.rows)
    return Wires(read, MaskedOutput(tokenizer, settings.masked, settings.share, settings.rows == "sentence-pairs"))


def _text(settings: Any, tokenizer: Tokenizer, pairs: bool) -> TextInput:
    return TextInput(tokenizer, settings.longest, settings.truncation, begins=True, pairs=pairs, imported=True)


def _words(settings: Any, tokenizer: Tokenizer) -> WordsInput:
    return WordsInput(tokenizer, settings.longest, settings.pre_tokenizer, begins=True)


def _question(settings: Any, tokenizer: Tokenizer) -> QuestionInput:
    return QuestionInput(tokenizer, settings.longest, settings.stride, settings.longest_question)
