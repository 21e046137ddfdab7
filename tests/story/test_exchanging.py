"""Models on their way to other programs and back: `export`, `import`, `neighbours`, and what an n-gram model keeps."""

import gzip
import json
import math
import os
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.cli import checking
from seqwright.recipe import recipe_from
from seqwright.runs import open_run, train

Say = Callable[..., tuple[int, str, str]]
NAMES = ("the", "cat", "dog", "sat", "on", "mat", "<unk>", "u.s.", "don't")
BY_HAND = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-99\t<s>\t-0.3
-0.7\t</s>
-0.6\tU.S.\t-0.2
-0.5\t1,000\t-0.1
-1.5\t<unk>\t-0.9

\\2-grams:
-0.4\t<s> U.S.
-0.25\tU.S. 1,000
-0.3\t1,000 </s>

\\end\\
"""


def sentences(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(NAMES, weights=range(1, 10), k=draw.randint(1, 7))) for _ in range(count)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, an n-gram of each tokenizer, and an LSTM that has hardly learnt."""
    folder, before = tmp_path_factory.mktemp("home"), Path.cwd()
    os.chdir(folder)
    try:
        Path("mine.txt").write_text("\n".join(sentences(1, 300)), encoding="utf-8")
        Path("held.txt").write_text("\n".join([*sentences(2, 40), "the bird  sat", "don't"]), encoding="utf-8")
        data = {"train": "mine.txt", "valid": "10%"}
        for kind in ("whitespace", "words", "bpe"):
            inputs = {"tokenizer": kind, "rows": "documents", "vocabulary": 40}
            plain: dict[str, Any] = {"data": data, "input": inputs, "model": {"kind": "ngram", "order": 3}}
            plain["task"] = "language-modeling"
            train(recipe_from(plain, name=kind), Path("runs") / kind)
        plain |= {"model": {"kind": "lstm", "width": 8}, "training": {"steps": 2, "validate_every": 2, "tokens": 64}}
        train(recipe_from(plain, name="lstm"), Path("runs/lstm"))
        Path("hand.arpa").write_text(BY_HAND, encoding="utf-8")
    finally:
        os.chdir(before)
    return folder


def refused(said: tuple[int, str, str], *expected: str) -> None:
    code, out, err = said
    assert (code, out, len(err.splitlines())) == (2, "", 1), said
    for words in expected:
        assert words in err


