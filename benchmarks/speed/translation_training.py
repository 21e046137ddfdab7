"""How many target tokens per CPU-second does a Transformer learn from, beside Marian and nn.Transformer?

Three layers on either side, width 256, feed-forward 1,024, a shared vocabulary of 5,000, made-up pairs with the
lengths of captions; float32, dropout 0.1 outside attention, label smoothing 0.1. Ours trains as the recipe
multi30k-de-en does, batches by length, EMA and clipping included. The others read a fixed number of pairs in random
order, padded, as the trainer of transformers and PyTorch's tutorial do; Marian also reads pairs of like length
together.

B batch · S source · T target · D width · V vocabulary
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.speed.harness import OURS, Contestant, Limit, Question, Settings
from benchmarks.speed.peers import TRANSFORMERS, package
from benchmarks.speed.worker import Turns, Work

MEASURE = "training"
DROPOUT, SMOOTHING = 0.1, 0.1


def seqwright(settings: dict[str, Any]) -> Turns:
    """Ours, as the recipe trains."""
    from benchmarks.speed.made_up import corpus, our_training
    from seqwright.devices import keep_freed_memory
    from seqwright.recipe import read_recipe
    from seqwright.runs import model_of, objective_of

    keep_freed_memory()
    overrides = [f"model.{name}={value}" for name, value in settings["model"].items()]
    overrides += [f"model.dropout={DROPOUT}", "training.epochs=", f"training.steps={settings['steps']}"]
    recipe = read_recipe("multi30k-de-en", [*overrides, "training.precision=float32"])
    found = corpus(settings, settings["tokens"])
    train = our_training(found, model_of(recipe, found.wires.sizes()), objective_of(recipe), recipe.training)
    return {MEASURE: lambda: Work(train())}


def marian(settings: dict[str, Any]) -> Turns:
    """Marian in random order."""
    return _marian(settings, "random_rows")


def marian_sorted(settings: dict[str, Any]) -> Turns:
    """Marian with pairs of like length together."""
    return _marian(settings, "sorted_rows")


def _marian(settings: dict[str, Any], order: str) -> Turns:
    import torch

    from benchmarks.speed.made_up import corpus
    from seqwright.inputs.tokenizers import BEGIN, END, PAD

    size, found = settings["model"], corpus(settings, settings["tokens"])
    hf = package("transformers")
    config = hf.MarianConfig(
        vocab_size=found.wires.tokenizer.size,
        d_model=size["width"],
        encoder_layers=size["encoder_layers"],
        decoder_layers=size["decoder_layers"],
        encoder_attention_heads=size["heads"],
        decoder_attention_heads=size["heads"],
        encoder_ffn_dim=size["feed_forward"],
        decoder_ffn_dim=size["feed_forward"],
        max_position_embeddings=64,
        dropout=DROPOUT,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
        use_cache=False,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=None,
        decoder_start_token_id=BEGIN,
    )
    model: Any = hf.MarianMTModel(config).train()

    def logits(source_BS: Any, input_BT: Any) -> Any:
        return model(input_ids=source_BS, attention_mask=(source_BS != PAD).long(), decoder_input_ids=input_BT).logits

    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0005, fused=True)
    return {MEASURE: plain_loop(model, logits, optimizer, getattr(found, order)(settings["sentences"]), settings)}


def torch_transformer(settings: dict[str, Any]) -> Turns:
    """`nn.Transformer` between an embedding with sinusoids and the output, in the loop of PyTorch's tutorial."""
    import torch
    from torch import nn

    from benchmarks.speed.made_up import corpus
    from seqwright.inputs.tokenizers import PAD

    size, found = settings["model"], corpus(settings, settings["tokens"])
    width = size["width"]
    embedding = nn.Embedding(found.wires.tokenizer.size, width, padding_idx=PAD)
    dropout = nn.Dropout(DROPOUT)
    layers = (size["encoder_layers"], size["decoder_layers"], size["feed_forward"])
    transformer = nn.Transformer(width, size["heads"], *layers, dropout=DROPOUT, batch_first=True)
    output = nn.Linear(width, found.wires.tokenizer.size)
    output.weight = embedding.weight
    angle = torch.arange(64).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * (-math.log(10000) / width))
    positions = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

    def embedded(token_BT: Any) -> Any:
        return dropout(embedding(token_BT) * math.sqrt(width) + positions[: token_BT.shape[1]])

    def logits(source_BS: Any, input_BT: Any) -> Any:
        padding_BS = source_BS == PAD
        future_TT = torch.ones(input_BT.shape[1], input_BT.shape[1], dtype=torch.bool).triu(1)
        return output(
            transformer(
                embedded(source_BS),
                embedded(input_BT),
                tgt_mask=future_TT,
                src_key_padding_mask=padding_BS,
                tgt_key_padding_mask=input_BT == PAD,
                memory_key_padding_mask=padding_BS,
            )
        )

    model = nn.ModuleList([embedding, transformer, output]).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    return {MEASURE: plain_loop(model, logits, optimizer, found.random_rows(settings["sentences"]), settings)}


def plain_loop(
    model: Any, logits: Callable[[Any, Any], Any], optimizer: Any, rows: Iterator[tuple[Any, Any]], settings: Settings
) -> Callable[[], Work]:
    """Forward, backward, clipping and update, a batch after another."""
    import torch

    from seqwright.inputs.tokenizers import PAD

    wanted = torch.nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=SMOOTHING)

    def turn() -> Work:
        tokens = 0
        for _ in range(settings["steps"]):
            source_BS, whole_BT = next(rows)
            target_BT = whole_BT[:, 1:]
            logits_BTV = logits(source_BS, whole_BT[:, :-1])
            loss = wanted(logits_BTV.flatten(0, 1), target_BT.flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            loss.item()
            tokens += int((target_BT != PAD).sum())
        return Work(tokens)

    return turn


def limit(settings: Settings, measure: str) -> Limit:
    """Six operations for each weight in a matrix product that a pair meets, counted for one target token."""
    size = settings["model"]
    square, inner = size["width"] ** 2, 2 * size["width"] * size["feed_forward"]
    encoder = size["encoder_layers"] * (4 * square + inner) + size["decoder_layers"] * 2 * square
    decoder = size["decoder_layers"] * (6 * square + inner) + settings["vocabulary"] * size["width"]
    return Limit("matrix", 6 * (encoder + decoder))


QUESTION = Question(
    name="translation-training",
    about=__doc__ or "",
    unit="target tokens",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("transformers", marian, TRANSFORMERS, ("torch", "transformers")),
        Contestant("transformers, by length", marian_sorted, TRANSFORMERS, ("torch", "transformers")),
        Contestant("nn.Transformer", torch_transformer),
    ),
    full={
        "model": {"width": 256, "heads": 8, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024},
        "vocabulary": 5000,
        "pairs": 5000,
        "tokens": 1000,
        "sentences": 72,
        "steps": 6,
    },
    quick={"pairs": 499, "vocabulary": 997, "tokens": 300, "sentences": 20, "steps": 2},
    limit=limit,
)
