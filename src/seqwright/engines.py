"""Engines: other programs that compute with a run's weights, in place of our own path, which is called plain.

B batch · T time · D width
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from seqwright import __version__
from seqwright.cache import kept_folder
from seqwright.decoding.rules import limits
from seqwright.decoding.scoring import penalty
from seqwright.decoding.settings import DecodingSettings
from seqwright.devices import Precision, device_of
from seqwright.errors import RunError, SettingError
from seqwright.fingerprints import fingerprint_of
from seqwright.inputs.tokenizers import Tokenizer, tokenizer_of
from seqwright.interchange.ctranslate2 import (
    MKL,
    POSITIONS,
    Form,
    ctranslate2_form,
    ctranslate2_library,
    int8_is_exact,
    int8_is_quick,
    token_names,
    write_ctranslate2,
)
from seqwright.outputs.text_search import EngineHypothesis, Opening, Search
from seqwright.tasks.ensembles import EnsembleWires

if TYPE_CHECKING:
    from seqwright.runs import Run

EngineName = Literal["plain", "ctranslate2", "auto"]
FORMAT = 1
COMPUTE: Mapping[Precision, str] = {"float32": "float32", "int8": "int8_float32", "bfloat16": "bfloat16"}
# CTranslate2 stops where so many hypotheses per beam have ended, and not where none that lives can still win.
PATIENCE = 2.0
USUAL_LENGTH = 15  # tokens, at which its penalty for length, a plain power, grows as ours does


def with_engine(run: "Run", name: str | None) -> "Run":
    """The run with the engine of that name: None is the plain path, auto CTranslate2 where it serves and is as fast."""
    if name not in {None, *get_args(EngineName)}:
        raise SettingError(f"--engine is '{name}'; choose plain, ctranslate2 or auto")
    if name in {None, "plain"}:
        return run
    if name == "ctranslate2":
        return run._replace(engine=CTranslate2Engine(run))
    try:
        engine = CTranslate2Engine(run, optional=True)
        return run._replace(engine=engine) if device_of(run.model).type == "cpu" else run
    except (RunError, SettingError):  # it is not installed, or has no such model
        return run


class ConvertedModel(NamedTuple):
    """A model in the cache, and what it is to CTranslate2."""

    folder: Path
    form: Form


class CTranslate2Engine:
    """CTranslate2 with the weights of a run, on the CPU, with as many threads as torch has.

    Where it is `optional`, the plain path serves whenever it cannot. What is converted lies in the cache, by its
    content.
    """

    def __init__(self, run: "Run", *, optional: bool = False) -> None:
        self.library, self.optional = ctranslate2_library(), optional
        if isinstance(run.inputs, EnsembleWires):
            raise RunError("CTranslate2 asks one model, and an ensemble has several: use the plain engine")
        self.run = run
        self.form = ctranslate2_form(run.model)
        self._loaded: dict[tuple[bool, Precision], Any] = {}

    # ------------------------------------------------------------------------------------------------ what it can do

    def lacks(self, search: Search, batch: Any, opening: Opening) -> str | None:
        """What of a search it cannot do, and what to do then; None where it can do all of it."""
        settings = search.settings
        lacking = {
            "--temperature": "draws from numbers that no seed fixes" if settings.temperature else "",
            "--stop": "looks for no text to stop at" if settings.stop else "",
            "--no-repeat": "has another rule against repetition" if settings.no_repeat else "",
            "--repetition-penalty": "has another penalty for repetition" if settings.repetition_penalty != 1 else "",
            "--coverage-penalty": "has another penalty for coverage" if _covers(settings) else "",
        }
        for option, told in lacking.items():
            if told:
                return f"CTranslate2 {told}: leave {option} out, or use --engine plain"
        if search.watch is not None:
            return "CTranslate2 does not show how a beam grows: use --engine plain"
        longest = int(batch.input.shape[1]) + int(torch.as_tensor(opening.steps).max())
        if self.form == "translator" and longest > POSITIONS:
            return (
                f"a text and what may be written of it have {longest:,} tokens, more than the {POSITIONS:,} that "
                "CTranslate2 is given positions for: shorten it, or use --engine plain"
            )
        return self._lacks_precision(settings.precision)

    def _lacks_precision(self, precision: Precision) -> str | None:
        if COMPUTE[precision] not in self.library.get_supported_compute_types("cpu"):
            return (
                f"CTranslate2 has no {precision} on this processor: choose another --precision, or use --engine plain"
            )
        if precision == "int8" and self.optional and not int8_is_quick():
            return "CTranslate2 is slow in int8 on a processor without instructions for it: use --engine plain"
        if precision == "int8" and not int8_is_exact():
            return (
                f"CTranslate2 would compute int8 wrongly on this processor, since {MKL}=1 was not in the environment "
                "as it was loaded: set it there, or use --precision float32"
            )
        return None

    # ------------------------------------------------------------------------------------------------ searching

    def decoded(
        self, batch: Any, settings: DecodingSettings, opening: Opening, *, forbidden: Sequence[int]
    ) -> list[list[EngineHypothesis]]:
        """The `n_best` continuations of each row, best first, as `decoding.decoded` has them.

        Rows that may choose equally many tokens are searched for together: there the limit is one for all.
        """
        limit_B = limits(opening.steps, opening.first_B).tolist()
        rows = sorted(range(len(limit_B)), key=limit_B.__getitem__)
        found: dict[int, list[EngineHypothesis]] = {}
        for limit, group in groupby(rows, key=limit_B.__getitem__):
            some = list(group)
            several = self._searched(batch, some, settings, opening, limit=limit, forbidden=forbidden)
            found |= dict(zip(some, several, strict=True))
        return [found[row] for row in range(len(limit_B))]

    def _searched(
        self,
        batch: Any,
        rows: Sequence[int],
        settings: DecodingSettings,
        opening: Opening,
        *,
        limit: int,
        forbidden: Sequence[int],
    ) -> Iterator[list[EngineHypothesis]]:
        target = tokenizer_of(self.run.output)
        names, beam = token_names(target).tokens, settings.beam
        # Without a penalty it finds what we do. With one it ranks by another, by which it would leave out what ours
        # ranks first: so it is asked for all that it may be asked for.
        alpha = settings.length_penalty * USUAL_LENGTH / (5 + USUAL_LENGTH)
        asked: dict[str, Any] = {
            "beam_size": beam,
            "num_hypotheses": round(beam * PATIENCE) if alpha and beam > 1 else settings.n_best,
            "patience": PATIENCE if beam > 1 else 1,
            "length_penalty": alpha,
            "suppress_sequences": [[names[token]] for token in forbidden],
            "return_scores": True,
            "return_end_token": True,
        }
        prefixes = _prefixes(opening, rows)
        loaded = self._model(settings.precision)
        if self.form == "translator":
            most = limit + len(prefixes[0])  # the prefix is the same for all
            answers = loaded.translate_batch(
                [_named(batch.input[row][batch.real[row]][:-1], self.run.inputs.tokenizer) for row in rows],
                [[names[token] for token in prefix] for prefix in prefixes] if prefixes[0] else None,
                max_input_length=0,
                max_decoding_length=most,
                min_decoding_length=settings.shortest + len(prefixes[0]),
                **asked,
            )
            numbers = {name: number for number, name in enumerate(names)}
            found = ([[numbers[token] for token in tokens] for tokens in answer.hypotheses] for answer in answers)
            skipped = len(prefixes[0])
        else:
            first = opening.first_B.tolist()
            starts = [[first[row], *prefix] for row, prefix in zip(rows, prefixes, strict=True)]
            answers = loaded.generate_batch(
                [[names[token] for token in start] for start in starts],
                max_length=limit,
                min_length=settings.shortest,
                include_prompt_in_result=False,
                **asked,
            )
            found, skipped = (answer.sequences_ids for answer in answers), 0
        for answer, several in zip(answers, found, strict=True):
            ranked = [
                _hypothesis(tokens[skipped:], score * len(tokens) ** alpha, settings, target.end)
                for tokens, score in zip(several, answer.scores, strict=True)
            ]
            yield sorted(ranked, key=lambda each: (not each.finished, -each.score))[: settings.n_best]

    # ------------------------------------------------------------------------------------------------ vectors

    def lacks_vectors(self, pooling: str, precision: Precision) -> str | None:
        """What of making vectors it cannot do, and what to do then."""
        try:
            ctranslate2_form(self.run.model, vectors=True)
        except RunError as error:
            return str(error)
        if pooling == "thought":
            return "CTranslate2 knows no thought vector: choose another --pooling, or use --engine plain"
        return self._lacks_precision(precision)

    def contextual(self, input_BT: Tensor, real_BT: Tensor, precision: Precision) -> Tensor:
        """`contextual_BTD`: what the last layer makes of each token; those at padding mean nothing."""
        length_B = real_BT.sum(1).int().numpy()
        view = self.library.StorageView.from_array
        encoded = self._model(precision, vectors=True).forward_batch(
            view(input_BT.int().contiguous().numpy()), view(length_B)
        )
        return torch.from_numpy(np.array(encoded.last_hidden_state))

    # ------------------------------------------------------------------------------------------------ loading

    def _model(self, precision: Precision, *, vectors: bool = False) -> Any:
        """The model as CTranslate2 has it in memory, in a precision; it rounds on loading."""
        key = (vectors, precision)
        if key not in self._loaded:
            folder, form = converted_run(self.run, vectors=vectors)
            makers = {"translator": "Translator", "generator": "Generator", "encoder": "Encoder"}
            make = getattr(self.library, makers[form])
            threads = torch.get_num_threads()
            self._loaded[key] = make(str(folder), compute_type=COMPUTE[precision], intra_threads=threads)
        return self._loaded[key]


def converted_run(run: "Run", *, vectors: bool = False) -> ConvertedModel:
    """The model of a run in the cache, as CTranslate2 reads it; written when it is first asked for."""
    form = ctranslate2_form(run.model, vectors=vectors)
    key = f"ctranslate2 {FORMAT} {__version__} {form} {fingerprint_of(run)}"

    def write(aside: Path) -> None:
        write_ctranslate2(aside, run.model, *tokenizers_of(run), vectors=vectors)

    return ConvertedModel(kept_folder(key, write, "engines"), form)


def tokenizers_of(run: "Run") -> tuple[Tokenizer, Tokenizer]:
    """That of what is read and that of what is written, which may be one."""
    source = run.inputs.tokenizer
    return source, tokenizer_of(run.output) if run.output.writes else source


def _covers(settings: DecodingSettings) -> bool:
    return bool(settings.coverage_penalty) and settings.beam > 1


def _prefixes(opening: Opening, rows: Sequence[int]) -> list[list[int]]:
    """What each row is made to begin with."""
    if opening.prefix is None:
        return [[] for _ in rows]
    tokens_BT, real_BT = opening.prefix[:2]
    return [tokens_BT[row][real_BT[row]].tolist() for row in rows]


def _named(tokens_T: Tensor, tokenizer: Tokenizer) -> list[str]:
    return tokenizer.pieces(tokens_T.tolist())


def _hypothesis(chosen: list[int], total: float, settings: DecodingSettings, end: int) -> EngineHypothesis:
    """What was chosen, scored as our own search scores it."""
    score = total / float(penalty(len(chosen), settings.length_penalty)) if settings.beam > 1 else total
    finished = chosen[-1:] == [end]
    return EngineHypothesis(chosen[:-1] if finished else chosen, total, score, finished)
