"""Which validation was the best so far: it decides which checkpoint is used, and when patience ends."""

import math
from collections.abc import Mapping


def best_validation(
    best: dict[str, float], new: Mapping[str, float], step: int, *, lower: bool = False
) -> dict[str, float]:
    """The better of the best so far and a new one, `score` and `loss`; `waited` counts validations since the last.

    Of equal scores the lower loss decides: once every answer is right, the surer model. To patience that is no
    progress.
    """
    sign = -1 if lower else 1
    if not best or math.isnan(best["score"]) or sign * new["score"] > sign * best["score"]:
        return {**new, "step": step, "waited": 0}
    surer = new["score"] == best["score"] and new["loss"] < best.get("loss", 0.0)
    return {**best, **({**new, "step": step} if surer else {}), "waited": best["waited"] + 1}
