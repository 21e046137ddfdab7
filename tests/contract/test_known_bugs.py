"""What once was broken and is no promise of a single task; what still is must fail until it is mended."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from seqwright.comparison import stages, work
from seqwright.conversion import is_hugging_face
from seqwright.errors import DataError
from seqwright.recipe import read_recipe
from seqwright.run_folders import resolved_of
from seqwright.runs import open_run, train
from tests.contract import wing
from tests.contract.tiny_tasks import TINY, Tiny
from tests.contract.workshop import Workshop, one_sentence, typed

BY_NAME = {tiny.name: tiny for tiny in TINY}
TRANSLATION, CLASSIFICATION, TAGS, PAIRS = (
    BY_NAME[name] for name in ("translation", "text-classification", "token-classification", "classification-pairs")
)
TOKENIZER = 'like = "../translation/run"'


@pytest.fixture
def borrower(workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A recipe of a classifier that takes the tokenizer of a translation."""
    workshop.enter(TRANSLATION, monkeypatch)
    workshop.enter(CLASSIFICATION, monkeypatch)
    recipe = tmp_path / "borrower.toml"
    recipe.write_text(CLASSIFICATION.text.replace('tokenizer = "characters"', TOKENIZER), encoding="utf-8")
    assert TOKENIZER in recipe.read_text(encoding="utf-8")
    return str(recipe)


@pytest.mark.parametrize("verb", ["check", "train"])
def test_the_tokenizer_of_a_translation_is_taken_or_refused_in_a_sentence(
    verb: str, borrower: str, tmp_path: Path
) -> None:
    found = typed(verb, borrower, *(["--run", str(tmp_path / "run")] if verb == "train" else []))
    assert found.code == 0 or one_sentence(found.err)


def test_a_comparison_takes_or_refuses_the_tokenizer_of_a_translation_in_a_sentence(
    borrower: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "done", work._done)  # in this process
    (tmp_path / "alone.toml").write_text(f'threads = 1\n[[rows]]\nrecipe = "{borrower}"\n', encoding="utf-8")
    found = typed("compare", str(tmp_path / "alone.toml"), "--runs", str(tmp_path), "--dry-run")
    assert found.code == 0 or "row 'borrower' is missing" in found.err or one_sentence(found.err)


