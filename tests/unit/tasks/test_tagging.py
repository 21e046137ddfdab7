"""Tagging from text to scores: columns in, a small model, what has to be beaten beside it."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.tagged import Tagged
from seqwright.data.tagged import TaggedFiles, TaggedFilesSettings
from seqwright.decoding.settings import DecodingSettings
from seqwright.errors import DataError, SettingError
from seqwright.inputs.tagged_text import TaggedText, TaggedTextSettings
from seqwright.models.headed import BertHeadSettings, token_model
from seqwright.models.reading import ReadingSettings
from seqwright.objectives.labels import Labels, LabelsSettings
from seqwright.recipe import Recipe
from seqwright.tasks.tag_baseline import TagBaseline
from seqwright.tasks.tagged_rows import tokenised
from seqwright.tasks.tagger import Tagger
from seqwright.tasks.tagging import TaggingTask, answers_of, baseline, batches_of, in_sentences
from seqwright.training.loop import fit
from seqwright.training.settings import TrainingSettings

NAMES, PLACES, OTHERS = ["Ada", "Bob", "Kay"], ["Rome", "Oslo", "Bern"], ["saw", "the", "in", "old", "and", "."]
Sentence = tuple[list[str], list[str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place to work in, with a token cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))


def sentences(count: int, seed: int) -> list[Sentence]:
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


def write(name: str, rows: list[Sentence]) -> str:
    lines = ("".join(f"{word}\t{tag}\n" for word, tag in zip(*row, strict=True)) for row in rows)
    Path(name).write_text("\n".join(lines))
    return name


def wired(inputs: dict[str, Any] | None = None, **settings: Any) -> tuple[Recipe, TaggedFiles, TaggedText]:
    """A recipe over made-up sentences, its data, and the inputs learnt from it."""
    files = {"train": write("train.conll", sentences(151, 1)), "valid": write("valid.conll", sentences(53, 2))}
    data_settings = TaggedFilesSettings(**files | settings)
    chosen = TaggedTextSettings.model_validate({"kind": "spaced", **(inputs or {})})
    training = TrainingSettings(tokens=256, steps=60, schedule="constant", rate=0.02, warmup=0, validate_every=60)
    recipe = Recipe(
        "people", "", data_settings, chosen, ReadingSettings(), LabelsSettings(), training, DecodingSettings()
    )
    data = TaggedFiles(data_settings)
    return recipe, data, TaggingTask().learnt_inputs(recipe, data)


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
    prepared = TaggingTask().prepared(recipe, data, inputs)
    assert prepared.scores == ("loss", "accuracy", "precision", "recall", "f1")
    assert prepared.lower_is_better == {"loss"}
    torch.manual_seed(1)
    settings = ReadingSettings(kind="gru", width=8, embedding=8, dropout=0.1, word_dropout=0.0)
    used = fit(token_model(settings, **inputs.sizes()), Labels(), prepared.train, settings=recipe.training).eval()
    scores = prepared.evaluate(used)
    assert scores["accuracy"] == scores["f1"] == 100
    assert baseline(data, inputs, "valid").scores["f1"] < 90  # "old" is not in the word
    found = Tagger(used, inputs)([["saw", "Ada", "Bob", "in", "Rome"], [], ["the", "old", "Oslo"]])
    assert [one.tags for one in found] == [["O", "B-per", "I-per", "O", "B-loc"], [], ["O", "O", "B-per"]]
    assert all(0.25 < probability <= 1 for one in found for probability in one.probabilities)


def test_the_order_of_the_tags_is_that_of_the_types() -> None:
    _, _, inputs = wired()
    assert inputs.tags == ("O", "B-loc", "B-per", "I-per")
    assert inputs.counts["O"] == sum(tags.count("O") for _, tags in sentences(151, 1))


def test_the_notes_say_what_became_of_the_data_and_what_is_to_beat() -> None:
    recipe, data, inputs = wired({"longest": 7})
    train, valid, to_beat = TaggingTask().prepared(recipe, data, inputs).notes
    rows = sentences(151, 1)
    longer = sum(len(words) > 7 for words, _ in rows)
    assert longer > 10
    wanted = f"train: 151 sentences, {sum(len(words) for words, _ in rows):,} words; {longer:,} with over 7 tokens"
    assert train == f"{wanted} are read in stretches"
    assert valid.startswith("valid: 53 sentences")
    assert to_beat.startswith("valid: to beat: the tag that each word mostly has is right for ")


@pytest.mark.parametrize("longest", [512, 3])
@pytest.mark.parametrize("kind", ["spaced", "characters", "bpe"])
def test_validation_evaluation_and_use_agree(kind: str, longest: int) -> None:
    recipe, data, inputs = wired({"kind": kind, "longest": longest, "vocabulary": 50})
    task, model = TaggingTask(), ByToken(len(wired()[2].tags))
    validated = task.prepared(recipe, data, inputs).evaluate(model)
    evaluated = task.evaluated(recipe, data, inputs, model, "valid", None)
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated)
    used = Tagger(model, inputs)([answer["words"] for answer in evaluated.answers])
    assert [one.tags for one in used] == [answer["predicted"] for answer in evaluated.answers]


def test_an_evaluation_has_every_answer_in_the_order_of_the_file() -> None:
    recipe, data, inputs = wired()
    model = ByToken(len(inputs.tags))
    result = TaggingTask().evaluated(recipe, data, inputs, model, "valid", None)
    rows = sentences(53, 2)
    assert [(list(answer["words"]), list(answer["tags"])) for answer in result.answers] == rows
    numbers = [[int(ids[0]) for ids in words] for words in inputs.encode([words for words, _ in rows])]
    said = [[inputs.tags[number % 4] for number in words] for words in numbers]
    assert [answer["predicted"] for answer in result.answers] == said
    pairs = [(a, b) for one, (_, tags) in zip(said, rows, strict=True) for a, b in zip(one, tags, strict=True)]
    assert result.scores["accuracy"] == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs))
    flat = [number for words in numbers for number in words]
    logits = torch.tensor([[0.1 * number * (number % 4 == tag) for tag in range(4)] for number in flat])
    right = torch.tensor([inputs.tags.index(tag) for _, tags in rows for tag in tags])
    assert result.scores["loss"] == pytest.approx(float(nn.functional.cross_entropy(logits, right)), rel=1e-5)
    assert result.groups["per"][1] == sum(tags.count("B-per") for _, tags in rows)
    assert result.scores["recall_per"] == pytest.approx(100 * result.groups["per"][0] / result.groups["per"][1])


def test_tags_that_mark_no_entities_have_a_mean_f1() -> None:
    rows = [([word, word], ["X", "Y" if word == "Ada" else "Z"]) for word in NAMES * 9]
    recipe, data, inputs = wired(train=write("a.conll", rows), valid=write("b.conll", rows[:4]))
    assert TaggingTask().prepared(recipe, data, inputs).scores == ("loss", "accuracy", "macro_f1")
    result = TaggingTask().evaluated(recipe, data, inputs, ByToken(3), "valid", None)
    each = [result.scores[f"f1_{tag}"] for tag in ("X", "Y", "Z")]
    assert result.scores["macro_f1"] == pytest.approx(np.mean(each))
    assert result.groups.keys() == {"X", "Y", "Z"}
    assert sum(count for _, count in result.groups.values()) == 8


def test_a_part_with_a_tag_that_training_lacks_is_refused() -> None:
    recipe, data, inputs = wired(test=write("test.conll", [(["the", "Ada"], ["O", "B-org"])]))
    for ask in (
        lambda: TaggingTask().evaluated(recipe, data, inputs, ByToken(4), "test", None),
        lambda: TaggingTask().checked(recipe, data, inputs),
    ):
        with pytest.raises(DataError, match=r"the test part has the tag 'B-org', first in .* at test\.conll:1, but"):
            ask()


def test_a_part_that_is_not_there_is_refused() -> None:
    recipe, data, inputs = wired()
    with pytest.raises(DataError, match="the data has no test part; it has train, valid"):
        TaggingTask().evaluated(recipe, data, inputs, ByToken(4), "test", None)


def test_the_cache_gives_back_what_was_tokenised() -> None:
    recipe, data, inputs = wired({"longest": 5})
    first, again = (tokenised(data, inputs, "valid") for _ in range(2))
    rows = sentences(53, 2)
    assert in_sentences(again.tag_W, again, inputs) == [tags for _, tags in rows]
    assert np.array_equal(first.tokens.values, again.tokens.values)
    assert again.cut == sum(len(words) > 5 for words, _ in rows)
    assert int(again.tokens.length_N.max()) <= 5
    said = answers_of(ByToken(4), batches_of(recipe, inputs, again), again).said_W
    assert len(said) == sum(len(words) for words, _ in rows)


def test_checking_counts_what_is_worth_a_second_look() -> None:
    train = [*sentences(40, 1), (["odd", "one"], ["I-per", "B-odd"]), (["odd", "one"], ["I-per", "O"])]
    train += [(["word"] * 300, ["O"] * 300)]
    valid = [(["odd", "one"], ["O", "O"]), (["Ωmega", "Ada"], ["O", "B-per"])]
    recipe, data, inputs = wired(train=write("a.conll", train), valid=write("b.conll", valid))
    checked, batches = TaggingTask().checked(recipe, data, inputs)
    assert batches.in_epoch(0) > 0
    words = sum(len(sentence) for sentence, _ in train)
    assert checked.rows[0][:5] == ("train", "43", f"{words:,}", "", checked.rows[0][4])
    assert checked.rows[0][7] == "300"
    assert checked.rows[1] == ("valid", "2", "4", "25.0 %", "0", "1", "1.00", "2")
    told = " | ".join(checked.remarks)
    assert "tags that only one word of the training part has: 'B-odd'" in told
    assert "entities of the train part that begin with I instead of B: 2" in told
    assert "sentences of the valid part that are in training too: 50.0 %" in told
    assert "tokens of the valid part that the vocabulary lacks: 25 %" in told
    assert "a sentence of the train part has 300 words" in told
    assert "the valid part has only 2 sentences" in told
    assert checked.facts["tags"] == "5, which mark entities"
    assert checked.facts["entities of valid"] == "per 1"
    assert checked.facts["to beat"].startswith("the tag that each word mostly has")


# What has to be beaten


def test_a_word_is_taken_for_what_it_mostly_is() -> None:
    found = TagBaseline([(["a", "b", "a", "c"], ["X", "Y", "Z", "Z"]), (["a", "b"], ["X", "Y"])])
    assert found(["a", "b", "c"]) == ["X", "Y", "Z"]
    assert found(["new"]) == ["Z"]  # "c" is the only word that occurs once
    assert TagBaseline([(["a", "a"], ["X", "Y"])])(["a", "new"]) == ["X", "X"]  # between equals, the alphabet


def test_its_scores_are_those_of_what_it_says() -> None:
    recipe, data, inputs = wired()
    mostly = TagBaseline(sentences(151, 1))
    pairs = [(a, b) for words, tags in sentences(53, 2) for a, b in zip(mostly(words), tags, strict=True)]
    scores = TaggingTask().evaluated(recipe, data, inputs, ByToken(4), "valid", None).scores
    assert scores["baseline_accuracy"] == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs))
    assert scores["baseline_f1"] == baseline(data, inputs, "valid").scores["f1"]


def test_on_files_that_are_not_the_runs_nothing_learns_from_what_it_is_asked() -> None:
    name = write("other.conll", sentences(31, 5))
    recipe, data, inputs = wired(train=name, valid=name, test=name)
    result = TaggingTask().evaluated(recipe, data, inputs, ByToken(len(inputs.tags)), "test", None)
    assert not any(score.startswith("baseline") for score in result.scores)
    assert any("there is no baseline" in note for note in result.notes)


def test_no_more_is_read_at_once_than_the_model_can() -> None:
    recipe, data, _ = wired()
    short = recipe._replace(model=BertHeadSettings.model_validate({"width": 8, "heads": 2, "layers": 1, "context": 9}))
    assert TaggingTask().learnt_inputs(short, data).longest == 9 - 2
    told = recipe._replace(model=short.model, inputs=TaggedTextSettings(kind="spaced", longest=8))
    with pytest.raises(SettingError, match=r"inputs.longest is 8, but the model reads 9 tokens, 2 marks among them"):
        TaggingTask().learnt_inputs(told, data)
