"""What hypotheses have read, as keys and values in a buffer with spare room.

B batch, the rows of the buffer · W hypotheses that share a row · R = B·W, the rows of the queries · T new positions
C columns: what a hypothesis has read · N slots of the buffer · H heads · K head width
"""

from functools import cached_property, lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from seqwright.layers.weighted_sums import sums_are_quick, weighted_sums

MOST_LIVE = 0.8  # of the slots that are in use, up to which leaving the others behind pays
ROOM = 8  # steps for which a buffer has room at least; unused room is in the way of what reads the rest
LANES = 16  # numbers that the widest registers hold: rows of so many are read fastest


class Buffer:
    """Slots for keys and values; those before `used` are written and stay as they are.

    The slots of the keys stand last, so that what few queries read is quick (`attention_of_few`); in memory they do
    where that kernel serves, and elsewhere the width stands last.
    """

    def __init__(self, keys_BHKN: Tensor, values_BHNK: Tensor, used: int) -> None:
        self.keys_BHKN, self.values_BHNK, self.used = keys_BHKN, values_BHNK, used

    @property
    def slots(self) -> int:
        """How many there are, written or not."""
        return self.keys_BHKN.shape[3]

    def write(self, keys_BHKT: Tensor, values_BHTK: Tensor) -> None:
        """Fill the slots behind those that are written."""
        begin, self.used = self.used, self.used + values_BHTK.shape[2]
        self.keys_BHKN[..., begin : self.used] = keys_BHKT
        self.values_BHNK[:, :, begin : self.used] = values_BHTK

    def taken(self, rows_B: Tensor | None, length: int, room: int) -> "Buffer":
        """The first `length` slots of some of the rows, all if None, in a buffer that has `room` for more."""
        keys_BHKN, values_BHNK = self.keys_BHKN[..., :length], self.values_BHNK[:, :, :length]
        if rows_B is not None:
            keys_BHKN, values_BHNK = keys_BHKN.index_select(0, rows_B), values_BHNK.index_select(0, rows_B)
        return Buffer(*with_room(keys_BHKN, values_BHNK, room), length)

    def gathered(self, slot_BN: Tensor, room: int) -> "Buffer":
        """Some slots of each row, in a buffer that has `room` for more."""
        _, heads, width, _ = self.keys_BHKN.shape
        keys_BHKN = self.keys_BHKN.gather(3, slot_BN[:, None, None, :].expand(-1, heads, width, -1))
        values_BHNK = self.values_BHNK.gather(2, slot_BN[:, None, :, None].expand(-1, heads, -1, width))
        return Buffer(*with_room(keys_BHKN, values_BHNK, room), slot_BN.shape[1])

    def lay_out(self) -> None:
        """Lay the slots out in memory for few queries, if they are not yet; the values stay as they are."""
        self.keys_BHKN, self.values_BHNK = self.keys_BHKN.contiguous(), self.values_BHNK.contiguous()


def with_room(keys_BHKN: Tensor, values_BHNK: Tensor, room: int) -> tuple[Tensor, Tensor]:
    """The same slots and at least `room` more, in which nothing is written yet."""
    batch, heads, length, width = values_BHNK.shape
    slots = length + room
    if room:
        slots += -slots % LANES
    roomy_BHNK = values_BHNK.new_empty(batch, heads, slots, width)
    roomy_BHNK[:, :, :length] = values_BHNK
    if sums_are_quick(keys_BHKN):
        roomy_BHKN = keys_BHKN.new_empty(batch, heads, width, slots)
    else:
        roomy_BHKN = torch.empty_like(roomy_BHNK).transpose(2, 3)
    roomy_BHKN[..., :length] = keys_BHKN
    return roomy_BHKN, roomy_BHNK


