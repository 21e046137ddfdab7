"""How fast do recurrent models train and decode, beside JoeyNMT and a minimal loop around torch's own nn.LSTM?

A translator with Bahdanau's attention (GRUs of width 384, a bidirectional encoder, input feeding) beside JoeyNMT's of
the same widths: training on made-up pairs with the lengths of captions, and decoding with as many steps as asked for,
greedily and by beam search with 5. A language model with one recurrent layer of width 256 beside the loop that one
writes who needs nothing else. Float32; tokens are those of the target.

B batch · S source · T target · V vocabulary
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from benchmarks.speed.harness import OURS, Contestant, Question, Settings
from benchmarks.speed.peers import JOEYNMT, package
from benchmarks.speed.worker import Turns, Work

GREEDY, BEAM, TRAINING, LANGUAGE = "attention, greedy", "attention, beam 5", "attention, training", "LSTM, training"
BEAMS = {GREEDY: 1, BEAM: 5}
RECIPE, LANGUAGE_RECIPE = "multi30k-de-en-bahdanau", "reference-lstm"
SHORTEST, LONGEST = 15, 25  # tokens in a source that is translated
DROPOUT = 0.1


def seqwright(settings: dict[str, Any]) -> Turns:
    """Ours."""
    from benchmarks.speed.made_up import corpus, our_training
    from benchmarks.speed.ours import translating, writer_of
    from seqwright.recipe import read_recipe
    from seqwright.runs import model_of, objective_of
    from seqwright.training.loop import fit

    size = settings["vocabulary"]
    overrides = [f"model.width={settings['width']}", f"model.dropout={DROPOUT}", "training.epochs="]
    recipe = read_recipe(RECIPE, [*overrides, f"training.steps={settings['updates']}", "training.precision=float32"])
    model: Any = model_of(recipe, {"source_vocabulary": size, "target_vocabulary": size, "shared": True}).eval()
    decode = translating(writer_of(model), rows_of(settings), settings["steps"])
    found = corpus(settings, settings["tokens"])
    train = our_training(found, model_of(recipe, found.wires.sizes()), objective_of(recipe), recipe.training)

    def language_model(kind: str) -> Callable[[], Work]:
        chosen = [f"model.kind={kind}", f"training.steps={settings['updates']}"]
        recipe = read_recipe(LANGUAGE_RECIPE, chosen)
        wires, batches = letters(settings, recipe)
        model, objective = model_of(recipe, wires.sizes()), objective_of(recipe)

        def turn() -> Work:
            fit(model, objective, batches, settings=recipe.training, rate=lambda step: 0.001)
            return Work(settings["updates"] * recipe.training.tokens)

        return turn

    return {
        **{name: partial(decode, beam) for name, beam in BEAMS.items()},
        TRAINING: lambda: Work(train()),
        **{f"{kind.upper()}, training": language_model(kind) for kind in ("lstm", *settings["cells"])},
    }


def torch_lstm(settings: dict[str, Any]) -> Turns:
    """`nn.LSTM` between an embedding and the output, which share one matrix as ours do; the state is carried."""
    import torch
    from torch import nn

    from seqwright.batches import Place
    from seqwright.recipe import read_recipe

    recipe = read_recipe(LANGUAGE_RECIPE)
    wires, batches = letters(settings, recipe)
    width = recipe.model.width
    embedding, lstm = nn.Embedding(wires.tokenizer.size, width), nn.LSTM(width, width, batch_first=True)
    output, dropout = nn.Linear(width, wires.tokenizer.size), nn.Dropout(recipe.model.dropout)
    output.weight = embedding.weight
    model = nn.ModuleList([embedding, lstm, output, dropout]).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

    def train() -> Work:
        place, state, tokens = Place(), None, 0
        for _ in range(settings["updates"]):
            batch = batches.at(place)
            place = batches.after(place)
            hidden_BTD, state = lstm(dropout(embedding(batch.input_BT)), state)
            state = tuple(part.detach() for part in state)
            logits_BTV = output(dropout(hidden_BTD))
            loss = torch.nn.functional.cross_entropy(logits_BTV.flatten(0, 1), batch.target_BT.flatten())
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            loss.item()
            tokens += batch.tokens
        return Work(tokens)

    return {LANGUAGE: train}


def joeynmt(settings: dict[str, Any]) -> Turns:
    """JoeyNMT's model in its own search, and in the loop of its trainer."""
    import torch

    from benchmarks.speed.made_up import corpus
    from seqwright.batches.pairs import sources
    from seqwright.inputs.tokenizers import PAD

    make, search = package("joeynmt.batch").Batch, package("joeynmt.search").search
    model, special = joey_model(settings["vocabulary"], settings["width"])
    steps, rows = settings["steps"], sorted(rows_of(settings), key=len, reverse=True)

    def batch_of(source_BS: Any, target_BT: Any = None) -> Any:
        return make(
            src=source_BS,
            src_length=(source_BS != special["pad_id"]).sum(1),
            src_prompt_mask=None,
            trg=target_BT,
            trg_prompt_mask=None,
            indices=torch.arange(len(source_BS)),
            device=torch.device("cpu"),
            pad_index=special["pad_id"],
            eos_index=special["eos_id"],
            is_train=target_BT is not None,
        )

    def decode(beam: int) -> Work:
        asked = sources(rows, end=special["eos_id"])
        source_BS = asked.source_BS.masked_fill(~asked.source_real_BS, special["pad_id"])
        found, _, _ = search(
            model.eval(),
            batch_of(source_BS),
            max_output_length=steps,
            beam_size=beam,
            beam_alpha=0.6,
            min_output_length=steps,
        )
        return Work(int(found.size))

    # Its own numbers of the special tokens in place of ours; the others are the same.
    found = corpus(settings, settings["tokens"])
    own = torch.arange(settings["vocabulary"])
    ours = {"pad_id": PAD, **special_tokens()}
    for name, number in ours.items():
        own[number] = special[name]
    model.loss_function = ("crossentropy", 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0005)
    pairs = found.sorted_rows(settings["sentences"])

    def train() -> Work:
        model.train()
        tokens = 0
        for _ in range(settings["updates"]):
            source_BS, target_BT = next(pairs)
            order = (source_BS != PAD).sum(1).argsort(descending=True)  # as it wants them
            batch = batch_of(own[source_BS[order]], own[target_BT[order]])
            loss, _, _, _ = model(return_type="loss", **vars(batch))
            loss = batch.normalize(loss, "tokens")
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
            tokens += int(batch.ntokens)
        return Work(tokens)

    return {**{name: partial(decode, beam) for name, beam in BEAMS.items()}, TRAINING: train}


