"""n-gram language models: counted, smoothed, and asked with sorted arrays.

B batch · T time · V vocabulary · G n-grams of an order · C contexts, or positions of context · L context and text
Q questions to a table · R rows of logits
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field, PositiveFloat, field_validator
from torch import Tensor, nn

from seqwright.batches.text import Text
from seqwright.models.ngram_counts import Transcript, counted_ngrams
from seqwright.models.ngram_estimates import (
    Corpus,
    Discounts,
    Estimate,
    kneser_ney,
    likely,
    modified_discounts,
    pruned,
    single_discount,
    stupid_backoff,
    thresholds,
)
from seqwright.setting_classes import Settings

Smoothing = Literal["maximum-likelihood", "add-k", "stupid-backoff", "kneser-ney", "modified-kneser-ney"]


class NgramSettings(Settings):
    """How long the n-grams are, and what is done about those that were never seen."""

    kind: Literal["ngram"] = "ngram"
    order: int = Field(default=5, ge=1, le=6)
    """The longest n-gram: a token is foretold from the `order - 1` tokens before it."""
    smoothing: Smoothing = "modified-kneser-ney"
    """Where n-grams that were never seen get their probability; with maximum-likelihood they get none."""
    added: PositiveFloat = 1.0
    """k of add-k: what is added to every count."""
    factor: PositiveFloat = 0.4
    """Of stupid backoff: the share of a shorter context's score that a longer one takes over."""
    fallback: Discounts = (0.5, 1.0, 1.5)
    """Kneser–Ney's discounts for counts of 1, 2, and 3 or more where the corpus is too small to estimate them."""
    prune: tuple[int, ...] = ()
    """n-grams seen at most so often are left out: a number for each order, the last for all further ones."""

    @field_validator("fallback")
    @classmethod
    def _a_discount_is_at_most_the_count(cls, fallback: Discounts) -> Discounts:
        if not all(0 <= discount <= count for count, discount in enumerate(fallback, start=1)):
            raise ValueError("each discount must be at least 0 and at most the count it is for: 1, 2 and 3")
        return fallback

    @field_validator("prune")
    @classmethod
    def _longer_ones_are_pruned_more(cls, prune: tuple[int, ...]) -> tuple[int, ...]:
        if list(prune) != sorted(prune) or min(prune, default=0) < 0 or len(prune) > 6:
            raise ValueError("must be at most six numbers from 0 on, none below the one before it")
        return prune


class NgramState(NamedTuple):
    """The last tokens of each row, and how many of them there are, counted from the right."""

    tokens_BC: Tensor
    known_B: Tensor


