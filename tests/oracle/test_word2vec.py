"""Word vectors as text, read by a parser that follows the format's description and nothing of ours.

The description (the program word2vec, and gensim's `KeyedVectors.load_word2vec_format`, which reads lines of bytes and
cuts them at single spaces): a first line `count width`, then `count` lines of a word and `width` numbers.
"""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from seqwright.errors import DataError
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.interchange.word2vec import write_word2vec


def parsed(content: bytes) -> tuple[list[str], NDArray[np.float32]]:
    lines = content.split(b"\n")
    assert lines.pop() == b""  # every line is closed
    count, width = (int(number) for number in lines[0].split())
    assert len(lines) == count + 1
    words, rows = [], []
    for line in lines[1:]:
        word, *numbers = line.rstrip().decode("utf-8").split(" ")
        assert [word, *numbers] == line.decode("utf-8").split()  # also for those who cut at any white space
        assert len(numbers) == width
        words.append(word)
        rows.append(np.array([np.float32(number) for number in numbers]))
    assert len(set(words)) == count
    return words, np.stack(rows)


@pytest.mark.parametrize("name", ["out.vec", "out.vec.gz"])
def test_every_vector_is_read_back_to_the_bit(name: str, tmp_path: Path) -> None:
    draw = torch.Generator().manual_seed(1)
    vector_VD = torch.randn(1013, 7, generator=draw) * 10.0 ** torch.randint(-9, 9, (1013, 1), generator=draw)
    words = [f"w{i}" for i in range(1012)] + ["猫"]
    write_word2vec(tmp_path / name, words, vector_VD)
    content = (tmp_path / name).read_bytes()
    found, numbers = parsed(gzip.decompress(content) if name.endswith(".gz") else content)
    assert found == words
    assert np.array_equal(numbers, vector_VD.numpy())
    assert [path.name for path in tmp_path.iterdir()] == [name]
    write_word2vec(tmp_path / name, words, vector_VD)
    assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("kind", ["characters", "words", "bpe", "wordpiece"])
def test_tokens_that_are_white_space_can_be_told_apart(kind: str, tmp_path: Path) -> None:
    text = "a b\n\tc\u00a0d\u2028 e  <s> <0x0A> \\n ▁ ,a"
    tokenizer = Tokenizer.train([text], TokenizerSettings.model_validate({"tokenizer": kind, "vocabulary": 99}))
    write_word2vec(tmp_path / "out.vec", tokenizer.spellings(), torch.arange(tokenizer.size).float().unsqueeze(1))
    words, numbers = parsed((tmp_path / "out.vec").read_bytes())
    assert numbers[:, 0].tolist() == list(range(tokenizer.size))
    assert words[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    (line_feed,) = tokenizer.encode(["x\n"])[0].tolist()[-1:]
    assert tokenizer.decode([line_feed]) == "\n"
    assert words[line_feed].removeprefix("##") == "<0x0A>"


def test_a_file_that_cannot_be_written_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no.out.vec cannot be written: No such file or directory"):
        write_word2vec(tmp_path / "no" / "out.vec", ["a"], torch.ones(1, 3))
    (tmp_path / "out.vec").write_text("before", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_word2vec(tmp_path / "out.vec", ["a", "\ud800"], torch.ones(2, 3))
    assert (tmp_path / "out.vec").read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.vec"]