def bits(say: Say, run: str) -> list[dict[str, Any]]:
    code, out, err = say("score", run, "--file", "held.txt", "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


# ------------------------------------------------------------------------------------------------ ARPA


@pytest.mark.parametrize("kind", ["whitespace", "words", "bpe"])
def test_an_n_gram_that_was_exported_and_imported_scores_to_the_same_digit(say: Say, home: Path, kind: str) -> None:
    code, _, err = say("export", f"runs/{kind}", f"{kind}.arpa.gz")
    assert code == 0, err
    words = [] if kind == "whitespace" else ["--like", f"runs/{kind}"]
    code, _, err = say("import", f"{kind}.arpa.gz", "--run", f"runs/{kind}-again", *words)
    assert code == 0, err
    assert "left out" not in err
    before, after = bits(say, f"runs/{kind}"), bits(say, f"runs/{kind}-again")
    assert len(before) == 42
    if kind == "whitespace":  # where two spaces are one, as for other programs
        before, after = ([line for line in some if "  " not in line["text"]] for some in (before, after))
    assert after == before
    say("export", f"runs/{kind}-again", f"{kind}-again.arpa.gz")
    assert (home / f"{kind}-again.arpa.gz").read_bytes() == (home / f"{kind}.arpa.gz").read_bytes()


def test_kenlm_reads_what_was_exported_and_gives_the_same_probabilities(say: Say, home: Path) -> None:
    kenlm = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed (pip install ufal.kenlm)")
    say("export", "runs/whitespace", "kenlm.arpa")
    say("import", "kenlm.arpa", "--run", "runs/kenlm")
    theirs = kenlm.Model(str(home / "kenlm.arpa"))
    for line in [line for line in bits(say, "runs/kenlm") if "<unk>" not in line["text"]]:  # which is no word to KenLM
        assert -line["bits"] * math.log10(2) == pytest.approx(theirs.score(line["text"]), abs=1e-3)


def test_a_model_of_another_program_becomes_a_run_that_every_verb_takes(say: Say, home: Path) -> None:
    code, _, err = say("import", "hand.arpa")
    assert code == 0, err
    assert "imported: runs/hand" in err
    line = json.loads(say("score", "runs/hand", "U.S.  1,000", "--json")[1])
    assert [token["token"] for token in line["tokens"]] == ["U.S.", " 1,000", ""]
    tens = [-token["bits"] * math.log10(2) for token in line["tokens"]]
    assert tens == pytest.approx([-0.4, -0.25, -0.3], abs=1e-4)
    line = json.loads(say("score", "runs/hand", "none U.S.", "--json")[1])
    tens = [-token["bits"] * math.log10(2) for token in line["tokens"]]
    assert tens == pytest.approx([-0.3 - 1.5, -0.9 - 0.6, -0.2 - 0.7], abs=1e-4)
    assert say("generate", "runs/hand", "U.S.", "--greedy")[1] == "U.S. 1,000\n"
    (home / "two.txt").write_text("U.S. 1,000\nnone U.S.\n", encoding="utf-8")
    scores = json.loads(say("eval", "runs/hand", "--data", "two.txt", "--json")[1])
    assert scores["loss"] == pytest.approx(math.log(10) * (0.95 + 1.8 + 1.5 + 0.9) / 6, abs=1e-4)
    refused(say("eval", "runs/hand"), "came from hand.arpa, which has no examples in it; give some with --data")


def test_the_run_says_where_it_came_from(say: Say, home: Path) -> None:
    import hashlib

    say("import", "hand.arpa", "--run", "runs/origin")
    resolved = tomllib.loads((home / "runs/origin/resolved.toml").read_text(encoding="utf-8"))
    digest = hashlib.sha256(BY_HAND.encode()).hexdigest()
    assert resolved["data"] == {"imported": "hand.arpa", "sha256": digest}
    assert resolved["model"]["order"] == 2
    card = (home / "runs/origin/card.md").read_text(encoding="utf-8")
    assert "came from hand.arpa" in card
    assert "| 2 | 3 | 0.00 | 36 | 8.33 % |" in card
    assert "seqwright generate runs/origin" in card


def test_nothing_is_replaced_unless_told_so(say: Say, home: Path) -> None:
    say("export", "runs/whitespace", "taken.arpa")
    before = (home / "taken.arpa").read_bytes()
    refused(say("export", "runs/words", "taken.arpa"), "taken.arpa exists", "--yes")
    assert (home / "taken.arpa").read_bytes() == before
    assert say("export", "runs/words", "taken.arpa", "--yes")[0] == 0
    assert (home / "taken.arpa").read_bytes() != before
    say("import", "hand.arpa", "--run", "runs/taken")
    refused(say("import", "hand.arpa", "--run", "runs/taken"), "runs/taken is a run already", "--run", "--yes")
    (home / "runs/taken/notes.txt").write_text("mine", encoding="utf-8")
    assert say("import", "hand.arpa", "--run", "runs/taken", "--yes")[0] == 0
    assert (home / "runs/taken/notes.txt").exists()


def test_what_cannot_be_exchanged_is_refused_in_one_sentence(say: Say, home: Path) -> None:
    refused(say("export", "runs/lstm", "lstm.arpa"), "is of kind lstm", "n-grams")
    refused(say("export", "runs/whitespace", "spaced.vec"), "no word vectors")
    refused(say("export", "runs/whitespace", "spaced.bin"), "spaced.bin", ".vec or .txt for word2vec", "--to")
    refused(
        say("export", "runs/whitespace", "x.arpa", "--to", "arpq"), "there is no format 'arpq'. Did you mean 'arpa'?"
    )
    refused(say("export", "runs/whitespace", "x.arpa", "--side", "source"), "--side")
    refused(say("export", "runs/whitespace", "runs", "--to", "arpa"), "runs is a folder")
    refused(say("import", "mine.txt"), "mine.txt", ".arpa")
    refused(say("import", "hnd.arpa"), "no file hnd.arpa", "Did you mean 'hand.arpa'?")
    say("export", "runs/words", "pieces.arpa")
    code, _, err = say("import", "pieces.arpa")
    assert code == 2
    assert "words with '▁' in them, such as '▁" in err
    assert "--like" in err
    assert not (home / "runs/pieces").exists()
    for content, found in (("\\data\\\nngram 1=1\n\n\\1-grams:\n-1\t<s>\n", "no words"), ("nothing", "no ARPA file")):
        (home / "empty.arpa").write_text(content, encoding="utf-8")
        code, _, err = say("import", "empty.arpa")
        assert (code, found in err) == (2, True), err
    (home / "latin.arpa").write_bytes(BY_HAND.replace("1,000", "é").encode("latin-1"))
    assert "not UTF-8" in say("import", "latin.arpa")[2]


def test_words_that_the_tokenizer_lacks_are_counted(say: Say) -> None:
    code, _, err = say("import", "hand.arpa", "--run", "runs/few", "--like", "runs/whitespace")
    assert code == 0, err
    assert "left out 5 n-grams with words that the vocabulary of runs/whitespace lacks" in err


# ------------------------------------------------------------------------------------------------ word vectors


def test_the_vectors_of_a_run_are_those_of_its_embedding(say: Say, home: Path) -> None:
    code, _, err = say("export", "runs/lstm", "lstm.txt.gz")
    assert code == 0, err
    head, *lines = gzip.decompress((home / "lstm.txt.gz").read_bytes()).decode().splitlines()
    run = open_run(home / "runs/lstm")
    assert head == f"{run.inputs.tokenizer.size} 8"
    assert [line.split(" ")[0] for line in lines] == run.inputs.tokenizer.pieces(range(len(lines)))
    found = np.array([line.split(" ")[1:] for line in lines], dtype=np.float32)
    assert np.array_equal(found, dict(run.model.named_parameters())["body.embedding.weight"].detach().numpy())


def test_neighbours_are_shown_as_a_table_or_as_json(say: Say) -> None:
    code, out, err = say("neighbours", "runs/lstm", "sat", "catdog", "--top", "3", "--json")
    assert code == 0, err
    sat, both = (json.loads(line) for line in out.splitlines())
    assert (sat["word"], sat["tokens"], len(sat["neighbours"])) == ("sat", ["▁sat"], 3)
    assert len(both["tokens"]) > 1
    assert f"catdog: the mean of the vectors of {' '.join(both['tokens'])}" in err
    code, out, _ = say("neighbours", "runs/lstm", "sat", "--top", "3")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["sat", "cosine"]
    assert [token for token, _ in rows[1:]] == [each["token"] for each in sat["neighbours"]]
    shown = [float(cosine) for _, cosine in rows[1:]]
    assert shown == pytest.approx([each["cosine"] for each in sat["neighbours"]], abs=1e-4)


def test_an_analogy_adds_and_subtracts_vectors(say: Say, home: Path) -> None:
    code, out, err = say("neighbours", "runs/lstm", "cat", "sat", "dog", "--analogy", "--top", "2", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["word"] == "cat − sat + dog"
    run = open_run(home / "runs/lstm")
    weight = dict(run.model.named_parameters())["body.embedding.weight"].detach().double().numpy()
    pieces = run.inputs.tokenizer.pieces(range(len(weight)))
    cat, sat, dog = (weight[pieces.index(f"▁{word}")] for word in ("cat", "sat", "dog"))
    wanted = cat - sat + dog
    cosines = weight @ wanted / np.linalg.norm(weight, axis=1) / np.linalg.norm(wanted)
    others = [i for i in np.argsort(-cosines) if i > 3 and pieces[i] not in {"▁cat", "▁sat", "▁dog"}]
    assert [each["token"] for each in found["neighbours"]] == [pieces[i] for i in others[:2]]
    assert found["neighbours"][0]["cosine"] == pytest.approx(cosines[others[0]], abs=1e-5)
    refused(say("neighbours", "runs/lstm", "cat", "dog", "--analogy"), "--analogy takes three words")


def test_one_word_in_several_texts_is_compared(say: Say) -> None:
    words = ("neighbours", "runs/lstm", "sat", "--in", "the cat sat on", "--in", "a dog sat, sat")
    code, out, err = say(*words)
    assert code == 0, err
    assert out.splitlines()[:2] == ["1  the cat sat on", "2  a dog sat, sat"]
    pairs = [json.loads(line) for line in say(*words, "--json")[1].splitlines()]
    assert [pair["texts"] for pair in pairs] == [[1, 2], [1, 2], [2, 2]]
    assert {pair["embedding"] for pair in pairs} == {1.0}
    assert all(pair["contextual"] < 1 for pair in pairs)
    refused(say("neighbours", "runs/lstm", "sat", "--in", "the cat sat on"), "'sat' stands once in the texts")
    refused(say("neighbours", "runs/lstm", "mat", "--in", "the cat sat on"), "'mat' stands nowhere")
    refused(say("neighbours", "runs/lstm", "ca☃", "--top", "2"), "'ca☃' is not in the model's vocabulary")
    refused(say("neighbours", "runs/lstm", "cat", "--top", "0"), "--top is 0")


# ------------------------------------------------------------------------------------------------ what is kept


RECIPE = """task = "language-modeling"
input = { tokenizer = "whitespace", rows = "documents" }
[data]
train = "mine.txt"
valid = "10%"
[model]
kind = "ngram"
order = 3
prune = [0, 0, 1]
"""


def rows_of(table: str) -> dict[str, list[str]]:
    """The table of what is kept, by order."""
    lines = [line.split() for line in table.splitlines()]
    start = next(i for i, line in enumerate(lines) if line[:3] == ["order", "n-grams", "pruned"])
    return {line[0]: line[1:] for line in lines[start + 1 : start + 5]}


def counts(home: Path) -> dict[int, tuple[int, int, int]]:
    """Of each order from 2 on how many n-grams of the training part are kept, pruned and possible, by sets."""
    from seqwright.data.text import TextFiles, TextFilesSettings

    files = TextFiles(TextFilesSettings(train=str(home / "mine.txt"), valid="10%"))
    found: dict[int, tuple[int, int, int]] = {}
    for n, least in ((2, 0), (3, 1)):
        seen: dict[tuple[str, ...], int] = {}
        for line in files.examples("train"):
            words = ["<s>", *line.split(), "</s>"]
            for i in range(len(words) - n + 1):
                gram = tuple(words[i : i + n])
                seen[gram] = seen.get(gram, 0) + 1
        kept = sum(count > least for count in seen.values())
        found[n] = (kept, len(seen) - kept, (len(NAMES) + 4) ** n)  # the reserved tokens
    return found


def test_check_and_train_tell_how_what_is_kept_grows_with_the_order(say: Say, home: Path) -> None:
    (home / "ngram.toml").write_text(RECIPE, encoding="utf-8")
    code, out, err = say("check", "ngram.toml")
    assert code == 0, err
    assert "overfit" not in out + err
    assert "tokens/s" in out
    assert "ready: seqwright train ngram.toml" in out
    code, _, err = say("train", "ngram.toml")
    assert code == 0, err
    card = (home / "runs/ngram/card.md").read_text(encoding="utf-8")
    for n, (kept, pruned, possible) in counts(home).items():
        assert rows_of(out)[str(n)][:2] == rows_of(err)[str(n)][:2] == [str(kept), str(pruned)]
        assert rows_of(out)[str(n)][3] == f"{possible:,}"
        assert f"| {n} | {kept} | {pruned} |" in card


def test_check_of_a_long_text_counts_enough_of_it_and_says_so(
    say: Say, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "ngram.toml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.setattr(checking, "COUNTED_TOKENS", 200)
    code, out, err = say("check", "ngram.toml", "training.tokens=100")
    assert code == 0, err
    assert "% of the text" in out
    assert "! the whole text has more n-grams" in out
    assert int(rows_of(out)["2"][0]) < counts(home)[2][0]
