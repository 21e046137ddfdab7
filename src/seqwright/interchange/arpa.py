"""ARPA files: n-gram models as text, which KenLM, SRILM and others read and write.

A line holds the logarithm to base 10 of an n-gram's probability, its words, and the weight it has as a context, which
the longest n-grams lack and others may leave out. `<s>` begins a text, `</s>` ends it, `<unk>` is any other word.

G n-grams of an order · N words of an n-gram · V vocabulary
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, repeat, takewhile
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from seqwright.data.files import bounded_lines
from seqwright.errors import DataError, SettingError
from seqwright.models.ngram import Ngram, NgramSettings
from seqwright.models.ngram_counts import Integers
from seqwright.models.ngram_estimates import Estimate, Floats, OrderTable
from seqwright.whole_file import written_whole

BEGIN, END, UNKNOWN, PADDING = "<s>", "</s>", "<unk>", "<pad>"
AT_ONCE = 10_000  # lines
ROUNDING = 1e-4  # by which the logarithm of 1 may be above 0
SIZE = re.compile(rb"\d{1,15}")  # how many n-grams of an order there may be
ZERO = -99.0  # what stands for the logarithm of 0


class FromArpa(NamedTuple):
    """A model read from a file, and how many n-grams were left out since they have words that are no pieces."""

    model: Ngram
    left_out: int


class Section(NamedTuple):
    """The n-grams of one order as they stand in a file; a word that is no piece is -1."""

    tokens_GN: Integers
    logp_G: Floats
    weight_G: Floats


def write_arpa(model: Ngram, path: Path, pieces: Sequence[str]) -> None:
    """Write a model; `pieces` are the strings of its tokens, `<s>` that of the token which begins a text.

    A path that ends in .gz is compressed. Numbers have nine digits, more than other programs keep of them; a
    probability of 0 becomes 10^-99. Maximum likelihood and add-k, which do not back off to shorter contexts, have no
    such form.
    """
    _check_pieces(model, pieces)
    word_V = np.array(pieces, dtype=object)
    sizes = [storage.ngrams for storage in model.storage()]
    sizes[0] += 1  # <s>, which is only context
    with written_whole(path) as file:
        file.write("\\data\\\n" + "".join(f"ngram {n}={size}\n" for n, size in enumerate(sizes, start=1)))
        for n in range(1, len(sizes) + 1):
            file.write(f"\n\\{n}-grams:\n")
            for tokens, logp, weight in _rows(model, n):
                words = (" ".join(row) for row in word_V[tokens])
                if n < len(sizes):
                    lines = map("%.9g\t%s\t%.9g\n".__mod__, zip(logp, words, weight, strict=True))
                else:
                    lines = map("%.9g\t%s\n".__mod__, zip(logp, words, strict=True))
                file.writelines(lines)
        file.write("\n\\end\\\n")


def read_arpa(path: Path, pieces: Sequence[str]) -> FromArpa:
    """The model in a file, for the tokens whose strings are `pieces`; those it does not have are to it `<unk>`.

    n-grams with words that are no pieces are left out. A path that ends in .gz is compressed.
    """
    number = {piece.encode(): token for token, piece in enumerate(pieces)}
    if BEGIN.encode() not in number:
        raise DataError(f"{path}: a text begins with '{BEGIN}' in ARPA files, which is not among the pieces")
    padding, begin, unknown = (number.get(piece.encode(), -1) for piece in (PADDING, BEGIN, UNKNOWN))
    number.setdefault(UNKNOWN.upper().encode(), unknown)
    with _opened(path) as lines:
        sizes = _sizes(lines)
        sections = [_section(lines, n, size, number) for n, size in enumerate(sizes, start=1)]
    model = Ngram(NgramSettings(order=len(sizes)), vocabulary=len(pieces), padding=padding, begin=begin)
    known = [section.tokens_GN.min(axis=1, initial=0) >= 0 for section in sections]
    left_out = sum(int((~known_G).sum()) for known_G in known)
    kept = [Section(*(array[known_G] for array in section)) for section, known_G in zip(sections, known, strict=True)]
    model.adopt(_estimate(path, kept, model, unknown))
    return FromArpa(model, left_out)


def read_words(path: Path) -> list[str]:
    """The words that a file knows, in its order, without those that stand for something else: `<s>` and its like."""
    with _opened(path) as lines:
        left = _sizes(lines)[0]
        _take_heading(lines, 1)
        words: dict[bytes, None] = {}
        while some := lines.take(min(left, AT_ONCE)):
            left -= len(some)
            words.update(dict.fromkeys(_columns(lines, some, 1)[1]))
    for meaning in (PADDING, BEGIN, END, UNKNOWN, UNKNOWN.upper()):
        words.pop(meaning.encode(), None)
    try:
        return [word.decode() for word in words]
    except UnicodeDecodeError as error:
        raise DataError(f"{path} has the word {error.object!r}, which is not UTF-8; convert the file") from error


# ------------------------------------------------------------------------------------------------ writing


def _check_pieces(model: Ngram, pieces: Sequence[str]) -> None:
    if model.only_longest:
        raise SettingError(
            f"an ARPA file holds models that back off to shorter contexts, and {model.settings.smoothing} does not; "
            "take stupid-backoff, kneser-ney or modified-kneser-ney"
        )
    if len(pieces) != model.vocabulary:
        raise DataError(f"the model has {model.vocabulary} tokens, but {len(pieces)} pieces were given")
    if pieces[model.begin] != BEGIN:
        raise DataError(f"token {model.begin} begins a text and must be '{BEGIN}', not '{pieces[model.begin]}'")
    for token, piece in enumerate(pieces):
        if [piece.encode()] != piece.encode().split():
            raise DataError(f"token {token} is {piece!r}, and a word of an ARPA file is neither empty nor has spaces")
    if len(set(pieces)) < len(pieces):
        twice = next(piece for token, piece in enumerate(pieces) if piece in pieces[:token])
        raise DataError(f"two tokens are both '{twice}'; in an ARPA file they would be one word")


def _rows(model: Ngram, n: int) -> Iterator[tuple[Integers, list[float], list[float]]]:
    """The n-grams of an order, many at a time: their tokens, probabilities and weights."""
    scale = np.log(10)
    if n == 1:
        logp_G = model.base_V.cpu().double().numpy() / scale
        logp_G[model.begin] = 0.0  # as lmplz has it: <s> is given, so it costs nothing
        place_G = np.flatnonzero(np.isfinite(logp_G))
    else:
        logp_G = model.table(n).logp_G.cpu().double().numpy() / scale
        place_G = np.arange(len(logp_G))
    top = n == model.settings.order
    weight_G = np.zeros_like(logp_G) if top else model.table(n + 1).weight_C[:-1].cpu().double().numpy() / scale
    for low in range(0, len(place_G), AT_ONCE):
        some = place_G[low : low + AT_ONCE]
        yield _tokens(model, n, some), *(np.maximum(value_G[some], ZERO).tolist() for value_G in (logp_G, weight_G))


def _tokens(model: Ngram, n: int, place_G: Integers) -> Integers:
    """The tokens of some n-grams: the last from the key, those before it from the contexts' keys."""
    columns = []
    for order in range(n, 1, -1):
        key_G = model.table(order).key_G.cpu().numpy()[place_G]
        columns.append(key_G % model.vocabulary)
        place_G = key_G // model.vocabulary
    return np.stack([place_G, *reversed(columns)], axis=1)


