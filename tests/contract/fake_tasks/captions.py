"""Images with five captions each, of which an epoch draws one: image × text."""

from dataclasses import dataclass
from typing import ClassVar

from tests.contract.fake_tasks.parts import Example, Frames, WrittenText


@dataclass(frozen=True)
class Patches(Frames):
    key: ClassVar[str] = "image"


class Caption(WrittenText):
    @classmethod
    def references(cls, example: Example) -> list[str]:
        return list(example["captions"])