class NgramTable(nn.Module):
    """The n-grams of one order from 2 on, sorted; n-gram g is `key_G[g] = context * vocabulary + token`.

    `weight_C` is what a context adds to the shorter one's logarithm for a token that was not seen after it; its last
    entry is for contexts never seen, whose number is -1. `pruned` is how many more n-grams the text had.
    """

    key_G: Tensor
    logp_G: Tensor
    weight_C: Tensor
    pruned: Tensor

    def __init__(self, vocabulary: int, contexts: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.register_buffer("key_G", torch.empty(0, dtype=torch.int64))
        self.register_buffer("logp_G", torch.empty(0, dtype=torch.float64))
        self.register_buffer("weight_C", torch.zeros(contexts + 1, dtype=torch.float64))
        self.register_buffer("pruned", torch.tensor(0))

    def place(self, context_Q: Tensor, token_Q: Tensor) -> Tensor:
        """The number of the n-gram of a context and a token, -1 where it was not seen."""
        place_Q = torch.full_like(context_Q, -1)
        if len(self.key_G) and len(context_Q):
            key_Q, order_Q = (context_Q * self.vocabulary + token_Q).sort()  # in order they are found much faster
            near_Q = torch.searchsorted(self.key_G, key_Q).clamp_(max=len(self.key_G) - 1)
            place_Q[order_Q] = torch.where(self.key_G[near_Q] == key_Q, near_Q, -1)
        return place_Q

    def successors(self, context_Q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Every n-gram of some contexts: the place of its context in `context_Q`, its token and its number."""
        first_Q = torch.searchsorted(self.key_G, context_Q * self.vocabulary)
        many_Q = torch.searchsorted(self.key_G, (context_Q + 1) * self.vocabulary) - first_Q
        which = torch.arange(len(context_Q), device=context_Q.device).repeat_interleave(many_Q)
        place = torch.arange(len(which), device=which.device) + (first_Q - many_Q.cumsum(0) + many_Q)[which]
        return which, self.key_G[place] - context_Q[which] * self.vocabulary, place


class OrderStorage(NamedTuple):
    """What the n-grams of one order take, how many were left out, and how many there could be: V^order."""

    order: int
    ngrams: int
    bytes: int
    pruned: int
    possible: int


class Ngram(nn.Module):
    """An n-gram language model (Shannon 1948), with one of five kinds of smoothing.

    It learns by counting: `observe` keeps text, `conclude` turns it into tables. A text begins with `begin`, which is
    only ever context; neither it nor `padding` is foretold. Before anything is counted all tokens are equally likely.

    Tables are in double precision, so that a perplexity is right to the digits that are published. The logits are
    log-probabilities in single precision; where one is 0, the lowest number stands for minus infinity.
    """

    base_V: Tensor
    discount_N3: Tensor

    def __init__(self, settings: NgramSettings, *, vocabulary: int, padding: int = 0, begin: int = 2) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary, self.padding, self.begin = vocabulary, padding, begin
        # Maximum likelihood and add-k know nothing of shorter contexts: only the longest one is asked.
        self.only_longest = settings.smoothing in {"maximum-likelihood", "add-k"}
        corpus = Corpus([], [], self.predicted_V)
        self.register_buffer("base_V", torch.from_numpy(corpus.uniform_V).log())
        self.register_buffer("discount_N3", torch.zeros(settings.order, 3, dtype=torch.float64))
        self.tables = nn.ModuleList(NgramTable(vocabulary, vocabulary if n == 2 else 0) for n in self._longer())
        self._transcript = Transcript()

    @property
    def predicted_V(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True for the tokens that can be foretold."""
        return ~np.isin(np.arange(self.vocabulary), (self.padding, self.begin))

    def _longer(self) -> range:
        """The orders that have a table: 2 and more."""
        return range(2, self.settings.order + 1)

    def table(self, order: int) -> NgramTable:
        """The n-grams of an order from 2 on."""
        table = self.tables[order - 2]
        assert isinstance(table, NgramTable)
        return table

    # -------------------------------------------------------------------------------------------- counting

    def observe(self, batch: Text) -> None:
        """Keep a batch of text; rows that are not fresh continue the batch before."""
        self._transcript.add(batch)

    def conclude(self) -> None:
        """Count and smooth what was observed since the last time, in place of what was known before."""
        settings = self.settings
        text = self._transcript.joined(begin=self.begin)
        self._transcript = Transcript()
        levels = counted_ngrams(text, order=settings.order, vocabulary=self.vocabulary, begin=self.begin)
        least = thresholds(settings.prune, settings.order)
        kept = [level.count_G > bound for level, bound in zip(levels, least, strict=True)]
        corpus = Corpus(levels, kept, self.predicted_V)
        self.discount_N3.zero_()
        match settings.smoothing:
            case "maximum-likelihood":
                estimate = likely(corpus, added=0.0)
            case "add-k":
                estimate = likely(corpus, added=settings.added)
            case "stupid-backoff":
                estimate = stupid_backoff(corpus, factor=settings.factor)
            case "kneser-ney" | "modified-kneser-ney":
                discount = single_discount if settings.smoothing == "kneser-ney" else modified_discounts
                discounts = [discount(level.adjusted_G, settings.fallback) for level in levels]
                self.discount_N3.copy_(torch.tensor(discounts, dtype=torch.float64))
                estimate = kneser_ney(corpus, discounts)
        self.adopt(pruned(estimate, corpus))

    def adopt(self, estimate: Estimate) -> None:
        """Know this from now on."""
        device = self.base_V.device
        self.base_V = torch.from_numpy(estimate.base_V).to(device)
        for n, found in zip(self._longer(), estimate.tables, strict=True):
            table = self.table(n)
            table.key_G = torch.from_numpy(found.key_G).to(device)
            table.logp_G = torch.from_numpy(found.logp_G).to(device)
            table.weight_C = torch.from_numpy(found.weight_C).to(device)
            table.pruned = torch.tensor(found.pruned, device=device)

    def storage(self) -> list[OrderStorage]:
        """How many n-grams of each order there are, and the bytes they take with what they weigh as contexts."""
        found = [OrderStorage(1, int(self.base_V.isfinite().sum()), self.base_V.nbytes, 0, self.vocabulary)]
        for n in self._longer():
            table, possible = self.table(n), self.vocabulary**n
            found[-1] = found[-1]._replace(bytes=found[-1].bytes + table.weight_C.nbytes)
            size = table.key_G.nbytes + table.logp_G.nbytes
            found.append(OrderStorage(n, len(table.key_G), size, int(table.pruned), possible))
        return found

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """Give every table the length it has in what is loaded: it depends on the text."""
        for name, table in self.named_modules():
            for own in ("key_G", "logp_G", "weight_C") if isinstance(table, NgramTable) else ():
                if (saved := state_dict.get(f"{prefix}{name}.{own}")) is not None:
                    setattr(table, own, getattr(table, own).new_empty(saved.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    # -------------------------------------------------------------------------------------------- asking

    def start(self, batch: Text) -> NgramState:
        """Nothing read yet."""
        rows, device = len(batch.input_BT), batch.input_BT.device
        tokens_BC = torch.zeros(rows, self.settings.order - 1, dtype=torch.int64, device=device)
        return NgramState(tokens_BC, torch.zeros(rows, dtype=torch.int64, device=device))

    def forward(self, batch: Text, carry: NgramState | None = None) -> tuple[Tensor, NgramState]:
        """The logits of every next token; rows that are not fresh continue from `carry`."""
        return self.read(batch.input_BT, batch.real_BT, self._carried(batch, carry))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: NgramState) -> tuple[Tensor, NgramState]:
        """The logits of what follows each token."""
        text_BL = torch.cat((state.tokens_BC, tokens_BT), dim=1)
        depth_BL = self._depth(text_BL, state.known_B, real_BT)
        context_R = _places(tokens_BT, offset=state.tokens_BC.shape[1])
        grams = self._grams(text_BL, depth_BL, self.settings.order - 1)
        logits_RV = self._logits([gram[context_R] for gram in grams], depth_BL.flatten()[context_R])
        return logits_RV.view(*tokens_BT.shape, -1), _after(state, text_BL, real_BT)

    def step(self, tokens_B: Tensor, state: NgramState) -> tuple[Tensor, NgramState]:
        """`read` of one token in each row."""
        tokens_B1 = tokens_B.unsqueeze(1)
        logits_B1V, state = self.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return logits_B1V.squeeze(1), state

    @torch.no_grad()
    def log_probability(self, batch: Text, carry: NgramState | None = None) -> tuple[Tensor, NgramState]:
        """The log-probability of each target token, 0 at the padding: a search for each order, and no logits."""
        state = self._carried(batch, carry)
        input_BL = torch.cat((state.tokens_BC, batch.input_BT), dim=1)
        # Each target is the next input: the first input token and all targets are the whole text.
        text_BL = torch.cat((input_BL[:, : state.tokens_BC.shape[1] + 1], batch.target_BT), dim=1)
        depth_BL = self._depth(text_BL, state.known_B, torch.cat((batch.real_BT[:, :1], batch.real_BT), dim=1))
        grams = self._grams(text_BL, depth_BL, self.settings.order)
        target_Q = _places(batch.target_BT, offset=self.settings.order)[batch.real_BT.flatten()]
        depth_Q = depth_BL.flatten()[target_Q]
        logp_Q = self.base_V[text_BL.flatten()[target_Q]]
        for n in self._longer():
            table, context_Q, gram_Q = self.table(n), grams[n - 2][target_Q - 1], grams[n - 1][target_Q]
            asked_Q = self._asked(n - 1, depth_Q)
            logp_Q = torch.where(asked_Q, logp_Q + table.weight_C[context_Q], logp_Q)
            seen = (asked_Q & (gram_Q >= 0)).nonzero().squeeze(1)
            logp_Q[seen] = table.logp_G[gram_Q[seen]]
        logp_BT = torch.zeros(batch.target_BT.shape, dtype=logp_Q.dtype, device=logp_Q.device)
        logp_BT[batch.real_BT] = logp_Q
        return logp_BT, _after(state, input_BL, batch.real_BT)

    def _carried(self, batch: Text, carry: NgramState | None) -> NgramState:
        """The state before a batch: nothing where a row is fresh."""
        if carry is None:
            return self.start(batch)
        return NgramState(carry.tokens_BC, carry.known_B.masked_fill(batch.fresh_B, 0))

    def _depth(self, text_BL: Tensor, known_B: Tensor, real_BT: Tensor) -> Tensor:
        """How many tokens of its own text stand before each token, as far as is known; -1 where there is no token."""
        place_L = torch.arange(text_BL.shape[1], device=text_BL.device)
        first_B1 = text_BL.shape[1] - real_BT.shape[1] - known_B.unsqueeze(1)
        there_BL = place_L >= first_B1
        there_BL[:, text_BL.shape[1] - real_BT.shape[1] :] &= real_BT
        start_BL = (place_L == first_B1) | (text_BL == self.begin)
        depth_BL = place_L - torch.where(start_BL, place_L, 0).cummax(dim=1).values
        return torch.where(there_BL, depth_BL, -1)

    def _grams(self, text_BL: Tensor, depth_BL: Tensor, longest: int) -> list[Tensor]:
        """For each order up to `longest`, the number of the n-gram that ends at each place, -1 where it is unknown."""
        token, depth = text_BL.flatten(), depth_BL.flatten()
        grams = [torch.where(depth >= 0, token, -1)]
        for n in range(2, longest + 1):
            before = grams[-1].roll(1)
            places = ((depth >= n - 1) & (before >= 0)).nonzero().squeeze(1)
            gram = torch.full_like(token, -1)
            gram[places] = self.table(n).place(before[places], token[places])
            grams.append(gram)
        return grams[:longest]

    def _asked(self, context: int, depth_Q: Tensor) -> Tensor:
        """Whether contexts of so many tokens are asked about a token before which stand `depth_Q`."""
        if self.only_longest:
            return depth_Q.clamp(max=self.settings.order - 1) == context
        return depth_Q >= context

    def _logits(self, contexts: list[Tensor], depth_R: Tensor) -> Tensor:
        """Logits after contexts, `contexts[n - 1]` of n tokens: those of short ones first, longer ones over them."""
        rows, device = len(depth_R), depth_R.device
        asked = [self._asked(n - 1, depth_R + 1) for n in self._longer()]
        weights = [
            torch.where(asked_R, self.table(n).weight_C[context_R], 0.0)
            for n, asked_R, context_R in zip(self._longer(), asked, contexts, strict=True)
        ]
        none_R = torch.zeros(rows, dtype=self.base_V.dtype, device=device)
        logits_RV = self.base_V.float() + torch.stack([none_R, *weights]).sum(0).float().unsqueeze(1)
        for i, (n, asked_R, context_R) in enumerate(zip(self._longer(), asked, contexts, strict=True)):
            longer_R = torch.stack([none_R, *weights[i + 1 :]]).sum(0)
            known = (asked_R & (context_R >= 0)).nonzero().squeeze(1)
            which, token, place = self.table(n).successors(context_R[known])
            logits_RV[known[which], token] = (self.table(n).logp_G[place] + longer_R[known[which]]).float()
        return logits_RV.clamp_(min=torch.finfo(logits_RV.dtype).min)


def _places(tokens_BT: Tensor, *, offset: int) -> Tensor:
    """Where each of some tokens stands in the flattened text whose rows have `offset` tokens before them."""
    rows, width = tokens_BT.shape
    row_B1 = torch.arange(rows, device=tokens_BT.device).unsqueeze(1) * (width + offset)
    return (row_B1 + offset + torch.arange(width, device=tokens_BT.device)).flatten()


def _after(state: NgramState, text_BL: Tensor, real_BT: Tensor) -> NgramState:
    """The state after reading; `text_BL` is what the state held and what was read."""
    size = state.tokens_BC.shape[1]
    read_B = real_BT.sum(1)
    last_BC = read_B.unsqueeze(1) + torch.arange(size, device=text_BL.device)
    return NgramState(text_BL.gather(1, last_BC), (state.known_B + read_B).clamp(max=size))
