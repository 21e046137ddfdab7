"""What hypotheses have read, as keys and values in a buffer with spare room.

B batch, the rows of the buffer · W hypotheses that share a row · R = B·W, the rows of the queries · T new positions
C columns: what a hypothesis has read · N slots of the buffer · H heads · K head width
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

MOST_LIVE = 0.8  # of the slots that are in use, up to which leaving the others behind pays
ROOM = 8  # steps for which a buffer has room at least; unused room is in the way of what reads the rest


class Buffer:
    """Slots for keys and values; those before `used` are written and stay as they are."""

    def __init__(self, keys_BHNK: Tensor, values_BHNK: Tensor, used: int) -> None:
        self.keys_BHNK, self.values_BHNK, self.used = keys_BHNK, values_BHNK, used

    def taken(self, rows_B: Tensor | None, length: int, room: int) -> "Buffer":
        """The first `length` slots of some of the rows, all if None, in a buffer that has `room` for more."""
        keys_BHNK, values_BHNK = self.keys_BHNK[:, :, :length], self.values_BHNK[:, :, :length]
        if rows_B is not None:
            keys_BHNK, values_BHNK = keys_BHNK.index_select(0, rows_B), values_BHNK.index_select(0, rows_B)
        return Buffer(with_room(keys_BHNK, room), with_room(values_BHNK, room), length)

    def gathered(self, slot_BN: Tensor, room: int) -> "Buffer":
        """Some slots of each row, in a buffer that has `room` for more."""
        _, heads, _, width = self.keys_BHNK.shape
        index_BHNK = slot_BN[:, None, :, None].expand(-1, heads, -1, width)
        keys_BHNK, values_BHNK = self.keys_BHNK.gather(2, index_BHNK), self.values_BHNK.gather(2, index_BHNK)
        return Buffer(with_room(keys_BHNK, room), with_room(values_BHNK, room), slot_BN.shape[1])


def with_room(kept_BHNK: Tensor, room: int) -> Tensor:
    """The same slots and `room` more, in which nothing is written yet."""
    if not room:
        return kept_BHNK
    batch, heads, slots, width = kept_BHNK.shape
    roomy_BHNK = kept_BHNK.new_empty(batch, heads, slots + room, width)
    roomy_BHNK[:, :, :slots] = kept_BHNK
    return roomy_BHNK


class KeyValueCache:
    """The keys and values that `width` hypotheses of each row have read; hypotheses of a row follow each other.

    The first `shared` columns are the same for all hypotheses of a row and lie in the first slots. Column `shared + c`
    of hypothesis r lies in slot `slot_RC[r, c]`, and what several hypotheses have grown from is there once. So neither
    repeating a row moves keys and values, nor reordering the hypotheses of a row.

    A cache is a value: written slots stay. Whoever extends the newest cache of a buffer writes behind all that is
    written; whoever extends an older one writes into a copy.
    """

    def __init__(self, buffer: Buffer, length: int, width: int, shared: int, slot_RC: Tensor) -> None:
        self.buffer, self.length, self.width, self.shared, self.slot_RC = buffer, length, width, shared, slot_RC

    @classmethod
    def of(cls, keys_RHTK: Tensor, values_RHTK: Tensor) -> "KeyValueCache":
        """A memory that each row has for itself."""
        rows, _, length, _ = keys_RHTK.shape
        if length > 1:  # a source, which is read again and again
            keys_RHTK, values_RHTK = keys_RHTK.contiguous(), values_RHTK.contiguous()
        nowhere_R0 = torch.empty(rows, 0, dtype=torch.long, device=keys_RHTK.device)
        return cls(Buffer(keys_RHTK, values_RHTK, length), length, 1, length, nowhere_R0)

    @property
    def keys_BHNK(self) -> Tensor:
        """The keys in all slots."""
        return self.buffer.keys_BHNK[:, :, : self.length]

    @property
    def values_BHNK(self) -> Tensor:
        """The values in all slots."""
        return self.buffer.values_BHNK[:, :, : self.length]

    def extended(self, later: "KeyValueCache") -> "KeyValueCache":
        """This memory followed by a later one, in which each hypothesis has a row."""
        assert later.width == 1, "what is read has a row for each hypothesis"
        time, buffer = later.length, self.buffer
        length = self.length + time * self.width
        if buffer.used != self.length or length > buffer.keys_BHNK.shape[2]:
            return self._with_room(time * self.width).extended(later)
        for kept_BHNK, new_RHTK in (
            (buffer.keys_BHNK, later.keys_BHNK),
            (buffer.values_BHNK, later.values_BHNK),
        ):
            # Slots of one time stand together: hypothesis after hypothesis.
            new_BHTWK = self._grouped(new_RHTK).permute(0, 2, 3, 1, 4)
            kept_BHNK[:, :, self.length : length] = new_BHTWK.flatten(2, 3)
        buffer.used = length
        if self.width == 1 and not self.slot_RC.shape[1]:
            return KeyValueCache(buffer, length, 1, length, self.slot_RC)
        slot_TW = torch.arange(self.length, length, device=self.slot_RC.device).view(time, self.width)
        slot_RT = slot_TW.T.repeat(len(self.slot_RC) // self.width, 1)
        return KeyValueCache(buffer, length, self.width, self.shared, torch.cat((self.slot_RC, slot_RT), dim=1))

    def _with_room(self, least: int) -> "KeyValueCache":
        """In a buffer of its own with room for more; slots that no living hypothesis has grown from are left behind."""
        room, batch = max(least, ROOM * self.width, self.length // ROOM), len(self.buffer.keys_BHNK)
        slot_BC = self.slot_RC.view(batch, -1)
        live_BN = torch.zeros(batch, self.length, dtype=torch.bool, device=slot_BC.device)
        live_BN[:, : self.shared] = True
        live_BN.scatter_(1, slot_BC, True)
        kept = int(live_BN.sum(1).max())
        if kept > MOST_LIVE * self.length:
            buffer = self.buffer.taken(None, self.length, room)
            return KeyValueCache(buffer, self.length, self.width, self.shared, self.slot_RC)
        slot_BN = live_BN.byte().argsort(dim=1, descending=True, stable=True)[:, :kept]
        place_BN = torch.zeros_like(live_BN, dtype=torch.long)
        place_BN.scatter_(1, slot_BN, torch.arange(kept, device=slot_BN.device).expand(batch, -1))
        slot_RC = place_BN.gather(1, slot_BC).view_as(self.slot_RC)
        return KeyValueCache(self.buffer.gathered(slot_BN, room), kept, self.width, self.shared, slot_RC)

    def _grouped(self, each_RHTK: Tensor) -> Tensor:
        """`each_BWHTK`: the hypotheses of each row."""
        rows, *rest = each_RHTK.shape
        return each_RHTK.view(rows // self.width, self.width, *rest)

    def repeated(self, times: int) -> "KeyValueCache":
        """With each row `times` times in a row: what it has read is shared."""
        if times == 1:
            return self
        alone = self.apart()
        nowhere_R0 = alone.slot_RC.repeat_interleave(times, dim=0)
        return KeyValueCache(alone.buffer, alone.length, times, alone.length, nowhere_R0)

    def reordered(self, rows_R: Tensor) -> "KeyValueCache":
        """With row `rows_R[i]` as row i; where hypotheses stay with their row, no key and no value moves."""
        if self.width == 1:
            buffer = self.buffer.taken(rows_R, self.length, ROOM)
            return KeyValueCache(buffer, self.length, 1, self.length, self.slot_RC.index_select(0, rows_R))
        if len(rows_R) % self.width:
            return self.apart().reordered(rows_R)
        row_BW = rows_R.view(-1, self.width) // self.width
        if not torch.equal(row_BW, row_BW[:, :1].expand_as(row_BW)):
            return self.apart().reordered(rows_R)
        row_B, buffer = row_BW[:, 0], self.buffer
        if not torch.equal(row_B, torch.arange(len(buffer.keys_BHNK), device=row_B.device)):
            buffer = buffer.taken(row_B, self.length, ROOM * self.width if self.slot_RC.shape[1] else 0)
        slot_RC = self.slot_RC.index_select(0, rows_R) if self.slot_RC.shape[1] else self.slot_RC[: len(rows_R)]
        return KeyValueCache(buffer, self.length, self.width, self.shared, slot_RC)

    def apart(self) -> "KeyValueCache":
        """The same with a row of the buffer for each hypothesis."""
        if self.width == 1:
            return self
        rows = len(self.slot_RC)
        shared_1C = torch.arange(self.shared, device=self.slot_RC.device).unsqueeze(0)
        slot_RC = torch.cat((shared_1C.expand(rows, -1), self.slot_RC), dim=1)
        row_R = torch.arange(rows, device=slot_RC.device) // self.width
        buffer = self.buffer.taken(row_R, self.length, 0).gathered(slot_RC, 0)
        return KeyValueCache(buffer, slot_RC.shape[1], 1, slot_RC.shape[1], self.slot_RC[:, :0])

    def read(self, q_RHTK: Tensor, allowed_RTC: Tensor | None) -> Tensor:
        """`read_RHTK`: what each query reads; `allowed_RTC` is True where query t of a hypothesis may read column c."""
        time, slots, grouped = q_RHTK.shape[2], self.length, self.width > 1
        if grouped and self.slot_RC.shape[1]:
            allowed_RTC = self._in_slots(allowed_RTC, time)
        q_BHQK = self._grouped(q_RHTK).transpose(1, 2).flatten(2, 3) if grouped else q_RHTK
        queries = q_BHQK.shape[2]
        allowed_B1QN = None
        if allowed_RTC is not None:
            allowed_B1QN = allowed_RTC.expand(len(q_RHTK), time, slots).reshape(-1, 1, queries, slots)
        keys_BHNK, values_BHNK = self.keys_BHNK, self.values_BHNK
        one = time == 1 and q_RHTK.device.type == "cpu" and q_RHTK.dtype is torch.float32
        attention = attention_of_few if one else F.scaled_dot_product_attention
        read_BHQK = attention(q_BHQK, keys_BHNK, values_BHNK, allowed_B1QN)
        if not grouped:
            return read_BHQK
        batch, heads, _, width = read_BHQK.shape
        return read_BHQK.view(batch, heads, self.width, time, width).transpose(1, 2).flatten(0, 1)

    def _in_slots(self, allowed_RTC: Tensor | None, time: int) -> Tensor:
        """Who may read which slot."""
        rows, columns = len(self.slot_RC), self.shared + self.slot_RC.shape[1]
        if allowed_RTC is None:
            allowed_RTC = torch.ones(1, 1, 1, dtype=torch.bool, device=self.slot_RC.device)
        allowed_RTC = allowed_RTC.expand(rows, time, columns)
        allowed_RTN = allowed_RTC.new_zeros(rows, time, self.length)
        allowed_RTN[..., : self.shared] = allowed_RTC[..., : self.shared]
        return allowed_RTN.scatter_(2, self.slot_RC.unsqueeze(1).expand(-1, time, -1), allowed_RTC[..., self.shared :])


def attention_of_few(q_BHQK: Tensor, keys_BHNK: Tensor, values_BHNK: Tensor, allowed_B1QN: Tensor | None) -> Tensor:
    """What few queries read, each of which may read something: by products of a batch of matrices.

    For one position at a time the fused kernel, which works through blocks of many, takes up to half as long again.
    """
    score_BHQN = (q_BHQK * q_BHQK.shape[-1] ** -0.5) @ keys_BHNK.transpose(-2, -1)
    if allowed_B1QN is not None:
        score_BHQN += torch.zeros_like(allowed_B1QN, dtype=score_BHQN.dtype).masked_fill_(~allowed_B1QN, -math.inf)
    read_BHQK: Tensor = score_BHQN.softmax(-1) @ values_BHNK
    return read_BHQK
