"""The commands of the README, typed one after another by somebody with a file of their own."""

import hashlib
import importlib.metadata
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from seqwright.data.cards import card
from seqwright.kinds import TASKS

WORDS = {
    "one": "eins",
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "six": "sechs",
    "seven": "sieben",
}
SMALL = [
    "model.width=32",
    "model.heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.feed_forward=64",
    "model.dropout=0",
    "input.tokenizer=words",
    "input.bpe_dropout=0",
    "training.tokens=512",
    "training.schedule=constant",
    "training.rate=0.005",
    "training.warmup=10",
    "training.validate_every=60",
    "training.save_every=30",
    "training.threads=1",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with somebody's own data."""
    folder = tmp_path_factory.mktemp("home")
    names = list(WORDS)
    rows = [(a, b, c) for a in names for b in names for c in names]
    lines = [f"{' '.join(row)}\t{' '.join(WORDS[word] for word in row)}" for row in rows]
    (folder / "mine.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(home: Path) -> Path:
    """A run of the user's own recipe."""
    from seqwright.recipe import read_recipe, recipe_text
    from seqwright.runs import train

    before = Path.cwd()
    os.chdir(home)
    try:
        if not Path("other.toml").exists():
            text = 'task = "translation"\n[data]\ntrain = "mine.tsv"\ntest = "5%"\n'
            Path("other.toml").write_text(text, encoding="utf-8")
        recipe = read_recipe("other.toml", [*SMALL, "training.steps=240"])
        train(recipe, Path("runs/other"), text=recipe_text("other.toml")[1])
    finally:
        os.chdir(before)
    return home / "runs" / "other"


def test_new_writes_a_short_recipe_that_check_and_train_take(say, home: Path):
    code, _, err = say("new", "translation", "--data", "mine.tsv")
    assert code == 0, err
    assert len((home / "mine.toml").read_text().splitlines()) <= 25
    code, out, err = say("check", "mine.toml", *SMALL)
    assert code == 0, err
    for found in ("vocabulary", "parameters", "padding", "time", "memory", "one batch overfitted", "in train"):
        assert found in out
    code, _, err = say("train", "mine.toml", *SMALL, "training.steps=40")
    assert code == 0, err
    assert (home / "runs/mine/pictures/curve.png").stat().st_size > 5000
    assert "resuming from step 40" in say("train", "mine.toml", *SMALL, "training.steps=50")[2]


def test_eval_writes_its_scores_and_answers(say, trained: Path):
    code, out, err = say("eval", str(trained), "--beam", "2")
    assert code == 0, err
    assert "version:2" in out  # sacreBLEU's signature
    (report,) = (trained / "eval").glob("test-*-beam-2.json")
    scores = json.loads(report.read_text())["scores"]
    assert set(scores) == {"loss", "perplexity", "bleu", "chrf", "exact"}
    assert scores["exact"] > 90
    answers = [json.loads(line) for line in report.with_suffix(".jsonl").read_text().splitlines()]
    right = sum(answer["hypothesis"] == answer["reference"] for answer in answers)
    assert scores["exact"] == pytest.approx(100 * right / len(answers))


def test_eval_takes_other_pairs(say, trained: Path, home: Path):
    (home / "few.tsv").write_text("one two\teins zwei\nsix\tsechs\n", encoding="utf-8")
    code, out, err = say("eval", str(trained), "--data", "few.tsv", "--json")
    assert code == 0, err
    assert json.loads(out)["perplexity"] > 1


def test_eval_on_other_pairs_says_so_and_leaves_the_results_of_the_part_alone(say, trained: Path, home: Path):
    assert say("eval", str(trained))[0] == 0
    (own,) = (trained / "eval").glob("test-step-*-beam-1.json")
    before = own.read_bytes()
    report = json.loads(before)
    assert report["evaluated"]["part"] == "test"
    assert (report["checkpoint"], report["decoding"]["beam"]) == ("best", 1)
    (home / "test.tsv").write_text("one two\teins zwei\nsix\tdrei\n", encoding="utf-8")
    code, _, err = say("eval", str(trained), "--data", "test.tsv")
    assert code == 0, err
    assert "on test.tsv, greedy" in err
    assert "test part" not in err
    assert own.read_bytes() == before
    (other,) = set((trained / "eval").glob("test-*-beam-1.json")) - {own}
    content = (home / "test.tsv").read_bytes()
    said = json.loads(other.read_text())
    assert said["evaluated"] == {
        "files": ["test.tsv"],
        "sha256": [hashlib.sha256(content).hexdigest()],
        "read": 2,
        "in_training": 0,
    }
    code, _, err = say("eval", str(trained), "--data", "test.tsv", "--part", "valid")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "--part" in err
    assert "--data" in err


def test_what_an_evaluation_was_made_with_stands_in_its_name_and_its_report(say, trained: Path):
    say("eval", str(trained), "--beam", "3")
    say("eval", str(trained), "--beam", "3", "--length-penalty", "1.5")
    say("eval", str(trained), "--beam", "3", "--which", "last")
    (usual,) = (trained / "eval").glob("test-*-beam-3.json")
    (long,) = (trained / "eval").glob("test-*-beam-3-penalty-1.5.json")
    (last,) = (trained / "eval").glob("test-*-beam-3-last.json")
    made = [json.loads(path.read_text()) for path in (usual, long, last)]
    assert [each["decoding"]["length_penalty"] for each in made] == [0.6, 1.5, 0.6]
    assert [each["checkpoint"] for each in made] == ["best", "best", "last"]
    assert all(
        len(f"{score:.12g}".rpartition(".")[2].lstrip("0")) <= 6 for each in made for score in each["scores"].values()
    )


def test_translate_takes_texts_a_file_and_standard_input(say, trained: Path, home: Path):
    code, out, err = say("translate", str(trained), "one two three", "", "seven seven one")
    assert (code, out.splitlines()) == (0, ["eins zwei drei", "", "sieben sieben eins"]), err
    (home / "sentences.txt").write_text("two two two\n\nfive one two\n", encoding="utf-8")
    code, out, err = say("translate", str(trained), "--file", "sentences.txt", "--beam", "3")
    assert (code, out.splitlines()) == (0, ["zwei zwei zwei", "", "fünf eins zwei"]), err
    command = [sys.executable, "-m", "seqwright", "translate", str(trained)]
    piped = subprocess.run(command, input="one one one\n\nsix two six", capture_output=True, text=True, check=True)
    assert piped.stdout.splitlines() == ["eins eins eins", "", "sechs zwei sechs"]


def test_translate_shows_candidates_scores_and_json(say, trained: Path):
    code, out, err = say("translate", str(trained), "one two three", "--n-best", "3", "--json")
    assert code == 0, err
    shown = [json.loads(line) for line in out.splitlines()]
    assert [line["rank"] for line in shown] == [1, 2, 3]
    assert shown[0]["score"] >= shown[1]["score"] >= shown[2]["score"]
    code, out, _ = say("translate", str(trained), "one two three", "--scores")
    score, text = out.strip().split("\t")
    assert text == "eins zwei drei"
    assert float(score) < 0


def test_translate_says_what_was_probably_meant_and_what_it_cannot_read(say, trained: Path, home: Path, monkeypatch):
    (home / "in.txt").write_text("six one two\ntwo one two\n", encoding="utf-8")
    code, out, err = say("translate", str(trained), "in.txt")
    assert code == 0
    assert "in.txt is a file; to translate its lines use --file in.txt" in err
    with (home / "in.txt").open() as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", stream)
        code, out, err = say("translate", str(trained), "-")
    assert (code, out.splitlines()) == (0, ["sechs eins zwei", "zwei eins zwei"]), err
    _, out, err = say("translate", str(trained), "one ☃", "☃ ☃ two €")
    assert len(out.splitlines()) == 2
    (warning,) = err.splitlines()
    assert "'☃'×3 '€'×1" in warning
    assert not say("translate", str(trained), "one two")[2]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--beam", "2", "--n-best", "5"], ["--beam", "--n-best"]),
        (["--sample", "--temperature", "0"], ["--temperature is 0", "--beam 1"]),
        (["--sample", "--beam", "5"], ["--sample is for sampling", "--beam searches"]),
        (["--sample", "--top-p", "2"], ["translate: --top-p: "]),
        (["--beam", "0"], ["translate: --beam: "]),
    ],
)
def test_options_that_cannot_be_meant_are_refused_by_their_own_names(say, trained: Path, options, found):
    code, _, err = say("translate", str(trained), "one", *options)
    assert (code, len(err.splitlines())) == (2, 1), err
    for words in found:
        assert words in err
    assert "decoding" not in err