# ------------------------------------------------------------------------------------------------ reading


class ArpaLines:
    """The lines of a file, and the number of the last one taken."""

    def __init__(self, path: Path, file: Iterable[bytes]) -> None:
        self.path, self.place, self._lines = path, 0, iter(file)

    def take(self, many: int) -> list[bytes]:
        """The next lines, fewer at the end of the file."""
        taken = list(islice(self._lines, many))
        self.place += len(taken)
        return taken

    def __iter__(self) -> Iterator[bytes]:
        while taken := self.take(1):
            yield taken[0].strip()

    def wrong(self, expected: str, line: bytes, back: int = 0) -> DataError:
        """What to raise about a line, `back` lines before the last one taken."""
        found = line.strip()[:100].decode(errors="replace")
        return DataError(f"{self.path}:{self.place - back} has '{found}', expected {expected}")


@contextmanager
def _opened(path: Path) -> Iterator[ArpaLines]:
    """The lines of a file, plain or .gz."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield ArpaLines(path, bounded_lines(cast(IO[bytes], file), path))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _take_heading(lines: ArpaLines, n: int) -> None:
    """Go to where the n-grams of an order begin."""
    heading = next(filter(None, lines), b"nothing more")
    if heading != b"\\%d-grams:" % n:
        raise lines.wrong(f"'\\{n}-grams:'", heading)


def _sizes(lines: ArpaLines) -> list[int]:
    """How many n-grams of each order the head of a file promises."""
    if not any(line == b"\\data\\" for line in lines):
        raise DataError(f"{lines.path} is no ARPA file: it has no line '\\data\\'")
    sizes: list[int] = []
    for line in takewhile(bool, lines):
        order, _, size = line.removeprefix(b"ngram ").partition(b"=")
        if order.strip() != b"%d" % (len(sizes) + 1) or not SIZE.fullmatch(size.strip()):
            raise lines.wrong(f"'ngram {len(sizes) + 1}=NUMBER'", line)
        sizes.append(int(size))
    if not 1 <= len(sizes) <= 6:
        raise DataError(f"{lines.path} has n-grams of {len(sizes)} orders; there are models of order 1 to 6")
    return sizes


def _section(lines: ArpaLines, n: int, size: int, number: dict[bytes, int]) -> Section:
    """The n-grams of one order."""
    _take_heading(lines, n)
    parts = [Section(np.empty((0, n), dtype=np.int64), np.empty(0), np.empty(0))]
    left = size
    while some := lines.take(min(left, AT_ONCE)):
        left -= len(some)
        first, *words, last = _columns(lines, some, n)
        tokens_GN = np.stack([np.fromiter(map(number.get, column, repeat(-1)), np.int64) for column in words], axis=1)
        try:
            logp_G, weight_G = (np.array(column).astype(np.float64) * np.log(10) for column in (first, last))
        except ValueError as error:
            where = f"{lines.path}, line {lines.place - len(some) + 1} on"
            raise DataError(f"{where}: a {n}-gram has numbers before and after its words; {error}") from None
        _refuse_impossible(lines, some, logp_G, weight_G)
        parts.append(Section(tokens_GN, logp_G, weight_G))
    if left:
        raise DataError(f"{lines.path} ends after {size - left} of {size} {n}-grams")
    return Section(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _refuse_impossible(lines: ArpaLines, some: list[bytes], logp_G: Floats, weight_G: Floats) -> None:
    """Refuse what is no logarithm of a probability, and weights that are no number; -inf is that of 0."""
    wrong_G = ~(logp_G <= ROUNDING) | np.isnan(weight_G) | (weight_G == np.inf)
    if wrong_G.any():
        i = int(np.argmax(wrong_G))
        expected = "a logarithm of a probability, at most 0, before the words, and a finite weight after them"
        raise lines.wrong(expected, some[i], back=len(some) - 1 - i)


def _columns(lines: ArpaLines, some: list[bytes], n: int) -> Sequence[Sequence[bytes]]:
    """The fields of lines taken last, column by column: a probability, n words, and a weight, 0 where there is none."""
    fields = b"".join(some).split()
    for width, missing in ((n + 2, []), (n + 1, [[b"0"] * len(some)])):
        # The usual case, and much faster: all lines have as many fields, and begin with every so manieth.
        if len(fields) == width * len(some) and all(map(bytes.startswith, some, fields[::width])):
            return [*(fields[i::width] for i in range(width)), *missing]
    rows = [line.split() for line in some]
    for i, row in enumerate(rows):
        if len(row) - n not in {1, 2}:
            raise lines.wrong(f"a {n}-gram", some[i], back=len(some) - 1 - i)
    return list(zip(*((*row, b"0")[: n + 2] for row in rows), strict=True))


def _estimate(path: Path, sections: list[Section], model: Ngram, unknown: int) -> Estimate:
    """The sections as sorted tables."""
    tokens_G1, logp_G, weight_G = sections[0]
    seen_G = tokens_G1[:, 0]
    base_V, weight_V = np.full(model.vocabulary, -np.inf), np.zeros(model.vocabulary)
    if unknown in seen_G:  # what the file does not name is <unk> to it
        base_V[:], weight_V[:] = logp_G[seen_G == unknown][0], weight_G[seen_G == unknown][0]
    base_V[seen_G], weight_V[seen_G] = logp_G, weight_G
    base_V[~model.predicted_V] = -np.inf

    tables: list[OrderTable] = []
    for n, (tokens_GN, logp_G, weight_G) in enumerate(sections[1:], start=2):
        context_G = tokens_GN[:, 0]
        for token_G, table in zip(tokens_GN.T[1:-1], tables, strict=True):
            target_G = context_G * model.vocabulary + token_G
            context_G = np.searchsorted(table.key_G, target_G)
            if not np.isin(target_G, table.key_G).all():
                raise DataError(f"{path} has {n}-grams whose first {n - 1} words are not among its {n - 1}-grams")
        key_G = context_G * model.vocabulary + tokens_GN[:, -1]
        order_G = np.argsort(key_G)
        if (np.diff(key_G[order_G]) == 0).any():
            raise DataError(f"{path} has a {n}-gram twice")
        tables.append(OrderTable(key_G[order_G], logp_G[order_G], np.append(weight_V, 0.0)))
        weight_V = weight_G[order_G]
    return Estimate(base_V, tables)
