"""What users of language models get wrong: one clear sentence, exit code 2, nothing lost."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.story.command import typed

Say = Callable[..., tuple[int, str, str]]
TEXT = "".join(f"{i} the cat sat on the mat and the dog {i * i} barked\n" for i in range(60))
SMALL = ["model.width=16", "training.tokens=128", "training.threads=1", "training.steps=2"]
RECIPE = """
task = "language-modeling"
[data]
train = "{data}"
[input]
tokenizer = "{inputs}"
[model]
kind = "{model}"
"""


@pytest.fixture
def say(answered: Say) -> Say:
    """Type a command where the test is."""
    return answered


def refused(answer: tuple[int, str, str], *found: str) -> None:
    """The answer is exit code 2, nothing printed, and one sentence with these words."""
    code, out, err = answer
    assert code == 2, err
    assert out == ""
    sentence = err.strip().splitlines()[-1]
    assert sentence.startswith("seqwright")
    for words in found:
        assert words in sentence


def accepted(answer: tuple[int, str, str], *found: str) -> None:
    """The answer is exit code 0, and these words are among the remarks."""
    code, _, err = answer
    assert code == 0, err
    for words in found:
        assert words in err


def training(data: bytes | str, *overrides: str, inputs: str = "characters", model: str = "lstm") -> list[str]:
    """The command that trains on a file with this content."""
    Path("mine.txt").write_bytes(data.encode() if isinstance(data, str) else data)
    Path("mine.toml").write_text(RECIPE.format(data="mine.txt", inputs=inputs, model=model), encoding="utf-8")
    return ["train", "mine.toml", *(SMALL[1:] if model == "ngram" else SMALL), *overrides]


# ------------------------------------------------------------------------------------------------ training


@pytest.fixture
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_empty_folder")
@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("", ["mine.txt", "is empty"]),
        (bytes(range(256)), ["mine.txt:1", "NUL", "UTF-8"]),
        (TEXT.encode("utf-16")[:-1], ["mine.txt is not utf-16", "convert"]),
        ("le café, déjà\n".encode() + b"caf\xe9\n", ["mine.txt:2", "not UTF-8", "0xe9 at byte 4", "convert"]),
        (TEXT.replace("\n", "\r"), ["mine.txt", "CR alone", "convert"]),
        ("only one line", ["nothing of mine.txt falls into it", "give more text"]),
        ("\n \n\t\n" * 30, ["the train part has no usable document", "90 read, 90 blank; give it some text"]),
    ],
    ids=["empty", "binary", "utf-16", "latin-1", "cr", "one line", "blank lines"],
)
def test_files_that_are_no_text_to_learn_from(say: Say, data: bytes | str, found: list[str]) -> None:
    refused(say(*training(data)), *found)
    assert not list(Path("runs").glob("*/step-*"))


@pytest.mark.usefixtures("_empty_folder")
def test_files_that_are_not_there(say: Say) -> None:
    command = training(TEXT)
    Path("mine.txt").rename("main.txt")
    refused(say(*command), "no file mine.txt", "Did you mean 'main.txt'?")
    Path("mine.txt").mkdir()
    refused(say(*command), "mine.txt is a folder")


@pytest.mark.usefixtures("_empty_folder")
def test_a_file_of_windows_is_read_as_any_other(say: Say) -> None:
    accepted(say(*training(TEXT.replace("\n", "\r\n").encode("utf-8-sig"))), "vocabulary 29")


@pytest.mark.usefixtures("_empty_folder")
def test_a_document_longer_than_allowed_is_left_out_cut_or_refused_as_the_setting_says(say: Say) -> None:
    apart = training(TEXT + "word " * 300, "input.rows=documents", "input.longest=100")
    accepted(say(*apart), "left out: 1 too long")
    accepted(say(*apart, "input.overlong=truncate", "--run", "runs/cut"), "cut: 1 too long")
    answer = say(*apart, "input.overlong=refuse", "--run", "runs/refused")
    refused(answer, "1500 tokens", "input.longest = 100", "'word word", "input.rows to stream")
    answer = say(*training(TEXT, "input.rows=documents", "input.longest=3", "--run", "runs/short"))
    refused(answer, "no usable document", "longer than input.longest = 3", "raise that setting")


@pytest.mark.usefixtures("_empty_folder")
@pytest.mark.parametrize(
    ("model", "override", "found"),
    [
        ("ngram", "model.order=7", ["model.order", "6", "7"]),
        ("ngram", "model.smoothing=good-turing", ["model.smoothing", "modified-kneser-ney", "good-turing"]),
        ("ngram", "model.prune=[3, 1]", ["model.prune", "none below the one before"]),
        ("lstm", "model.kind=lstn", ["Did you mean 'lstm'?"]),
        ("lstm", "model.kind=transformer", ["'transformer' for language-modeling", "lstm"]),
        ("lstm", "model.activation=relu", ["model", "'relu'", "rnn"]),
        ("lstm", "input.segment=0", ["input.segment", "1", "0"]),
        ("lstm", "input.tokenizer=chars", ["Did you mean 'characters'?"]),
        ("lstm", "data.documents=sentences", ["data.documents", "'paragraphs'", "sentences"]),
        ("lstm", "data.valid=150%", ["data.valid", "150%", "'5%'"]),
        ("lstm", "training.metric=bleu", ["bleu", "perplexity"]),
    ],
)
def test_settings_that_do_not_exist_or_do_not_fit(say: Say, model: str, override: str, found: list[str]) -> None:
    refused(say(*training(TEXT, override, model=model)), *found)


@pytest.mark.usefixtures("_empty_folder")
def test_a_run_that_explodes_stops_with_a_sentence_and_keeps_what_it_saved(say: Say) -> None:
    command = training(TEXT, "training.save_every=1", "training.rate=1e30", "training.warmup=0", model="rnn")
    relu = ["model.activation=relu", "training.schedule=constant"]
    refused(say(*command, *relu), "not a number at step 2", "training.clip=1.0", "training.rate", "--fresh")
    assert Path("runs/mine/step-000001/model.safetensors").is_file()


# ------------------------------------------------------------------------------------------------ using


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that have hardly learnt: of characters, of words, of a window, and a translator."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "p.tsv").write_text("".join(f"{i} {i + 1}\t{i + 1} {i}\n" for i in range(60)), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, inputs, model in (
            ("characters", "characters", "lstm"),
            ("words", "words", "lstm"),
            ("window", "characters", "mlp"),
        ):
            assert typed(*training(TEXT, inputs=inputs, model=model), "--run", f"runs/{name}") == 0
        pairs = 'task = "translation"\ndata.train = "p.tsv"\ninput.tokenizer = "words"\n'
        Path("pairs.toml").write_text(pairs, encoding="utf-8")
        small = ["model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1", "model.feed_forward=16"]
        assert typed("train", "pairs.toml", *SMALL, *small) == 0
    return folder


@pytest.fixture
def _untouched(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The runs, which must be afterwards what they were before."""

    def sums() -> dict[Path, str]:
        files = (path for path in (trained / "runs").rglob("*") if path.is_file())
        return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    monkeypatch.chdir(trained)
    before = sums()
    yield
    assert sums() == before


