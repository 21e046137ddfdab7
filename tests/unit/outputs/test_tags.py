"""Tags from text to scores: columns in, a small model, the baseline beside it."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.tagged import Tagged
from seqwright.data.tagged import TaggedFiles, TaggedFilesSettings, TaggedSentence
from seqwright.decoding.settings import DecodingSettings
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.words import WordsSettings
from seqwright.kinds import task_of
from seqwright.models.headed import BertHeadSettings, token_model
from seqwright.models.reading import ReadingSettings
from seqwright.objectives.labels import Labels, LabelsSettings
from seqwright.outputs.most_frequent import MostFrequentTag
from seqwright.outputs.tags import Tagging, TagsOutput
from seqwright.recipe import Recipe
from seqwright.setting_classes import Settings
from seqwright.tasks.parts import Part
from seqwright.tasks.wired import baselines_of
from seqwright.training.loop import fit
from seqwright.training.settings import TrainingSettings

NAMES, PLACES, OTHERS = ["Ada", "Bob", "Kay"], ["Rome", "Oslo", "Bern"], ["saw", "the", "in", "old", "and", "."]
Both = tuple[list[str], list[str]]
TASK = task_of("token-classification")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place to work in, with a token cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


def sentences(count: int, seed: int) -> list[Both]:
    """People have two names; "old" before a place makes it a person's name as well."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        words, tags = [draw.choice(OTHERS[:3])], ["O"]
        for _ in range(draw.randrange(1, 4)):
            match draw.randrange(3):
                case 0:
                    words, tags = [*words, draw.choice(NAMES), draw.choice(NAMES)], [*tags, "B-per", "I-per"]
                case 1:
                    words, tags = [*words, draw.choice(PLACES)], [*tags, "B-loc"]
                case 2:
                    words, tags = [*words, "old", draw.choice(PLACES)], [*tags, "O", "B-per"]
            words, tags = [*words, draw.choice(OTHERS)], [*tags, "O"]
            if words[-1] == "old":
                words[-1] = "and"
        found.append((words, tags))
    return found


def write(name: str, rows: list[Both]) -> str:
    lines = ("".join(f"{word}\t{tag}\n" for word, tag in zip(*row, strict=True)) for row in rows)
    Path(name).write_text("\n".join(lines))
    return name


def wired(inputs: dict[str, Any] | None = None, **settings: Any) -> tuple[Recipe, TaggedFiles, Any]:
    """A recipe over made-up sentences, its data, and the inputs learnt from it."""
    files = {"train": write("train.conll", sentences(151, 1)), "valid": write("valid.conll", sentences(53, 2))}
    data_settings = TaggedFilesSettings(**files | settings)
    chosen = WordsSettings.model_validate({"tokenizer": "whitespace", **(inputs or {})})
    training = TrainingSettings(tokens=256, steps=90, schedule="constant", rate=0.02, warmup=0, validate_every=90)
    recipe = Recipe(
        "people",
        "",
        "token-classification",
        data_settings,
        chosen,
        Settings(),
        ReadingSettings(),
        LabelsSettings(),
        training,
        DecodingSettings(),
    )
    data = TaggedFiles(data_settings)
    return recipe, data, TASK.learnt_inputs(recipe, data)


