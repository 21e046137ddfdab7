"""The token cache of questions: a corpus tokenised once, into the files that `cache` maps.

M questions · N windows, the rows of batches
"""

import json
from array import array
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.batches.questions import QuestionRows
from seqwright.cache import Ragged, RaggedWriter, kept_folder
from seqwright.data.examples import PartName
from seqwright.data.question_files import Question
from seqwright.data.questions import QuestionData
from seqwright.inputs.question_text import PlacedTokens, QuestionText
from seqwright.progress import Progress

FORMAT = 1
BLOCK = 512  # questions between two words of progress
NAMES = ("questions", "contexts", "begins", "ends")
NO_ANSWER, LOST = -1, -2  # in place of the answer's first token: there is none, or it stands nowhere in the context


class KeptQuestions(NamedTuple):
    """What became of the questions of a part."""

    questions: int = 0
    unanswerable: int = 0
    moved: int = 0  # answers that were found elsewhere than said
    lost: int = 0  # questions whose answers stand nowhere in the context
    cut: int = 0  # questions longer than is read

    def sentence(self) -> str:
        """`970 questions, 498 without an answer; 63 answers do not stand where …; of 30 questions no answer …`."""
        told = f"{self.questions:,} questions"
        told += f", {self.unanswerable:,} without an answer" if self.unanswerable else ""
        if self.moved:
            told += f"; {self.moved:,} answers do not stand where the data says and were found elsewhere"
        if self.lost:
            told += f"; of {self.lost:,} questions no answer stands in the context: they are judged, not learnt from"
        return told + (f"; {self.cut:,} questions were cut off" if self.cut else "")


class TokenisedQuestions(NamedTuple):
    """A part as tokens, each context once; where each token of a context stands in it, and which are the answer."""

    questions: Ragged
    contexts: Ragged
    begins: Ragged
    ends: Ragged
    context_M: NDArray[np.int64]
    answer_M2: NDArray[np.int64]
    kept: KeptQuestions

    def rows(self, inputs: QuestionText) -> QuestionRows:
        """The windows that a model reads."""
        return QuestionRows(
            self.questions,
            self.contexts,
            self.context_M,
            self.answer_M2,
            longest=inputs.longest,
            stride=inputs.stride,
        )

    def placed(self, number: int) -> PlacedTokens:
        """The context of a question."""
        context = int(self.context_M[number])
        return PlacedTokens(self.contexts.row(context), self.begins.row(context), self.ends.row(context))

    @property
    def learnable_M(self) -> NDArray[np.bool_]:
        """True where the answer is known, or that there is none."""
        learnable_M: NDArray[np.bool_] = self.answer_M2[:, 0] != LOST
        return learnable_M


def tokenised(data: QuestionData, inputs: QuestionText, part: PartName) -> TokenisedQuestions:
    """A part as tokens, from the cache where it is there."""
    folder = kept_folder(
        f"questions {FORMAT} {data.fingerprint(part)} {inputs.fingerprint()}",
        lambda aside: _write(data, inputs, part, aside),
    )
    kept = KeptQuestions(*json.loads((folder / "kept.json").read_text(encoding="utf-8")))
    context_M, answer_M2 = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("of_context", "answers"))
    questions, contexts, begins, ends = (Ragged.mapped(folder / name) for name in NAMES)
    return TokenisedQuestions(questions, contexts, begins, ends, context_M, answer_M2, kept)


def _write(data: QuestionData, inputs: QuestionText, part: PartName, folder: Path) -> None:
    numbers: dict[str, int] = {}  # of each context
    last: tuple[str, PlacedTokens] | None = None
    contexts, answers, progress = array("q"), array("q"), Progress(f"tokenising the {part} part")
    kept = KeptQuestions()
    with ExitStack() as stack:
        writers = [stack.enter_context(RaggedWriter(folder / name)) for name in NAMES]
        for question in data.questions(part):
            if last is None or last[0] != question.context:
                last = question.context, inputs.encode_context(question.context)
            if question.context not in numbers:
                numbers[question.context] = len(numbers)
                for writer, values in zip(writers[1:], last[1], strict=True):
                    writer.add(values)
            (ids,) = inputs.tokenizer.encode([question.question.strip()])
            writers[0].add(ids[: inputs.question])
            contexts.append(numbers[question.context])
            answer = answer_tokens(question, last[1])
            answers.extend(answer)
            kept = KeptQuestions(
                kept.questions + 1,
                kept.unanswerable + (not question.answers),
                kept.moved + question.moved,
                kept.lost + (answer[0] == LOST),
                kept.cut + (len(ids) > inputs.question),
            )
            if not kept.questions % BLOCK:
                progress(kept.questions)
    np.save(folder / "of_context.npy", np.asarray(contexts, dtype=np.int64))
    np.save(folder / "answers.npy", np.asarray(answers, dtype=np.int64).reshape(-1, 2))
    (folder / "kept.json").write_text(json.dumps(kept), encoding="utf-8")


def answer_tokens(question: Question, placed: PlacedTokens) -> tuple[int, int]:
    """The first and the last token of the first answer that stands in the context."""
    if not question.answers:
        return NO_ANSWER, NO_ANSWER
    for text, begin in question.answers:
        if begin is not None and (found := placed.tokens_of(begin, begin + len(text))) is not None:
            return found
    return LOST, LOST