@pytest.mark.usefixtures("_untouched")
@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("score runs/pairs 1", ["learnt translation", "use translate"]),
        ("translate runs/characters the", ["learnt language-modeling", "use generate, score or prompt"]),
        ("classify runs/characters the", ["learnt language-modeling", "use generate, score or prompt"]),
        ("forecast runs/characters", ["learnt language-modeling", "use generate, score or prompt"]),
        ("generate runs/character the", ["Did you mean 'runs/characters'?"]),
        ("generate runs/characters Ω☃", ["'Ω' '☃'", "vocabulary", "leave them out"]),
        ("generate runs/characters a --beam 3 --temperature 0.8", ["--temperature is for sampling", "--beam searches"]),
        ("generate runs/characters a --greedy --beam 3", ["--greedy", "--beam 3", "give one"]),
        ("generate runs/characters a --beam 0", ["--beam", "1", "not 0"]),
        ("generate runs/characters a --temperature -1", ["--temperature", "not -1"]),
        ("generate runs/characters a --top-p 2", ["--top-p", "not 2"]),
        ("generate runs/characters a --longest 3 --shortest 5", ["--longest", "5", "3"]),
        ("score runs/characters a --file mine.txt", ["both texts and --file"]),
        ("score runs/characters --file nowhere.txt", ["nowhere.txt"]),
        ("eval runs/characters --part test", ["no test part", "train, valid"]),
    ],
)
def test_verbs_and_options_that_do_not_fit_the_run(say: Say, command: str, found: list[str]) -> None:
    refused(say(*command.split(" ")), *found)


@pytest.mark.usefixtures("_untouched")
@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing_cannot_be_scored(say: Say, text: str) -> None:
    refused(say("score", "runs/characters", text), "no text to score", "give some")


@pytest.mark.usefixtures("_untouched")
def test_blank_and_unknown_things_among_others_are_told(say: Say) -> None:
    accepted(say("score", "runs/characters", "the Ω", "", "a cat"), "blank lines left out: 1", "unknown tokens: 1")
    accepted(say("score", "runs/words", "the catt sat"), "unknown tokens: 1")
    accepted(say("generate", "runs/words", "the catt", "--longest", "3"), "the vocabulary lacks 'catt'")
    accepted(say("score", "runs/characters", "mine.txt"), "to score its lines use --file mine.txt")


@pytest.mark.usefixtures("_untouched")
def test_a_prompt_longer_than_the_window_is_gone_on_with(say: Say) -> None:
    prompt = "the cat sat on the mat"
    code, out, err = say("generate", "runs/window", prompt, "--longest", "5", "--shortest", "2")
    assert code == 0, err
    assert out.startswith(prompt)
    assert len(out.strip()) > len(prompt)


def test_what_is_infinite_is_null_in_json(tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "own.toml").write_text(RECIPE.format(data="own.txt", inputs="words", model="ngram"), encoding="utf-8")
    assert say("train", "own.toml", "model.smoothing=maximum-likelihood", "model.order=3", "--run", "run")[0] == 0
    code, out, _ = say("score", "run", "the dog sat mat cat", "--json")
    assert code == 0
    found = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found["bits"] is None
    assert None in [token["bits"] for token in found["tokens"]]
