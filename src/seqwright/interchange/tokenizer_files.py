"""Tokenizers in the files of other programs: tokenizer.json, or the vocabularies that came before it."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from seqwright.errors import DataError, RunError
from seqwright.inputs.foreign_tokenizers import ForeignTokenizer, closing_token
from seqwright.inputs.own_tokenizers import OwnTokenizer
from seqwright.inputs.tokenizers import ROLES, Tokenizer
from seqwright.inputs.vocabularies import CONTINUATION, SPACE
from seqwright.interchange.weight_files import read_json, write_json
from seqwright.whole_file import write_whole

WHOLE, SETTINGS = "tokenizer.json", "tokenizer_config.json"
BYTE_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
WORD_PIECES = "vocab.txt"
SPECIAL = {name for names in ROLES.values() for name in names}
# What a role is called in tokenizer_config.json; BERT has other names for what begins and ends a text.
NAMES: dict[str, tuple[str, ...]] = {"begin": ("bos_token", "cls_token"), "end": ("eos_token", "sep_token")}
NAMES |= {"unknown": ("unk_token",), "mask": ("mask_token",), "pad": ("pad_token",)}


def read_tokenizer(folder: Path, *, causal: bool) -> Tokenizer:
    """The tokenizer of a folder, of a model that reads only what is before, or all at once.

    It is tried on a word: a pattern that the library cannot handle makes its Rust panic, which is no `Exception`, and
    what else it cannot do is an `Exception` of no kind.
    """
    try:
        tokenizer = _read(folder, causal=causal)
        tokenizer.encode(["It's 1 try."])
    except BaseException as error:
        if type(error).__name__ != "PanicException" and type(error) is not Exception:
            raise
        raise DataError(f"the tokenizer of {folder} cannot be used ({error}): get it again") from error
    return tokenizer


def _read(folder: Path, *, causal: bool) -> Tokenizer:
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    if (folder / WHOLE).is_file():
        tokenizer = Tokenizer.load(folder / WHOLE)
        return _ended(tokenizer, settings) if causal else tokenizer
    for vocabulary, merges in BYTE_PAIRS:
        if (folder / vocabulary).is_file() and (folder / merges).is_file():
            return _finished(_byte_pairs(folder / vocabulary, folder / merges, settings), folder)
    if (folder / WORD_PIECES).is_file():
        return _finished(_word_pieces(folder / WORD_PIECES, settings, causal=causal), folder)
    raise DataError(
        f"{folder} has no tokenizer: expected {WHOLE}, or {WORD_PIECES}, or vocab.json with merges.txt; copy it there "
        "from where the model came from"
    )


def _ended(tokenizer: Tokenizer, settings: dict[str, Any]) -> Tokenizer:
    """The tokenizer with the end that its settings name.

    Of a model that writes, the file of the tokenizer does not say it: it would put the end after each prompt.
    """
    named = settings.get("eos_token")
    name = str(named.get("content") if isinstance(named, dict) else named)
    if tokenizer.special.get(name, tokenizer.end) == tokenizer.end:
        return tokenizer
    plain = json.loads(tokenizer.json())
    closed = _closed_with(plain["post_processor"], {name: tokenizer.special[name]})
    if closing_token(closed) != name:  # there is no step that could do it
        closed = _as_json("post_processor", _ending(name, tokenizer.special[name]))["post_processor"]
    return ForeignTokenizer.checked(tokenizers.Tokenizer.from_str(json.dumps(plain | {"post_processor": closed})))


def _ending(name: str, number: int) -> processors.TemplateProcessing:
    """What tells a `ForeignTokenizer` which token ends a text."""
    return processors.TemplateProcessing(single=["$A", name], special_tokens=[(name, number)])


def _closed_with(step: Any, ends: dict[str, int]) -> Any:
    """A step of the library's JSON with these tokens after a text in place of its own; what stands before it stays."""
    match step:
        case {"type": "Sequence", "processors": several}:
            return {**step, "processors": [_closed_with(one, ends) for one in several]}
        case {"type": "BertProcessing" | "RobertaProcessing", "cls": [name, number]}:
            single, pair = [name, "$A"], [name, "$A", "$B"]
            template = processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(name, number)])
            return _closed_with(_as_json("post_processor", template)["post_processor"], ends)
        case {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known}:
            known = known | {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in ends.items()}
            closed = {"single": _template_with(single, ends), "pair": _template_with(pair, ends)}
            return {**step, **closed, "special_tokens": known}
        case _:
            return step


def _template_with(places: list[Any], ends: Iterable[str]) -> list[Any]:
    """A template up to its last text, and these tokens after it."""
    texts = [number for number, place in enumerate(places, 1) if "Sequence" in place]
    return [*places[: max(texts, default=0)], *({"SpecialToken": {"id": name, "type_id": 0}} for name in ends)]


def _finished(library: tokenizers.Tokenizer, folder: Path) -> Tokenizer:
    """A built tokenizer with its special tokens, and those that were added later."""
    known = library.get_vocab()
    names = sorted((name for name in known if name in SPECIAL), key=lambda name: known[name])
    # A space before a mask belongs to it: RoBERTa learnt it so.
    library.add_special_tokens(
        [AddedToken(name, special=True, normalized=False, lstrip=name == "<mask>") for name in names]
    )
    if (folder / "added_tokens.json").is_file():
        added = read_json(folder / "added_tokens.json")
        library.add_special_tokens(sorted((name for name in added if name not in known), key=lambda name: added[name]))
    try:
        return ForeignTokenizer.checked(library)
    except RunError as error:
        raise DataError(f"{folder}: {error}") from error


