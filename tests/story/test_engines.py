"""A translator and a language model that another program computes: what is typed, what is refused, what is kept."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch

import seqwright as sw
from seqwright import engines
from seqwright.data.cards import cache_folder
from seqwright.engines import CTranslate2Engine
from seqwright.errors import SettingError
from seqwright.interchange import ctranslate2 as interchange
from tests.story.command import typed

Say = Callable[..., tuple[int, str, str]]
WORDS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}
SOME = ["one two", "six five four three", "three"]
TRAINING = """
[training]
steps = {}
tokens = 512
schedule = "constant"
rate = 0.005
warmup = 10
threads = 1
"""
TRANSLATOR = """
task = "translation"
input = { tokenizer = "words" }
data = { train = "mine.tsv", test = "5%" }
model = { size = "tiny", width = 32, heads = 2, encoder_layers = 1, decoder_layers = 1, feed_forward = 64, dropout = 0 }
"""
LANGUAGE_MODEL = """
task = "language-modeling"
input = { tokenizer = "words", segment = 24 }
data = { train = "mine.txt" }
model = { kind = "gpt", width = 32, heads = 2, layers = 2, context = 32 }
"""
COUNTED = """
task = "language-modeling"
input = { tokenizer = "words" }
data = { train = "mine.txt" }
model = { kind = "ngram", order = 2 }
"""

needed = pytest.mark.skipif(
    importlib.util.find_spec("ctranslate2") is None,
    reason="CTranslate2 is not installed: pip install 'seqwright[ctranslate2]'",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained translator, a language model and n-grams of the same words."""
    folder, names = tmp_path_factory.mktemp("home"), list(WORDS)
    rows = [
        (a, b, c)[: 1 + (i + j + k) % 3]
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        for k, c in enumerate(names)
    ]
    lines = [f"{' '.join(row)}\t{' '.join(WORDS[word] for word in row)}" for row in rows]
    (folder / "mine.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "mine.txt").write_text("\n".join(line.split("\t")[0] for line in lines) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        recipes = {"translator": TRANSLATOR + TRAINING.format(260), "gpt": LANGUAGE_MODEL + TRAINING.format(20)}
        for name, text in {**recipes, "ngrams": COUNTED}.items():
            Path(f"{name}.toml").write_text(text, encoding="utf-8")
            assert typed("train", f"{name}.toml") == 0
    return folder


def heard(say: Say, *words: str) -> list[str]:
    code, out, err = say(*words)
    assert code == 0, err
    return out.splitlines()


@needed
@pytest.mark.parametrize("search", [[], ["--beam", "4"], ["--prefix", "drei"]], ids=["greedy", "beam", "prefix"])
def test_translations_are_the_same(say: Say, search: list[str]):
    plain = heard(say, "translate", "runs/translator", *SOME, *search)
    assert heard(say, "translate", "runs/translator", *SOME, *search, "--engine", "ctranslate2") == plain
    assert heard(say, "translate", "runs/translator", *SOME, *search, "--engine", "auto") == plain
    assert all("drei" in text for text in plain[1:])
    rounded = heard(say, "translate", "runs/translator", *SOME, *search, "--engine", "ctranslate2", "--compute", "int8")
    assert rounded == plain  # it is sure of itself


@needed
def test_the_best_ones_and_their_scores_are_told(say: Say):
    options = ["--beam", "4", "--n-best", "2", "--json"]
    plain, theirs = (
        [json.loads(line) for line in heard(say, "translate", "runs/translator", *SOME, *options, *engine)]
        for engine in ([], ["--engine", "ctranslate2"])
    )
    assert [(each["source"], each["rank"]) for each in theirs] == [(text, rank) for text in SOME for rank in (1, 2)]
    for mine, its in zip(plain[::2], theirs[::2], strict=True):
        assert (its["text"], its["finished"]) == (mine["text"], True)
        assert mine["score"] < its["score"] < mine["score"] + 0.2  # there only what may be written has a share


@needed
def test_a_language_model_continues_in_the_same_way(say: Say):
    openings = ["one two", "six", "three three"]
    for search in (["--greedy"], ["--beam", "3"]):
        asked = ["generate", "runs/gpt", *openings, *search, "--longest", "7"]
        assert heard(say, *asked, "--engine", "ctranslate2") == heard(say, *asked)
    sampled = ["generate", "runs/gpt", *openings, "--longest", "7", "--seed", "3"]
    assert heard(say, *sampled, "--engine", "auto") == heard(say, *sampled)  # a seed fixes only our own draws


@needed
def test_eval_says_how_good_the_engine_is_and_keeps_it_apart(say: Say, home: Path):
    plain, theirs = (
        json.loads("".join(heard(say, "eval", "runs/translator", "--json", *engine)))
        for engine in ([], ["--engine", "ctranslate2"])
    )
    assert theirs == plain
    (report,) = (home / "runs/translator/eval").glob("test-*-ctranslate2.json")
    assert json.loads(report.read_text(encoding="utf-8"))["engine"] == "ctranslate2"


@needed
def test_vectors_are_the_same_or_refused(say: Say):
    plain, theirs = (
        np.array([line.split() for line in heard(say, "embed", "runs/translator", *SOME, *engine)], dtype=float)
        for engine in ([], ["--engine", "ctranslate2"])
    )
    np.testing.assert_allclose(theirs, plain, atol=1e-4)
    told = refusal(say, "embed", "runs/gpt", *SOME, "--engine", "ctranslate2")
    assert "CTranslate2 gives the logits of a GPT and keeps its vectors" in told
    assert heard(say, "embed", "runs/gpt", "one", "--engine", "auto") == heard(say, "embed", "runs/gpt", "one")


@needed
def test_an_exported_folder_is_what_ctranslate2_loads(say: Say, home: Path):
    library = interchange.ctranslate2_library()
    assert "wrote a translator" in say("export", "runs/translator", "--to", "ctranslate2")[2]
    translator = library.Translator(str(home / "translator-ctranslate2"), compute_type="float32", intra_threads=1)
    tokenizer = tokenizers.Tokenizer.from_file(str(home / "translator-ctranslate2/tokenizer.json"))
    asked = [tokenizer.encode(text, add_special_tokens=False).tokens for text in SOME]
    numbers = [
        [tokenizer.token_to_id(token) or 0 for token in answer.hypotheses[0]]
        for answer in translator.translate_batch(asked, beam_size=1)
    ]
    assert tokenizer.decode_batch(numbers) == heard(say, "translate", "runs/translator", *SOME)
    assert "wrote a language model" in say("export", "runs/gpt", "gpt", "--to", "ctranslate2")[2]
    generator = library.Generator(str(home / "gpt"), compute_type="float32", intra_threads=1)
    tokenizer = tokenizers.Tokenizer.from_file(str(home / "gpt/tokenizer.json"))
    opening = ["<s>", *tokenizer.encode("one two", add_special_tokens=False).tokens]
    (answer,) = generator.generate_batch([opening], max_length=3)
    (text,) = heard(say, "generate", "runs/gpt", "one two", "--greedy", "--longest", "3")
    assert tokenizer.decode(answer.sequences_ids[0]) == text


@needed
def test_a_model_is_converted_once_and_again_when_it_was_damaged(say: Say, monkeypatch: pytest.MonkeyPatch):
    asked = ["translate", "runs/translator", *SOME, "--engine", "ctranslate2"]
    plain, kept = heard(say, *asked), sorted((cache_folder() / "engines").glob("*/model.bin"))
    written: list[Path] = []

    def write(folder: Path, *given: object, **named: object) -> object:
        written.append(folder)
        return interchange.write_ctranslate2(folder, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(engines, "write_ctranslate2", write)
    assert heard(say, *asked) == plain
    assert not written
    for path in kept:
        path.write_bytes(path.read_bytes()[:-1])
    assert heard(say, *asked) == plain
    assert len(written) == 1


def refusal(say: Say, *words: str) -> str:
    code, out, err = say(*words)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    return err


@needed
@pytest.mark.parametrize(
    ("typed_too", "told"),
    [
        (["--sample"], "CTranslate2 draws from numbers that no seed fixes: leave --temperature out"),
        (["--stop", "zwei"], "CTranslate2 looks for no text to stop at: leave --stop out"),
        (["--no-repeat", "2"], "CTranslate2 has another rule against repetition"),
        (["--repetition-penalty", "1.2"], "CTranslate2 has another penalty for repetition"),
        (["--beam", "2", "--coverage-penalty", "0.2"], "CTranslate2 has another penalty for coverage"),
        (["--longest", "2048"], "more than the 2,048 that CTranslate2 is given positions for"),
        (["--with", "runs/translator"], "CTranslate2 asks one model, and an ensemble has several"),
    ],
)
def test_what_it_cannot_do_is_refused_and_left_to_the_plain_path_by_auto(say: Say, typed_too: list[str], told: str):
    asked = ["translate", "runs/translator", *SOME, *typed_too]
    assert told in refusal(say, *asked, "--engine", "ctranslate2")
    assert heard(say, *asked, "--engine", "auto") == heard(say, *asked)


@needed
def test_a_precision_that_the_processor_lacks_is_refused(say: Say, monkeypatch: pytest.MonkeyPatch):
    library = interchange.ctranslate2_library()
    monkeypatch.setattr(library, "get_supported_compute_types", lambda device: {"float32", "int8_float32"})
    asked = ["translate", "runs/translator", *SOME, "--engine", "ctranslate2", "--compute"]
    told = "CTranslate2 has no bfloat16 on this processor: choose another --precision"
    assert told in refusal(say, *asked, "bfloat16")
    monkeypatch.setattr(engines, "int8_is_exact", lambda: False)
    assert "CTranslate2 would compute int8 wrongly on this processor" in refusal(say, *asked, "int8")
    assert len(heard(say, *asked, "float32")) == len(SOME)


@needed
def test_int8_goes_the_plain_path_by_auto_where_ctranslate2_is_slow_in_it(say: Say, monkeypatch: pytest.MonkeyPatch):
    asked: list[CTranslate2Engine] = []
    decoded = CTranslate2Engine.decoded

    def noted(self: CTranslate2Engine, *given: Any, **named: Any) -> Any:
        asked.append(self)
        return decoded(self, *given, **named)

    monkeypatch.setattr(CTranslate2Engine, "decoded", noted)
    typed = ["translate", "runs/translator", *SOME, "--engine", "auto", "--compute"]
    for quick, precision, searches in ((True, "int8", 1), (False, "int8", 0), (False, "float32", 1)):
        monkeypatch.setattr(engines, "int8_is_quick", lambda quick=quick: quick)
        asked.clear()
        assert len(heard(say, *typed, precision)) == len(SOME)
        assert bool(asked) == bool(searches), (quick, precision)


def test_without_the_library_a_sentence_names_what_to_install(say: Say, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    told = "CTranslate2 is not installed: install it with `pip install 'seqwright[ctranslate2]'`, or use --engine plain"
    assert told in refusal(say, "translate", "runs/translator", *SOME, "--engine", "ctranslate2")
    assert told in refusal(say, "export", "runs/translator", "nowhere", "--to", "ctranslate2")
    plain = heard(say, "translate", "runs/translator", *SOME)
    assert heard(say, "translate", "runs/translator", *SOME, "--engine", "auto") == plain


@needed
def test_a_model_that_has_no_equal_there_is_refused_by_name(say: Say):
    told = "CTranslate2 has Transformers, GPT and BERT, and the model's encoder is a Ngram"
    assert told in refusal(say, "generate", "runs/ngrams", "one", "--greedy", "--engine", "ctranslate2")
    assert told in refusal(say, "export", "runs/ngrams", "elsewhere", "--to", "ctranslate2")


def test_an_engine_nobody_knows_is_refused(say: Say):
    assert "--engine is 'fast'; choose plain, ctranslate2 or auto" in refusal(
        say, "translate", "runs/translator", "one", "--engine", "fast"
    )


@needed
@pytest.mark.usefixtures("say")
def test_python_has_the_same(home: Path):
    folder = home / "runs/translator"
    plain, engined, auto = (sw.load(folder, engine=name) for name in ("plain", "ctranslate2", "auto"))
    assert plain.engine is None
    assert isinstance(auto.engine, CTranslate2Engine)
    assert [found.text for found in engined(SOME, beam=3)] == [found.text for found in plain(SOME, beam=3)]
    assert engined.evaluate("test", precision="int8").scores["exact"] == plain.evaluate("test").scores["exact"]
    assert engined("one").candidates[0].token_log_probabilities == []
    with pytest.raises(SettingError, match="leave temperature=… out, or use engine='plain'"):
        engined("one", temperature=1.0)
    assert auto("one", temperature=1.0, seed=2).text == plain("one", temperature=1.0, seed=2).text
    with pytest.raises(SettingError, match="an engine writes texts whole"):
        next(sw.load(home / "runs/gpt", engine="ctranslate2").stream("one"))
    with pytest.raises(sw.UserError, match="engine is 'fast', expected 'plain' or 'ctranslate2' or 'auto'"):
        sw.load(folder, engine="fast")  # type: ignore[arg-type]


@needed
@pytest.mark.usefixtures("say")
def test_threads_are_those_of_torch(home: Path, monkeypatch: pytest.MonkeyPatch):
    library, asked = interchange.ctranslate2_library(), list[int]()

    def make(folder: str, *, compute_type: str, intra_threads: int) -> object:
        asked.append(intra_threads)
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "Translator", make)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    with pytest.raises(KeyboardInterrupt):
        sw.load(home / "runs/translator", engine="ctranslate2")("one")
    assert asked == [3]


@needed
def test_a_run_that_was_moved_is_the_same_model(say: Say, home: Path):
    shutil.copytree(home / "runs/translator", home / "moved")
    asked = [*SOME, "--engine", "ctranslate2"]
    assert heard(say, "translate", "moved", *asked) == heard(say, "translate", "runs/translator", *asked)
