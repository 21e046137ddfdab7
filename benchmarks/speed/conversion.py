"""A Transformer as a CTranslate2 model, with tokens whose names are their numbers."""

from pathlib import Path

from seqwright.inputs.tokenizers import BEGIN, END, PAD, UNKNOWN
from seqwright.interchange.ctranslate2 import TokenNames, ctranslate2_spec
from seqwright.models.encoder_decoder import EncoderDecoder

NAMES = {PAD: "<blank>", UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}


def tokens_of(size: int) -> list[str]:
    """The names of a vocabulary."""
    return [NAMES.get(number, f"t{number}") for number in range(size)]


def convert(model: EncoderDecoder, folder: Path, tokens: list[str]) -> None:
    """Write a Transformer as a CTranslate2 model in float32."""
    names = TokenNames(tokens, NAMES[BEGIN], NAMES[END], NAMES[UNKNOWN])
    ctranslate2_spec("translator", model, names, names).save(str(folder))