class KeyValueCache:
    """The keys and values that `width` hypotheses of each row have read; hypotheses of a row follow each other.

    Column c of hypothesis r lies in slot `slot_RC[r, c]`, and what several hypotheses have grown from is there once. So
    neither repeating a row moves keys and values, nor reordering the hypotheses of a row. Where `slot_RC` is None, all
    hypotheses of a row have read the same, and column c lies in slot c.

    A cache is a value: written slots stay. Whoever extends the newest cache of a buffer writes behind all that is
    written; whoever extends an older one writes into a copy.
    """

    def __init__(self, buffer: Buffer, length: int, rows: int, width: int = 1, slot_RC: Tensor | None = None) -> None:
        self.buffer, self.length, self.rows, self.width, self.slot_RC = buffer, length, rows, width, slot_RC

    @classmethod
    def of(cls, keys_RHTK: Tensor, values_RHTK: Tensor) -> "KeyValueCache":
        """A memory that each row has for itself."""
        rows, _, length, _ = keys_RHTK.shape
        return cls(Buffer(keys_RHTK.transpose(2, 3), values_RHTK, length), length, rows)

    @property
    def keys_BHNK(self) -> Tensor:
        """The keys in all slots."""
        return self.buffer.keys_BHKN[..., : self.length].transpose(2, 3)

    @property
    def values_BHNK(self) -> Tensor:
        """The values in all slots."""
        return self.buffer.values_BHNK[:, :, : self.length]

    def extended(self, later: "KeyValueCache") -> "KeyValueCache":
        """This memory followed by a later one, in which each hypothesis has a row."""
        assert later.width == 1, "what is read has a row for each hypothesis"
        time, buffer, width = later.length, self.buffer, self.width
        length = self.length + time * width
        if buffer.used != self.length or length > buffer.slots:
            return self._with_room(time * width).extended(later)
        if width == 1:
            buffer.write(later.buffer.keys_BHKN, later.values_BHNK)
            return KeyValueCache(buffer, length, self.rows)
        # Slots of one time stand together: hypothesis after hypothesis.
        keys_BHKTW = self._grouped(later.buffer.keys_BHKN).permute(0, 2, 3, 4, 1)
        values_BHTWK = self._grouped(later.values_BHNK).permute(0, 2, 3, 1, 4)
        buffer.write(keys_BHKTW.flatten(3), values_BHTWK.flatten(2, 3))
        slot_RT = new_slots(self.length, time, width, self.rows, keys_BHKTW.device)
        return KeyValueCache(buffer, length, self.rows, width, torch.cat((self._slots(), slot_RT), dim=1))

    def _slots(self) -> Tensor:
        """`slot_RC`, also where all hypotheses have read the same."""
        if self.slot_RC is not None:
            return self.slot_RC
        return torch.arange(self.length, device=self.buffer.values_BHNK.device).expand(self.rows, -1)

    def _with_room(self, least: int) -> "KeyValueCache":
        """In a buffer of its own with room for more; slots that no living hypothesis has grown from are left behind."""
        room, batch = max(least, ROOM * self.width, self.length // ROOM), self.rows // self.width
        if self.slot_RC is None:
            return self._in(self.buffer.taken(None, self.length, room))
        slot_BC = self.slot_RC.view(batch, -1)
        live_BN = torch.zeros(batch, self.length, dtype=torch.bool, device=slot_BC.device).scatter_(1, slot_BC, True)
        kept = int(live_BN.sum(1).max())
        if kept > MOST_LIVE * self.length:
            return self._in(self.buffer.taken(None, self.length, room))
        slot_BN = live_BN.byte().argsort(dim=1, descending=True, stable=True)[:, :kept]
        place_BN = torch.zeros_like(live_BN, dtype=torch.long)
        place_BN.scatter_(1, slot_BN, torch.arange(kept, device=slot_BN.device).expand(batch, -1))
        slot_RC = place_BN.gather(1, slot_BC).view_as(self.slot_RC)
        return KeyValueCache(self.buffer.gathered(slot_BN, room), kept, self.rows, self.width, slot_RC)

    def _in(self, buffer: Buffer) -> "KeyValueCache":
        """The same in another buffer."""
        return KeyValueCache(buffer, self.length, self.rows, self.width, self.slot_RC)

    def _grouped(self, each_RHTK: Tensor) -> Tensor:
        """`each_BWHTK`: the hypotheses of each row."""
        rows, *rest = each_RHTK.shape
        return each_RHTK.view(rows // self.width, self.width, *rest)

    def repeated(self, times: int) -> "KeyValueCache":
        """With each row `times` times in a row: what it has read is shared."""
        if times == 1:
            return self
        alone = self.apart()
        return KeyValueCache(alone.buffer, alone.length, alone.rows * times, times)

    def reordered(self, rows_R: Tensor) -> "KeyValueCache":
        """With row `rows_R[i]` as row i; where hypotheses stay with their row, no key and no value moves."""
        if self.width == 1:
            return KeyValueCache(self.buffer.taken(rows_R, self.length, ROOM), self.length, len(rows_R))
        if len(rows_R) % self.width:
            return self.apart().reordered(rows_R)
        slot_RC = None if self.slot_RC is None else self.slot_RC.index_select(0, rows_R)
        row_R, buffer = rows_R // self.width, self.buffer
        if torch.equal(row_R, rows_of_hypotheses(self.rows, self.width, row_R.device)):
            return self if slot_RC is None else KeyValueCache(buffer, self.length, self.rows, self.width, slot_RC)
        row_BW = row_R.view(-1, self.width)
        if not torch.equal(row_BW, row_BW[:, :1].expand_as(row_BW)):
            return self.apart().reordered(rows_R)
        buffer = buffer.taken(row_BW[:, 0], self.length, 0 if slot_RC is None else ROOM * self.width)
        return KeyValueCache(buffer, self.length, len(rows_R), self.width, slot_RC)

    def apart(self) -> "KeyValueCache":
        """The same with a row of the buffer for each hypothesis."""
        if self.width == 1:
            return self
        slot_RC = self._slots()
        row_R = rows_of_hypotheses(self.rows, self.width, slot_RC.device)
        buffer = self.buffer.taken(row_R, self.length, 0)
        if self.slot_RC is not None:
            buffer = buffer.gathered(slot_RC, 0)
        return KeyValueCache(buffer, slot_RC.shape[1], self.rows)

    def read(self, q_RHTK: Tensor, allowed_RTC: Tensor | None) -> Tensor:
        """`read_RHTK`: what each query reads, of which q/√K is given.

        `allowed_RTC` is True where query t of a hypothesis may read column c.
        """
        if q_RHTK.shape[2] == 1 and sums_are_quick(q_RHTK):
            return self._read_one(q_RHTK, allowed_RTC)
        time, slots, grouped = q_RHTK.shape[2], self.length, self.width > 1
        if self.slot_RC is not None:
            allowed_RTC = self._in_slots(self.slot_RC, allowed_RTC, time)
        q_BHQK = self._grouped(q_RHTK).transpose(1, 2).flatten(2, 3) if grouped else q_RHTK
        queries = q_BHQK.shape[2]
        allowed_B1QN = None
        if allowed_RTC is not None:
            allowed_B1QN = allowed_RTC.expand(len(q_RHTK), time, slots).reshape(-1, 1, queries, slots)
        read_BHQK = F.scaled_dot_product_attention(q_BHQK, self.keys_BHNK, self.values_BHNK, allowed_B1QN, scale=1.0)
        if not grouped:
            return read_BHQK
        batch, heads, _, width = read_BHQK.shape
        return read_BHQK.view(batch, heads, self.width, time, width).transpose(1, 2).flatten(0, 1)

    def _in_slots(self, slot_RC: Tensor, allowed_RTC: Tensor | None, time: int) -> Tensor:
        """Who may read which slot."""
        rows, columns = slot_RC.shape
        if allowed_RTC is None:
            allowed_RTC = torch.ones(1, 1, 1, dtype=torch.bool, device=slot_RC.device)
        allowed_RTN = allowed_RTC.new_zeros(rows, time, self.length)
        slot_RTC = slot_RC.unsqueeze(1).expand(-1, time, -1)
        return allowed_RTN.scatter_(2, slot_RTC, allowed_RTC.expand(rows, time, columns))

    def _read_one(self, q_RH1K: Tensor, allowed_R1C: Tensor | None) -> Tensor:
        """The same for one position, where each may read something: all products are sums of rows of a table.

            score = Σ_k q[k] · keys[k]      read = Σ_c softmax(score)[c] · values[c]

        The keys of a row are asked for once, whoever has them in common, and the values for each hypothesis.
        """
        self.buffer.lay_out()
        keys_BHKN, values_BHNK = self.buffer.keys_BHKN, self.buffer.values_BHNK
        (rows, heads, _, width), slots = q_RH1K.shape, self.buffer.slots
        of_keys_GK = rows_of_keys(rows, self.width, heads, width)
        score_GN = weighted_sums(keys_BHKN.view(-1, slots), of_keys_GK, q_RH1K)
        score_RHC = score_GN.view(rows, heads, slots)[..., : self.length]
        if self.slot_RC is not None:
            score_RHC = score_RHC.gather(2, self.slot_RC.unsqueeze(1).expand(-1, heads, -1))
        bias_R1C = None if allowed_R1C is None else bias_of(allowed_R1C)
        if bias_R1C is not None:
            score_RHC = score_RHC + bias_R1C
        weight_GC = score_RHC.softmax(-1).flatten(0, 1)
        return weighted_sums(values_BHNK.view(-1, width), self._rows_of_values, weight_GC).view(q_RH1K.shape)

    @cached_property
    def _rows_of_values(self) -> Tensor:
        """`row_GC`: where the value of a column lies for a hypothesis and a head, in the table of all values."""
        batch, heads, slots, _ = self.buffer.values_BHNK.shape
        if self.slot_RC is None:
            return rows_of_values(batch, self.width, heads, slots, self.length)
        return (begins_of_values(batch, self.width, heads, slots) + self.slot_RC.unsqueeze(1)).flatten(0, 1)


# What follows is the same for all layers of a model, and much of it for all steps of a search.


@lru_cache(maxsize=8)
def rows_of_hypotheses(rows: int, width: int, device: torch.device) -> Tensor:
    """`row_R`: the row of the buffer that each hypothesis has."""
    return torch.arange(rows, device=device) // width


@lru_cache(maxsize=8)
def new_slots(begin: int, time: int, width: int, rows: int, device: torch.device) -> Tensor:
    """`slot_RT`: where what hypotheses read next will lie, one time after the other."""
    slot_TW = torch.arange(begin, begin + time * width, device=device).view(time, width)
    return slot_TW.T.repeat(rows // width, 1)


@lru_cache(maxsize=8)
def rows_of_keys(rows: int, width: int, heads: int, head_width: int) -> Tensor:
    """`row_GK`: where each number of a key lies for a hypothesis and a head, in the table of all keys."""
    row_BX = torch.arange(rows // width * heads * head_width).view(-1, heads * head_width)
    return row_BX.repeat_interleave(width, dim=0).view(-1, head_width)


@lru_cache(maxsize=8)
def begins_of_values(batch: int, width: int, heads: int, slots: int) -> Tensor:
    """`begin_RH1`: where the values of a hypothesis and a head begin in the table of all values."""
    begin_BH = torch.arange(0, batch * heads * slots, slots).view(batch, heads)
    return begin_BH.repeat_interleave(width, dim=0).unsqueeze(2)


@lru_cache(maxsize=8)
def rows_of_values(batch: int, width: int, heads: int, slots: int, length: int) -> Tensor:
    """`row_GC`: where each value lies for a hypothesis and a head, where column c lies in slot c."""
    return (begins_of_values(batch, width, heads, slots) + torch.arange(length)).flatten(0, 1)


@lru_cache(maxsize=4)
def bias_of(allowed_R1C: Tensor) -> Tensor | None:
    """What is added to scores so that nobody reads what he may not; None where all may be read.

    Kept by the tensor itself and not by what it says: the layers of a step are given the same one.
    """
    return None if bool(allowed_R1C.all()) else allowed_R1C.log()  # 0 where it is True, minus infinity where not
