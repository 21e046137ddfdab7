"""Somebody teaches a GPT to answer texts from a table, asks it, and prompts a language model with examples."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqwright.recipe import recipe_from
from seqwright.runs import open_run, train

Say = Callable[..., tuple[int, str, str]]
NUMBERS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre"}
PAIRS = [(f"{a} {b}", f"{NUMBERS[a]} {NUMBERS[b]}") for a in NUMBERS for b in NUMBERS]
TINY: dict[str, Any] = {
    "input": {"tokenizer": "words", "longest": 8},
    "model": {"kind": "gpt", "width": 32, "heads": 2, "layers": 2, "context": 24, "dropout": 0.0},
    "training": {
        "steps": 250, "tokens": 128, "optimizer": "adamw", "rate": 0.01, "schedule": "cosine", "warmup": 10,
        "validate_every": 250, "device": "cpu", "threads": 1,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a run that learnt it, a language model, and an encoder with a decoder."""
    folder = tmp_path_factory.mktemp("home")
    table = "".join(f"{english}\t{french}\n" for english, french in PAIRS)
    (folder / "mine.tsv").write_text(table)
    (folder / "mine.txt").write_text("".join(f"{english} => {french}\n" for english, french in PAIRS))
    (folder / "mine.csv").write_text("talk,gist\n" + "".join(f"{english},{french}\n" for english, french in PAIRS))
    files = {"train": str(folder / "mine.tsv"), "valid": str(folder / "mine.tsv")}
    taught = {
        "input": {**TINY["input"], "task_token": "<to-fr>"},
        "objective": {"kind": "answer-only", "label_smoothing": 0.0},
    }
    train(recipe_from({**TINY, "task": "instruction", "data": files, **taught}), folder / "gpt")
    few = {**TINY["training"], "steps": 2, "validate_every": 2}
    text = {"documents": "files", **dict.fromkeys(("train", "valid"), str(folder / "mine.txt"))}
    writing = {"data": text, "input": {"tokenizer": "words", "segment": 16}, "training": few}
    train(recipe_from({**TINY, "task": "language-modeling", **writing}), folder / "lm")
    pairs = {"task": "summarization", "data": files, "input": {"tokenizer": "words"}, "training": few}
    train(recipe_from({**pairs, "model": {"size": "tiny", "width": 16, "heads": 2}}), folder / "transformer")
    return folder


def test_the_answer_alone_is_written(say: Say) -> None:
    assert say("reply", "gpt", "two three")[:2] == (0, "deux trois\n")
    assert say("reply", "gpt", "two three", "one four")[:2] == (0, "deux trois\nun quatre\n")
    code, out, _ = say("reply", "gpt", "four one", "--json", "--beam", "3")
    found = json.loads(out)
    assert (code, found["source"], found["text"], found["finished"]) == (0, "four one", "quatre un", True)


def test_a_text_is_read_as_far_as_in_training_and_that_is_said(say: Say) -> None:
    code, _, err = say("reply", "gpt", " ".join(["two"] * 30))
    assert code == 0
    assert "texts read only up to 8 tokens: 1" in err


def test_blank_lines_stay_blank_and_are_told(home: Path, say: Say) -> None:
    (home / "blank.txt").write_text("\n\ntwo three\n\n")
    assert say("reply", "gpt", "--file", "blank.txt")[:2] == (0, "\n\ndeux trois\n\n")
    assert "texts 1, 2, 4 are blank: there is nothing to read" in say("reply", "gpt", "--file", "blank.txt")[2]


def test_other_programs_read_it_as_a_language_model(home: Path, say: Say) -> None:
    assert say("export", "gpt", "theirs", "--to", "hf")[0] == 0
    config = json.loads((home / "theirs" / "config.json").read_text())
    tokenizer = open_run(home / "gpt").inputs.tokenizer
    assert (config["architectures"], config["bos_token_id"]) == (["GPT2LMHeadModel"], tokenizer.begin)


def test_an_encoder_and_a_decoder_answer_whole_texts_too(say: Say) -> None:
    code, out, _ = say("summarize", "transformer", "two\nthree", "--longest", "5")
    assert (code, out.count("\n")) == (0, 1)


