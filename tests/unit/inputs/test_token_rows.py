"""Rows of tokens through the cache: none is lost where the cache fills up in mid-write."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright import cache
from seqwright.cache import RaggedWriter
from seqwright.data.question_files import Question
from seqwright.data.tagged import TaggedSentence
from seqwright.inputs import Examples, Room
from seqwright.inputs.question import QuestionInput, QuestionSettings
from seqwright.inputs.token_rows import token_rows
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.inputs.words import WordsInput, WordsSettings

TEXTS = ["a", "b c", "d e f", "a b", "c"]


@pytest.fixture(autouse=True)
def _full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that takes two rows; what stands in for it takes all."""
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    cache._temporary_folder.cache_clear()
    add = RaggedWriter.add

    def full(self: RaggedWriter, row: Any) -> None:
        if self.stem.is_relative_to(tmp_path / "cache") and len(self.ends) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        add(self, row)

    monkeypatch.setattr(RaggedWriter, "add", full)


def plain(rows: Any) -> list[list[int]]:
    return [row.tolist() for row in rows.take(np.arange(len(rows.example_N)), None)]


def test_texts_are_all_there_and_in_order_though_the_disk_was_full() -> None:
    tokenizer = Tokenizer.train(TEXTS, TokenizerSettings(tokenizer="whitespace"))
    examples = Examples(lambda: iter(TEXTS), "five texts", "the train part")
    found = token_rows(tokenizer, examples, "text", lambda: map(str, examples))
    assert plain(found) == [ids.tolist() for ids in tokenizer.encode(TEXTS)]


def test_sentences_are_all_there_and_in_order_though_the_disk_was_full() -> None:
    sentences = [TaggedSentence(tuple(text.split()), ("O",) * len(text.split())) for text in TEXTS]
    examples = Examples(lambda: iter(sentences), "five sentences", "the train part")
    words = WordsInput.learn(examples, WordsSettings(tokenizer="whitespace"), room=Room())
    found = words.encode(examples)
    assert found.example_N.tolist() == [0, 1, 2, 3, 4]
    assert [row.tokens.tolist() for row in found.take(np.arange(5), None)] == [
        np.concatenate(tokens).tolist() for tokens in words.tokens([sentence.words for sentence in sentences])
    ]


def test_questions_keep_their_contexts_though_the_disk_was_full() -> None:
    questions = [Question(text, f"{text} {text} {number}", ()) for number, text in enumerate(TEXTS)]
    examples = Examples(lambda: iter(questions), "five questions", "the train part")
    reading = QuestionInput.learn(examples, QuestionSettings(tokenizer="whitespace"), room=Room())
    found = reading.encode(examples)
    assert plain(found.questions) == [[*ids.tolist(), *reading.between] for ids in reading.tokenizer.encode(TEXTS)]
    assert plain(found.contexts[0]) == [reading.placed(question.context).tokens.tolist() for question in questions]