class ByToken(nn.Module):
    """Says of each token a tag that follows from its number alone, and is the surer the larger that is."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes, self.weight = classes, nn.Parameter(torch.tensor(0.1))

    def forward(self, batch: Tagged, carry: Any) -> tuple[Tensor, Any]:
        said_BTC = nn.functional.one_hot(batch.input_BT % self.classes, self.classes)
        return said_BTC * self.weight * batch.input_BT.unsqueeze(-1), carry


def test_a_small_network_learns_it() -> None:
    recipe, data, inputs = wired()
    prepared = TASK.prepared(recipe, data, inputs)
    assert prepared.scores == ("loss", "accuracy", "precision", "recall", "f1")
    assert prepared.lower_is_better == {"loss"}
    torch.manual_seed(1)
    settings = ReadingSettings(kind="gru", width=8, embedding=8, dropout=0.1, word_dropout=0.0)
    used = fit(token_model(settings, **inputs.sizes()), Labels(), prepared.train, settings=recipe.training).eval()
    scores = prepared.evaluate(used)
    assert scores["accuracy"] == scores["f1"] == 100
    assert baselines_of(inputs, data, "valid").scores["baseline_f1"] < 90  # "old" is not in the word
    found = inputs.predict(used, [["saw", "Ada", "Bob", "in", "Rome"], [], ["the", "old", "Oslo"]])
    assert [one.tags for one in found] == [["O", "B-per", "I-per", "O", "B-loc"], [], ["O", "O", "B-per"]]
    assert all(0.25 < probability <= 1 for one in found for probability in one.probabilities)


def test_the_order_of_the_tags_is_that_of_the_types() -> None:
    _, _, inputs = wired()
    assert inputs.output.labels == ("O", "B-loc", "B-per", "I-per")
    assert inputs.output.counts["O"] == sum(tags.count("O") for _, tags in sentences(151, 1))


def test_the_notes_say_what_became_of_the_data_and_the_baseline() -> None:
    recipe, data, inputs = wired({"longest": 7})
    train, valid, baseline = TASK.prepared(recipe, data, inputs).notes
    rows = sentences(151, 1)
    longer = sum(len(words) > 7 for words, _ in rows)
    assert longer > 10
    people, places = (sum(tags.count(tag) for _, tags in rows) for tag in ("B-per", "B-loc"))
    assert train == (
        f"train: 151 sentences, {sum(len(words) for words, _ in rows):,} words (per {people}, loc {places}); "
        f"{longer:,} with over 7 tokens are read in stretches"
    )
    assert valid.startswith("valid: 53 sentences")
    assert baseline.startswith("valid: baseline: the most frequent tag of each word is right for ")
    assert baseline.endswith("; 0.0 % of the words are new")


@pytest.mark.parametrize("longest", [512, 3])
@pytest.mark.parametrize("kind", ["whitespace", "characters", "bpe"])
def test_validation_evaluation_and_use_agree(kind: str, longest: int) -> None:
    recipe, data, inputs = wired({"tokenizer": kind, "longest": longest, "vocabulary": 50})
    task, model = TASK, ByToken(len(wired()[2].output.labels))
    validated = task.prepared(recipe, data, inputs).evaluate(model)
    evaluated = task.evaluated(recipe, data, inputs, model, "valid", None)
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated)
    examples = Given(inputs.input.parse(answer["words"]) for answer in evaluated.answers)
    used = inputs.predictions(model, examples, tokens=40)
    assert [one.tags for one in used] == [answer["predicted"] for answer in evaluated.answers]


def test_an_evaluation_has_every_answer_in_the_order_of_the_file() -> None:
    recipe, data, inputs = wired()
    model = ByToken(len(inputs.output.labels))
    result = TASK.evaluated(recipe, data, inputs, model, "valid", None)
    rows = sentences(53, 2)
    assert [(list(answer["words"]), list(answer["tags"])) for answer in result.answers] == rows
    numbers = [[int(ids[0]) for ids in words] for words in inputs.input.tokens([words for words, _ in rows])]
    said = [[inputs.output.labels[number % 4] for number in words] for words in numbers]
    assert [answer["predicted"] for answer in result.answers] == said
    pairs = [(a, b) for one, (_, tags) in zip(said, rows, strict=True) for a, b in zip(one, tags, strict=True)]
    assert result.scores["accuracy"] == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs))
    flat = [number for words in numbers for number in words]
    logits = torch.tensor([[0.1 * number * (number % 4 == tag) for tag in range(4)] for number in flat])
    right = torch.tensor([inputs.output.labels.index(tag) for _, tags in rows for tag in tags])
    assert result.scores["loss"] == pytest.approx(float(nn.functional.cross_entropy(logits, right)), rel=1e-5)
    assert result.groups["per"][1] == sum(tags.count("B-per") for _, tags in rows)
    assert result.scores["recall_per"] == pytest.approx(100 * result.groups["per"][0] / result.groups["per"][1])


def test_tags_that_mark_no_entities_have_a_mean_f1() -> None:
    rows = [([word, word], ["X", "Y" if word == "Ada" else "Z"]) for word in NAMES * 9]
    recipe, data, inputs = wired(train=write("a.conll", rows), valid=write("b.conll", rows[:4]))
    assert TASK.prepared(recipe, data, inputs).scores == ("loss", "accuracy", "macro_f1")
    result = TASK.evaluated(recipe, data, inputs, ByToken(3), "valid", None)
    each = [result.scores[f"f1_{tag}"] for tag in ("X", "Y", "Z")]
    assert result.scores["macro_f1"] == pytest.approx(np.mean(each))
    assert result.groups.keys() == {"X", "Y", "Z"}
    assert sum(count for _, count in result.groups.values()) == 8


def test_a_tag_that_nothing_has_or_gets_has_no_f1_and_the_others_are_named() -> None:
    output, words = TagsOutput({"X": 3, "Y": 3, "Z": 1}), ("Ada", "saw", "Bob")
    examples = Given([TaggedSentence(words, ("X", "Y", "Y"))])
    predicted = [Tagging(words, ["X", "Y", "X"], [1.0] * 3, ({"X": 1.0, "Y": 1.0, "Z": 1.0},) * 3)]
    report = output.report(predicted, examples)
    assert output.scores(predicted, examples)["macro_f1"] == pytest.approx(200 / 3)
    assert {name for name in report.scores if name.startswith("f1_")} == {"f1_X", "f1_Y"}
    told = "mean over 2 of 3 tags: 'X', 'Y'; left out, for nothing has them or was taken for them: 'Z'"
    assert report.signatures == {"macro_f1": told}
    taken = output.report([Tagging(words, ["X", "Y", "Z"], [1.0] * 3)], examples)
    assert taken.scores["f1_Z"] == 0
    assert taken.signatures == {"macro_f1": "mean over the tags"}


def test_a_part_with_a_tag_that_training_lacks_is_refused() -> None:
    recipe, data, inputs = wired(test=write("test.conll", [(["the", "Ada"], ["O", "B-org"])]))
    for ask in (
        lambda: TASK.evaluated(recipe, data, inputs, ByToken(4), "test", None),
        lambda: TASK.checked(recipe, data, inputs),
    ):
        with pytest.raises(DataError, match=r"the test part has the tag 'B-org', first in .* at test\.conll:1, but"):
            ask()


def test_a_part_that_is_not_there_is_refused() -> None:
    recipe, data, inputs = wired()
    with pytest.raises(DataError, match="the data has no test part; it has train, valid"):
        TASK.evaluated(recipe, data, inputs, ByToken(4), "test", None)


def test_the_cache_gives_back_what_was_tokenised() -> None:
    _, data, inputs = wired({"longest": 5})
    rows, part = sentences(53, 2), Part(data, "valid")
    given = Given([TaggedSentence(tuple(words), tuple(tags)) for words, tags in rows])
    first, again, typed = (inputs.input.encode(examples) for examples in (part, part, given))
    every = np.arange(len(again.example_N))
    for other in (first, typed):
        assert np.array_equal(other.example_N, again.example_N)
        for one, two in zip(other.take(every, None), again.take(every, None), strict=True):
            assert all(np.array_equal(*values) for values in zip(one, two, strict=True))
    assert again.cut == sum(len(words) > 5 for words, _ in rows)
    assert int(again.lengths(None).max()) <= 5
    targets = inputs.output.encode(part, again)
    tags = [tag for some in targets.rows.take(every, None) for tag in some.tolist()]
    assert [inputs.output.labels[tag] for tag in tags] == [tag for _, tags in rows for tag in tags]
    assert len(targets.learnable) == len(every)


def test_a_sentence_without_tags_is_predicted_and_not_learnt_from() -> None:
    _, _, inputs = wired()
    tagged = TaggedSentence(("the", "Ada"), ("O", "B-per"))
    examples = Given([tagged, TaggedSentence(("the",), ()), TaggedSentence((), ())])
    rows = inputs.input.encode(examples)
    assert rows.example_N.tolist() == [0, 1]
    assert inputs.output.encode(examples, rows).learnable.tolist() == [0]
    known, unknown, empty = inputs.predictions(ByToken(4), examples)
    loss = known.losses[0]["O"] + known.losses[1]["B-per"]
    assert loss > 0
    assert empty == Tagging((), [], [])
    assert inputs.output.scores([known, unknown, empty], examples)["loss"] == loss / 2


def test_checking_counts_what_is_worth_a_second_look() -> None:
    train = [*sentences(40, 1), (["odd", "one"], ["I-per", "B-odd"]), (["odd", "one"], ["I-per", "O"])]
    train += [(["word"] * 300, ["O"] * 300)]
    valid = [(["odd", "one"], ["O", "O"]), (["Ωmega", "Ada"], ["O", "B-per"])]
    recipe, data, inputs = wired(train=write("a.conll", train), valid=write("b.conll", valid))
    checked, batches = TASK.checked(recipe, data, inputs)
    assert batches.in_epoch(0) > 0
    words = sum(len(sentence) for sentence, _ in train)
    assert checked.rows[0][:3] == ("train", "43", "0")
    assert checked.rows[0][6] == "300"
    assert checked.rows[1] == ("valid", "2", "0", "0", "1", "2.0", "2")
    told = " | ".join(checked.remarks)
    assert "tags that only one word of the training part has: 'B-odd'" in told
    assert "entities of the train part that begin with I instead of B: 2" in told
    assert "examples of the valid part that are in training too: 50.0 %" in told
    assert "tokens of the valid part that the vocabulary lacks: 25 %" in told
    assert "a sentence of the train part has 300 words" in told
    assert "the valid part has only 2 examples" in told
    assert checked.facts["classes"] == "5"
    assert checked.facts["train part"].startswith(f"43 sentences, {words:,} words (")
    assert checked.facts["valid part"] == "2 sentences, 4 words (per 1)"
    assert checked.facts["baseline"].startswith("the most frequent tag of each word")
    assert checked.facts["baseline"].endswith("25.0 % of the words are new")


# The baseline


def test_a_word_is_taken_for_what_it_mostly_is() -> None:
    first = TaggedSentence(("a", "b", "a", "c"), ("X", "Y", "Z", "Z"))
    found = MostFrequentTag([first, TaggedSentence(("a", "b"), ("X", "Y"))])
    assert found(["a", "b", "c"]) == ["X", "Y", "Z"]
    assert found(["new"]) == ["Z"]  # "c" is the only word that occurs once
    assert MostFrequentTag([TaggedSentence(("a", "a"), ("X", "Y"))])(["a", "new"]) == [
        "X",
        "X",
    ]  # between equals, the alphabet


def test_its_scores_are_those_of_what_it_says() -> None:
    recipe, data, inputs = wired()
    mostly = MostFrequentTag(data.examples("train"))
    pairs = [(a, b) for words, tags in sentences(53, 2) for a, b in zip(mostly(words), tags, strict=True)]
    scores = TASK.evaluated(recipe, data, inputs, ByToken(4), "valid", None).scores
    assert scores["baseline_accuracy"] == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs))
    assert scores["baseline_f1"] == baselines_of(inputs, data, "valid").scores["baseline_f1"]


def test_on_files_that_are_not_the_runs_nothing_learns_from_what_it_is_asked() -> None:
    name = write("other.conll", sentences(31, 5))
    recipe, data, inputs = wired(train=name, valid=name, test=name)
    result = TASK.evaluated(recipe, data, inputs, ByToken(len(inputs.output.labels)), "test", None)
    assert not any(score.startswith("baseline") for score in result.scores)
    assert any("there is no baseline" in note for note in result.notes)


def test_no_more_is_read_at_once_than_the_model_can() -> None:
    recipe, data, _ = wired()
    short = recipe._replace(model=BertHeadSettings.model_validate({"width": 8, "heads": 2, "layers": 1, "context": 9}))
    assert TASK.learnt_inputs(short, data).input.longest == 9 - 2
    told = recipe._replace(model=short.model, input=WordsSettings(tokenizer="whitespace", longest=8))
    with pytest.raises(SettingError, match=r"input.longest is 8, but the model reads 9 tokens, 2 marks among them"):
        TASK.learnt_inputs(told, data)


# What the tags are


def learnt(*sentences: TaggedSentence) -> TagsOutput:
    return TagsOutput.learn(Given(sentences), None, None)  # type: ignore[arg-type]


def test_one_tag_only_is_refused() -> None:
    with pytest.raises(DataError, match="every word of the training part has the tag 'X'"):
        learnt(TaggedSentence(("a", "b"), ("X", "X")))


def test_another_column_in_place_of_the_tags_is_refused() -> None:
    words = tuple(map(str, range(40)))
    with pytest.raises(DataError, match=r"40 words .* have 40 different tags, such as '0', '1': that looks like"):
        learnt(TaggedSentence(words, words))


def test_tags_that_mark_no_entities_are_counted_by_the_alphabet() -> None:
    output = learnt(TaggedSentence(("a", "b", "c"), ("Z", "X", "Z")))
    assert list(output.counts.items()) == [("X", 1), ("Z", 2)]
    assert output.remarks()[0].startswith("tags that only one word of the training part has: 'X'; ")
    assert TagsOutput({"a": 2}).remarks() == []


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    before = TagsOutput({"O": 4, "B-per": 0})
    before.save(tmp_path)
    assert TagsOutput.load(tmp_path, None) == before
    assert before.sizes() == {"classes": 2}
    assert before.trained_here
    assert not TagsOutput({"O": 0}).trained_here
    (tmp_path / "tags.json").write_text('["O"]')
    with pytest.raises(RunError, match=r"tags.json cannot be read as tags"):
        TagsOutput.load(tmp_path, None)
    (tmp_path / "tags.json").unlink()
    with pytest.raises(RunError, match=r"tags.json is missing"):
        TagsOutput.load(tmp_path, None)


def test_a_line_has_a_colour_for_each_type() -> None:
    output = TagsOutput(dict.fromkeys(("O", "B-loc", "I-loc", "B-per"), 1))
    found = Tagging(("Ada", "saw", "New", "York"), ["B-per", "O", "B-loc", "I-loc"], [1.0] * 4)
    assert output.line(found) == "Ada/B-per saw New/B-loc York/I-loc"
    assert output.pieces(found)[::2] == [("Ada/B-per", 1), ("saw", None), ("New/B-loc", 0), ("York/I-loc", 0)]
    plain = TagsOutput(dict.fromkeys(("ADJ", "NOUN"), 1))
    assert plain.line(Tagging(("old", "car"), ["ADJ", "NOUN"], [1.0] * 2)) == "old/ADJ car/NOUN"