def test_answers_are_scored_as_translations(home: Path, say: Say) -> None:
    code, out, _ = say("eval", "gpt", "--part", "valid", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["exact"] == 100
    assert {"loss", "perplexity", "bleu", "chrf"} <= set(found)
    answers = [json.loads(line) for line in next((home / "gpt" / "eval").glob("*.jsonl")).read_text().splitlines()]
    assert answers[1]["hypothesis"] == "un deux"


def test_summaries_are_scored_with_rouge(say: Say) -> None:
    code, out, _ = say("eval", "transformer", "--part", "valid", "--json")
    assert code == 0
    assert {"rouge_1", "rouge_2", "rouge_l"} <= set(json.loads(out))


def test_what_a_run_learnt_is_the_beginning_of_another(home: Path) -> None:
    """A language model learns a task: its tokenizer gains the token of the task, its matrix a row."""
    files = {"train": str(home / "mine.tsv"), "valid": str(home / "mine.tsv")}
    from seqwright.recipe import with_weights

    plain = {
        "task": "instruction",
        "data": files,
        "input": {"longest": 8},
        "model": {"kind": "gpt", "weights": str(home / "lm")},
        "training": {**TINY["training"], "steps": 1, "validate_every": 1},
    }
    recipe = recipe_from(with_weights(plain, home / "tuned" / "resolved.toml"))
    run = train(recipe, home / "tuned")
    before = open_run(home / "lm")
    assert run.inputs.input.task == "<answer>"
    assert run.inputs.tokenizer.size == before.inputs.tokenizer.size + 1
    assert recipe.model.width == 32


def test_examples_in_the_prompt(say: Say) -> None:
    code, out, _ = say("prompt", "lm", "--examples", "mine.tsv", "--shots", "2", "two two", "--longest", "3", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["text"], found["shots"]) == ("two two", 2)
    assert "\n" not in found["answer"]  # where the next example would begin
    code, out, _ = say("prompt", "gpt", "--examples", "mine.tsv", "--shots", "0", "three one")
    assert (code, out) == (0, "trois un\n")


def test_a_table_of_texts_gets_a_column_of_answers(home: Path, say: Say) -> None:
    (home / "asked.csv").write_text("id,prompt\n7,two three\n8,\n9,one four\n")
    words = ["prompt", "gpt", "--examples", "mine.tsv", "--shots", "0", "--file", "asked.csv"]
    code, out, err = say(*words, "--output", "answered.csv")
    assert (code, out) == (0, ""), err
    assert "rows with nothing to read: 1" in err
    written = (home / "answered.csv").read_text()
    assert written == "id,prompt,answer\n7,two three,deux trois\n8,,\n9,one four,un quatre\n"
    assert "say --yes to replace it" in say(*words, "--output", "answered.csv")[2]
    printed = [json.loads(line) for line in say(*words, "--column", "prompt", "--json")[1].splitlines()]
    assert printed[0] == {"text": "two three", "answer": "deux trois", "shots": 0}
    assert [each["answer"] for each in printed] == ["deux trois", "", "un quatre"]


def test_lines_of_a_file_are_asked_after_examples_and_what_is_not_read_is_told(home: Path, say: Say) -> None:
    (home / "asked.txt").write_text("two three\n\n" + " ".join(["two"] * 9) + "\n")
    code, out, err = say("prompt", "gpt", "--examples", "mine.tsv", "--shots", "0", "--file", "asked.txt")
    assert (code, out.count("\n")) == (0, 3)
    assert out.startswith("deux trois\n\n")
    assert "text 2 is blank: there is nothing to read" in err
    assert "texts read only up to 8 tokens: 1" in err
    assert say("prompt", "lm", "--examples", "mine.tsv", "--shots", "1", "--file", "asked.txt")[1].count("\n") == 3


def test_accuracy_over_the_number_of_examples(home: Path, say: Say) -> None:
    words = ["--examples", "mine.tsv", "--answers", "mine.tsv", "--shots", "1", "--picture", "shots.png"]
    code, out, err = say("prompt", "gpt", *words, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [line["shots"] for line in found] == [0, 1]
    assert found[0] == {"shots": 0, "accuracy": 1.0, "right": 16, "of": 16}
    assert "drawn: shots.png" in err
    assert (home / "shots.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("prompt gpt two --examples nowhere.tsv", ["nowhere.tsv"]),
        ("prompt gpt --examples mine.tsv", ["give a text to answer", "--answers"]),
        ("prompt gpt two --examples mine.tsv --shots 99", ["--shots is 99", "only 16 examples"]),
        ("prompt gpt two --examples mine.tsv --shots 16", ["the model reads at most 24", "fewer examples"]),
        ("prompt lm two --examples mine.tsv --template {input}", ["the template is '{input}'"]),
        ("prompt lm two --examples mine.tsv --shots 1 --between Ω", ["the prompt has 'Ω'", "--between"]),
        ("prompt gpt two --examples mine.tsv --between ;", ["<to-fr>", "leave out --template and --between"]),
        ("prompt gpt two --examples mine.tsv --picture x.png", ["--picture", "--answers"]),
        ("prompt gpt --examples mine.tsv --answers mine.tsv --output x.csv", ["--answers", "leave --output and"]),
        ("prompt gpt two --examples mine.tsv --file mine.txt", ["both texts and --file"]),
        (
            "prompt gpt two --examples mine.tsv --output x.txt",
            ["--output is x.txt", ".csv, .tsv, .jsonl, .xlsx or .parquet"],
        ),
        ("prompt transformer two --examples mine.tsv", ["learnt summarization", "use summarize"]),
        ("score gpt two", ["learnt instruction", "use reply or prompt"]),
        ("train mine.toml input.task_token=to-fr", ["input.task_token", "to-fr"]),
        ("train mine.toml data.target=summary", ["has no column 'summary' but 'talk', 'gist'"]),
        ("train mine.toml model.context=5", ["more than model.context = 5", "lower input.longest"]),
    ],
)
def test_what_goes_wrong_is_said_in_one_sentence(home: Path, say: Say, command: str, found: list[str]) -> None:
    (home / "mine.toml").write_text(
        'task = "instruction"\n[data]\ntrain = "mine.csv"\nvalid = "mine.csv"\nsource = "talk"\ntarget = "gist"\n'
        '[input]\ntokenizer = "words"\n[training]\nsteps = 1\n'
    )
    code, out, err = say(*command.split(" "))
    assert (code, out) == (2, ""), err
    sentence = err.strip().splitlines()[-1]
    assert sentence.startswith("seqwright")
    for words in found:
        assert words in sentence