def test_a_run_is_opened_by_a_path_that_is_a_string(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.enter(CLASSIFICATION, monkeypatch)
    assert open_run("run").step == CLASSIFICATION.steps


def test_a_run_is_trained_into_a_path_that_is_a_string(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workshop.enter(CLASSIFICATION, monkeypatch)
    recipe = read_recipe("tiny.toml", ["training.steps=2"])
    assert train(recipe, str(tmp_path / "run")).step == 2


def test_whether_a_folder_is_of_transformers_is_asked_by_a_string_and_so_is_a_run_that_a_recipe_goes_on_with(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(CLASSIFICATION, monkeypatch)
    assert not is_hugging_face("run")
    assert read_recipe("tiny.toml", run="run").task == "text-classification"


def test_a_run_holds_no_absolute_path_and_moves_with_its_data(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workshop.enter(CLASSIFICATION, monkeypatch)
    data, elsewhere = tmp_path / "one" / "data", tmp_path / "elsewhere"
    shutil.copytree(".", data, ignore=shutil.ignore_patterns("run*"))
    (tmp_path / "one" / "linked").symlink_to(tmp_path / "one" / "deep", target_is_directory=True)
    (tmp_path / "one" / "deep").mkdir()
    elsewhere.mkdir()
    parts = [f"data.{part}={data / part}.tsv" for part in ("train", "valid", "test")]
    recipe = read_recipe("tiny.toml", ["training.steps=2", *parts])
    for name in ("run", "linked/runs/run"):
        scores = train(recipe, tmp_path / "one" / name).evaluate("test").scores
        plain = resolved_of(tmp_path / "one" / name)["data"]
        assert not any(Path(plain[part]).is_absolute() for part in ("train", "valid", "test"))
    (tmp_path / "one").rename(tmp_path / "two")
    (tmp_path / "two" / "linked").unlink()
    monkeypatch.chdir(elsewhere)
    for name in ("run", "deep/runs/run"):
        assert open_run(tmp_path / "two" / name).evaluate("test").scores == scores


def test_opening_a_run_leaves_the_number_of_threads_alone(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workshop.enter(CLASSIFICATION, monkeypatch)
    before = torch.get_num_threads()
    try:
        train(read_recipe("tiny.toml", ["training.steps=2", "training.threads=3"]), tmp_path / "run")
        torch.set_num_threads(1)
        open_run(tmp_path / "run")
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_opening_a_run_and_looking_into_it_leave_alone_what_torch_draws_next(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(CLASSIFICATION, monkeypatch)
    torch.manual_seed(11)
    before = torch.get_rng_state()
    run = open_run("run")
    assert torch.equal(torch.get_rng_state(), before)
    for sight in ("gradients", "initialisations"):
        run.look("red cat", sight)
        assert torch.equal(torch.get_rng_state(), before), sight


@pytest.mark.parametrize(
    ("tiny", "text"),
    [
        pytest.param(BY_NAME["translation"], "red cat", id="translation"),
        pytest.param(BY_NAME["instruction"], "red cat", id="instruction"),
        pytest.param(BY_NAME["language-modeling"], "red cat", id="language-modeling"),
    ],
)
def test_one_string_is_one_text(tiny: Tiny, text: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.enter(tiny, monkeypatch)
    run: Any = wing.opened(Path("run"))
    assert wing.one_prediction(run, text) == wing.predictions(run, [text])


def test_gradients_of_one_text_where_pairs_are_read_are_refused_in_a_sentence(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(PAIRS, monkeypatch)
    found = typed("look", "RUN", "red cat", "--gradients")
    assert found.code == 2
    assert one_sentence(found.err)


@pytest.mark.parametrize(
    ("tiny", "words"),
    [
        pytest.param(
            BY_NAME["classification-lstm-lm"],
            ("look", "RUN", "red cat", "--units"),
            id="units",
        ),
        pytest.param(
            BY_NAME["classification-lstm-lm"],
            ("look", "RUN", "red cat", "--initialisations"),
            id="initialisations",
        ),
        pytest.param(
            BY_NAME["token-classification"],
            ("embed", "RUN", "red cat"),
            id="embed",
        ),
    ],
)
def test_what_else_reads_a_text_reads_the_row_that_the_verb_reads(
    tiny: Tiny, words: tuple[str, ...], workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(tiny, monkeypatch)
    run: Any = wing.opened(Path("run"))
    with wing.listening(run) as predicted:
        assert typed(*tiny.verb).code == 0
    with wing.listening(run) as read:
        assert typed(*words).code == 0
    assert read == predicted


@pytest.mark.filterwarnings("ignore:the vocabulary")  # it has no tab
@pytest.mark.parametrize("sight", ["units", "gradients"])
@pytest.mark.parametrize(
    ("tiny", "given"),
    [
        pytest.param(PAIRS, {"text_pair": "old sea", "text": "red\tcat"}, id="a tab is a character"),
        pytest.param(PAIRS, "red cat\told sea", id="a tab stands between two texts"),
        pytest.param(TAGS, ("a", "o's"), id="words are cut already"),
    ],
)
def test_what_is_looked_at_is_read_as_the_run_reads_it(
    tiny: Tiny, given: Any, sight: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(tiny, monkeypatch)
    run: Any = wing.opened(Path("run"))
    with wing.listening(run) as predicted:
        run(given)
    with wing.listening(run) as read:
        run.look(given, sight)
    assert read == predicted


@pytest.mark.parametrize("names", [("txt", "text_pair"), ("context", "question")])
def test_what_is_looked_at_has_the_names_that_the_run_knows(
    names: tuple[str, str], workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(PAIRS, monkeypatch)
    given = dict.fromkeys(names, "red cat")
    with pytest.raises(DataError, match=r'expected \{"text": …, "text_pair": …\}'):
        wing.opened(Path("run")).look(given, "units")


@pytest.mark.parametrize(
    ("name", "given", "advice"),
    [
        ("classification-pairs", "red cat", 'or give {"text": …, "text_pair": …}'),
        ("question-answering", "who is red", 'give it as {"question": …, "context": …}'),
        ("series-classification", [0.1, 0.2], "a list is several, one is an array or a tuple"),
        ("forecasting", [0.1, 0.2], "a list is several, one is an array or a tuple"),
    ],
)
def test_what_is_advised_in_python_can_be_done_there(
    name: str, given: Any, advice: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(BY_NAME[name], monkeypatch)
    with pytest.raises(DataError, match=f"{re.escape(advice)}$"):
        wing.opened(Path("run"))(given)
