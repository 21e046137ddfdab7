"""Few-shot prompting: examples of a task stand before a question, and nothing is learnt (Brown et al. 2020, section 2).

Of a language model the examples are plain text, made by a template; of a run that learnt to answer (task instruction)
they are turns as in its training.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from torch import nn

from seqwright.data.examples import Pair
from seqwright.decoding.settings import DecodingSettings
from seqwright.decoding.stopping import before_stop
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Given
from seqwright.tasks.wired import Wires

Answering = Callable[[Sequence[Pair]], list[str]]
"""What a model says to questions, each after its `shots`."""


class Template(NamedTuple):
    """How examples become text: `form` with {input} and {output}, and `between` what stands between two of them."""

    form: str = "{input} => {output}"
    between: str = "\n"

    def checked(self) -> "Template":
        """The template, if it can be used."""
        places = [self.form.find(place) for place in ("{input}", "{output}")]
        if min(places) < 0 or places[0] > places[1] or self.form.count("{output}") > 1:
            raise SettingError(f"the template is '{self.form}', expected {{input}} and after it {{output}}, once")
        if not self.between:
            raise SettingError("nothing stands between the examples, so that an answer has no end; give some text")
        return self

    @property
    def stop(self) -> str:
        """What follows an answer."""
        return self.form.split("{output}")[1] + self.between

    def text(self, question: Pair) -> str:
        """The examples and the question, up to where its answer begins; the space before it comes with the answer."""
        head = self.form.split("{output}")[0]
        shots = [head.replace("{input}", shot.source) + shot.target + self.stop for shot in question.shots]
        return "".join(shots) + head.rstrip(" ").replace("{input}", question.source)


def answered_as_text(model: nn.Module, wires: Wires, settings: DecodingSettings, template: Template) -> Answering:
    """A language model continues the text of examples and question; it must stop at `template.stop`."""
    tokenizer = wires.tokenizer

    def answers(questions: Sequence[Pair]) -> list[str]:
        texts = [template.text(question) for question in questions]
        unknown = tokenizer.unknown_characters(texts)
        if unknown:
            raise DataError(
                f"the prompt has {' '.join(map(repr, unknown))}, which the model's vocabulary lacks; choose other "
                "examples, or another --template or --between"
            )
        found = wires.predict(model, texts, settings, method="write")
        written = [tokenizer.decode(each.best.tokens) for each in found]
        return [before_stop(text, (template.stop,)).strip() for text in written]

    return answers


def answered_in_turns(model: nn.Module, wires: Wires, settings: DecodingSettings) -> Answering:
    """A run that learnt to answer is given the examples as turns before the question."""
    return lambda questions: [found.text for found in wires.predictions(model, Given(questions), settings)]


class Accuracy(NamedTuple):
    """How many answers are right to the letter after a number of examples, by kind of question and in all."""

    shots: int
    matched: dict[str, int]
    total: dict[str, int]

    @property
    def share(self) -> float:
        """The share of right answers, from 0 to 1."""
        return sum(self.matched.values()) / sum(self.total.values())

    def shares(self) -> dict[str, float]:
        """The same for each kind of question."""
        return {kind: self.matched[kind] / total for kind, total in self.total.items()}


def accuracy_by_shots(answers: Answering, questions: Sequence[Pair], counts: Iterable[int]) -> Iterator[Accuracy]:
    """The accuracy on the same questions after 0, 1, 2, … of their examples."""
    kinds = sorted({question.kind for question in questions})
    total = {kind: sum(question.kind == kind for question in questions) for kind in kinds}
    for shots in counts:
        matched = dict.fromkeys(kinds, 0)
        found = answers([question.after(shots) for question in questions])
        for question, answer in zip(questions, found, strict=True):
            matched[question.kind] += answer.strip() == question.target.strip()
        yield Accuracy(shots, matched, total)


def drawn_questions(pairs: Sequence[Pair], examples: Sequence[Pair], shots: int, seed: int) -> list[Pair]:
    """Each question with examples of its own, drawn from (seed, its number) among those that are not itself."""
    questions = []
    for number, pair in enumerate(pairs):
        others = [example for example in examples if example.source != pair.source]
        if len(others) < shots:
            raise DataError(
                f"there are {len(others)} examples beside the question '{pair.source}', but {shots} should stand "
                "before it; give more of them, or lower --shots"
            )
        questions.append(pair._replace(shots=tuple(random.Random(f"{seed}/{number}").sample(others, shots))))
    return questions