def _byte_pairs(vocabulary: Path, merges: Path, settings: dict[str, Any]) -> tokenizers.Tokenizer:
    """GPT-2's and RoBERTa's: pairs of bytes that are merged."""
    numbered = read_json(vocabulary)
    lines = [line for line in _lines(merges) if line and not line.startswith("#version")]
    pairs = [(left, right) for left, _, right in (line.partition(" ") for line in lines)]
    try:
        library = tokenizers.Tokenizer(models.BPE(numbered, pairs))
    except Exception as problem:  # the library raises bare exceptions
        raise DataError(f"{vocabulary} and {merges.name} do not fit together ({problem}): get both again") from None
    before = bool(settings.get("add_prefix_space", False))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=before)
    library.decoder = decoders.ByteLevel()
    library.post_processor = processors.ByteLevel(trim_offsets=False)
    if {"<s>", "</s>"} <= numbered.keys():
        end, begin = (("</s>", numbered["</s>"]), ("<s>", numbered["<s>"]))
        library.post_processor = processors.RobertaProcessing(end, begin, add_prefix_space=before)
    return library


def _word_pieces(path: Path, settings: dict[str, Any], *, causal: bool) -> tokenizers.Tokenizer:
    """BERT's: the pieces of words, a line each. Where no piece stands inside a word, a piece is a letter or a word."""
    names = _lines(path)
    numbered = {name: number for number, name in enumerate(names)}
    ordinary = [name for name in names if not (name.startswith("[") and name.endswith("]"))]
    if not any(name.startswith(CONTINUATION) for name in names):
        library = _whole_tokens(numbered, letters=max(map(len, ordinary), default=0) <= 1)
        if causal and "[CLS]" in numbered:  # which comes last there: what stands before it decides it
            library.post_processor = _ending("[CLS]", numbered["[CLS]"])
        return library
    library = tokenizers.Tokenizer(models.WordPiece(numbered, unk_token="[UNK]", max_input_chars_per_word=100))
    library.normalizer = normalizers.BertNormalizer(
        lowercase=bool(settings.get("do_lower_case", True)),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
    )
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    if {"[CLS]", "[SEP]"} <= numbered.keys():
        library.post_processor = processors.BertProcessing(*((name, numbered[name]) for name in ("[SEP]", "[CLS]")))
    return library


def _whole_tokens(numbered: dict[str, int], *, letters: bool) -> tokenizers.Tokenizer:
    """Such as IgLM's: a letter for each amino acid, and names in brackets, which may be written in a text."""
    library = tokenizers.Tokenizer(models.WordLevel(numbered, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if letters:
        each = pre_tokenizers.Split(Regex("."), "isolated")
        library.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), each])
        library.decoder = decoders.Fuse()
    bracketed = [name for name in numbered if name.startswith("[") and name.endswith("]") and name not in SPECIAL]
    library.add_tokens([AddedToken(name, special=False, normalized=False) for name in bracketed])
    return library


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as UTF-8 text ({error}): get it again") from error


# ---------------------------------------------------------------------------------------------------- writing


def write_tokenizer(tokenizer: Tokenizer, folder: Path, *, context: int, around: bool, segments: bool) -> None:
    """tokenizer.json and tokenizer_config.json.

    `around` says whether a text is read between begin and end, `segments` whether the model tells two texts apart.
    """
    plain = json.loads(tokenizer.json())
    if isinstance(tokenizer, OwnTokenizer):
        plain |= _joining(tokenizer) | _surrounding(tokenizer, around=around)
        plain["added_tokens"] = _declared(tokenizer)
    elif not around:  # what is written on from a prompt must not begin after its end
        plain["post_processor"] = _closed_with(plain["post_processor"], {})
    write_whole(folder / WHOLE, json.dumps(plain, ensure_ascii=False, indent=1))
    roles = {role: getattr(tokenizer, role) for role in ROLES}
    named = {
        name: tokenizer.pieces([number])[0]
        for role, number in roles.items()
        if number is not None
        for name in NAMES[role]
    }
    rest: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": context}
    rest["clean_up_tokenization_spaces"] = False
    rest["model_input_names"] = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    write_json(folder / SETTINGS, rest | named)


def _joining(tokenizer: OwnTokenizer) -> dict[str, Any]:
    """How our pieces become text again, in the library's words; we do that ourselves."""
    steps: list[decoders.Decoder] = []
    if tokenizer.kind == "wordpiece":
        steps.append(decoders.Replace(Regex(f"^{CONTINUATION}"), ""))
    steps += [decoders.Replace(SPACE, " "), decoders.Fuse()]
    if tokenizer.kind != "characters":
        steps.append(decoders.Strip(" ", 1, 0))
    return _as_json("decoder", decoders.Sequence(steps))


def _surrounding(tokenizer: OwnTokenizer, *, around: bool) -> dict[str, Any]:
    if not around:
        return {}
    begin, end = tokenizer.pieces([tokenizer.begin, tokenizer.end])
    pair = f"{begin} $A {end} $B:1 {end}:1"
    ends = [(begin, tokenizer.begin), (end, tokenizer.end)]
    template = processors.TemplateProcessing(single=f"{begin} $A {end}", pair=pair, special_tokens=ends)
    return _as_json("post_processor", template)


def _as_json(part: str, thing: Any) -> dict[str, Any]:
    library = tokenizers.Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    setattr(library, part, thing)
    return {part: json.loads(library.to_str())[part]}


def _declared(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Every special token as one, so that other programs skip them in decoding."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    by_number = sorted(tokenizer.special.items(), key=lambda item: item[1])
    return [{"id": number, "content": name, **flags} for name, number in by_number]