def test_asking_for_several_alone_widens_the_beam_and_says_so(say, trained: Path):
    assert "a beam of 5" in say("translate", str(trained), "one two", "--n-best", "5")[2]


def test_samples_follow_their_seed_and_come_best_first(say, trained: Path):
    draw = ["translate", str(trained), "one two three four", "--sample", "--temperature", "3", "--n-best", "5"]
    scores = [json.loads(line)["score"] for line in say(*draw, "--json")[1].splitlines()]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert say(*draw, "--seed", "1")[1] == say(*draw, "--seed", "1")[1]
    assert say(*draw, "--seed", "1")[1] != say(*draw, "--seed", "2")[1]


def test_a_prefix_is_obeyed(say, trained: Path):
    assert say("translate", str(trained), "one two three", "--prefix", "sechs", "--beam", "2")[1].startswith("sechs ")


def test_look_draws_every_head_of_what_was_decoded(say, trained: Path):
    code, out, err = say("look", str(trained), "one two three", "--beam", "2")
    assert code == 0, err
    assert "eins zwei drei" in out
    folder = trained / "pictures" / "one-two-three"
    for stem in ("cross-attention", "encoder-self-attention", "decoder-self-attention"):
        for name in (f"{stem}.png", f"{stem}.svg", f"{stem}-heads.png", f"{stem}-heads.svg"):
            assert (folder / name).stat().st_size > 1000
    page = (folder / "attention.html").read_text(encoding="utf-8")
    assert "drei" in page
    assert "://" not in page.replace("http://www.w3.org", "")  # one file, nothing from outside