def special_tokens() -> dict[str, int]:
    """Our numbers of the tokens that both have, but for padding."""
    from seqwright.inputs.tokenizers import BEGIN, END, UNKNOWN

    return {"unk_id": UNKNOWN, "bos_id": BEGIN, "eos_id": END}


def joey_model(vocabulary: int, width: int | None = None) -> tuple[Any, dict[str, Any]]:
    """JoeyNMT's model like the one of the recipe, and its special tokens."""
    from seqwright.recipe import read_recipe

    special: dict[str, Any] = {"lang_tags": [], "sep_token": None, "sep_id": None}
    for number, name in enumerate(("unk", "pad", "bos", "eos")):
        special |= {f"{name}_token": f"<{name}>", f"{name}_id": number}
    words = package("joeynmt.vocabulary").Vocabulary(
        [f"t{number}" for number in range(vocabulary - 4)], SimpleNamespace(**special)
    )
    settings = read_recipe(RECIPE, [] if width is None else [f"model.width={width}"]).model
    side = {"type": "recurrent", "rnn_type": settings.cell, "num_layers": settings.layers, "dropout": DROPOUT}
    embeddings = {"embeddings": {"embedding_dim": settings.token_width, "dropout": 0.0}}
    encoder = {**side, **embeddings, "hidden_size": settings.width // 2, "bidirectional": True}
    decoder = {**side, **embeddings, "hidden_size": settings.width, "attention": "bahdanau", "input_feeding": True}
    decoder |= {"init_hidden": "bridge", "hidden_dropout": DROPOUT}
    model = package("joeynmt.model").build_model(
        {"encoder": encoder, "decoder": decoder, "tied_embeddings": True}, words, words
    )
    return model, special


def letters(settings: Settings, recipe: Any) -> tuple[Any, Any]:
    """Random letters in the batches of a language model that carries its state."""
    import numpy as np

    from seqwright.inputs.running_text import RunningTextInput
    from seqwright.outputs.next_token import NextTokenOutput
    from seqwright.tasks.wired import Wires

    numbers: Any = np.random.default_rng(1).integers(33, 123, settings["letters"])
    text = ["".join(map(chr, numbers.tolist()))]
    wires = Wires.learn(RunningTextInput, NextTokenOutput, text, recipe.input)
    return wires, wires.training_batches(text, tokens=recipe.training.tokens)


def rows_of(settings: Settings) -> list[Any]:
    """The same sources in every process."""
    import numpy as np

    rng: Any = np.random.default_rng(1)
    lengths = rng.integers(SHORTEST, LONGEST + 1, settings["batch"])
    return [rng.integers(4, settings["vocabulary"], length) for length in lengths]


QUESTION = Question(
    name="recurrent",
    about=__doc__ or "",
    unit="tokens",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("JoeyNMT", joeynmt, JOEYNMT, ("joeynmt",)),
        Contestant("nn.LSTM in a minimal loop", torch_lstm),
    ),
    full={
        "width": 384,
        "vocabulary": 5000,
        "batch": 32,
        "steps": 40,
        "pairs": 3000,
        "tokens": 1000,
        "sentences": 72,
        "updates": 8,
        "letters": 100_000,
        "cells": ["gru", "ugrnn", "rnn"],
    },
    quick={
        "width": 64,
        "vocabulary": 997,
        "batch": 5,
        "steps": 7,
        "pairs": 211,
        "tokens": 200,
        "sentences": 13,
        "updates": 2,
        "letters": 10_007,
        "cells": [],
    },
)