def test_a_run_folder_can_be_moved_and_used_alone(say, trained: Path, tmp_path: Path):
    import shutil

    shutil.copytree(trained, tmp_path / "moved")
    assert say("translate", str(tmp_path / "moved"), "one two three")[1].strip() == "eins zwei drei"
    for path in (tmp_path / "moved").rglob("*.toml"):
        assert str(trained.parent) not in path.read_text()


def test_what_there_is_can_be_listed(say):
    assert "dates-demo" in say("recipes")[1]
    assert "Transformer" in say("lineage")[1]
    assert "multi30k" in say("data", "list")[1]
    assert "sha256" in say("data", "show", "multi30k")[1]
    assert "torch threads" in say("doctor")[1]
    assert say("--version")[1].startswith("seqwright ")


def test_what_is_listed_is_listed_whole(say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("COLUMNS", "160")
    (row,) = [line for line in say("recipes")[1].splitlines() if line.startswith("  multi30k-en-de")]
    assert row.split()[1] == "multi30k"  # from its base
    version = importlib.metadata.version

    def without_extras(name: str) -> str:
        if name in {"tensorboard", "onnxscript", "onnxruntime"}:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without_extras)
    told = say("doctor")[1]
    assert all(f"optional: pip install {name}" in told for name in ("'seqwright[tensorboard]'", "'seqwright[onnx]'"))
    assert "optional: pip install onnxruntime" in told
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path))
    files = [tmp_path / "multi30k" / file.path for file in card("multi30k").files]
    files[0].parent.mkdir()
    for file in files:
        file.touch()
    assert "complete" in say("data", "list")[1]
    files[3].unlink()
    assert f"{len(files) - 1} of {len(files)} files are here; seqwright data get multi30k" in say("data", "list")[1]


VERBS = ["recipes", "lineage", "new", "check", "train", "eval", "look", "doctor"]
VERBS += ["data list", "data show", "data get"]
VERBS += ["neighbours", "export", "import", *dict.fromkeys(verb for task in TASKS.values() for verb in task.verbs)]


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_text_can_be_read(say, verb: str):
    code, out, _ = say(*verb.split(), "--help")
    assert code == 0
    assert f"seqwright {verb} [OPTIONS]" in out.splitlines()[0]
    assert not re.search(r"<(?!mask)\w|{(?!input|output)\w", out)  # no types, only names
    if verb not in {"recipes", "lineage", "doctor"}:
        assert f"Example: seqwright {verb}" in out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["trian"], "seqwright: no such command 'trian'. Did you mean 'train', 'track'?"),
        (["data", "gett"], "seqwright data: no such command 'gett'. Did you mean 'get'?"),
        (["translate"], "seqwright translate: missing argument 'RUN'; see seqwright translate --help"),
        (["translate", "runs/x", "--beam"], "seqwright translate: option '--beam' requires an argument; see seqwright"),
        (["translate", "runs/x", "--beam", "wide"], "seqwright translate: invalid value for '--beam': "),
        (["--loud"], "seqwright: no such option: --loud; see seqwright --help"),
    ],
)
def test_words_that_no_verb_knows_get_one_sentence(say, words: list[str], found: str):
    code, out, err = say(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(found)


def test_no_words_at_all_get_the_help(say):
    code, _, err = say()
    assert code == 2
    assert err.startswith("Usage: seqwright [OPTIONS] COMMAND")


def test_help_costs_next_to_nothing():
    """Processor time, which does not depend on what else the machine does; much is left to a slow one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "seqwright", "--help"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 0.4


def test_help_does_not_wait_for_torch():
    code = (
        "import sys; sys.argv = ['seqwright', '--help']; from seqwright.__main__ import main\n"
        "try: main()\nfinally: assert not {'torch', 'sklearn', 'scipy'} & sys.modules.keys()"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "translate" in shown.stdout


def test_fresh_starts_over_only_when_told_so(say, home: Path, trained: Path):
    words = ["train", "other.toml", *SMALL, "training.steps=240"]
    assert say(*words, "--fresh")[0] == 2  # nobody there to ask, and no --yes
    assert (trained / "last").exists()
    code, _, err = say("train", "other.toml", *SMALL, "training.steps=30", "--run", "runs/twice")
    assert code == 0, err
    code, _, err = say("train", "other.toml", *SMALL, "training.steps=20", "--run", "runs/twice", "--fresh", "--yes")
    assert code == 0, err
    assert (home / "runs/twice/last").read_text().strip() == "step-000020"
