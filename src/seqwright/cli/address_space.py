"""What `ulimit -v` leaves: libraries map far more memory than they use, and where they may not they hang or abort.

Below some 1.4 GB OpenBLAS asks for its buffers again and again for ever, sends SIGINT where a thread cannot be started,
or ends the process; torch aborts, or dies by a bad address. None of it can be caught, so it is refused at the door.
"""

import os
import resource
import sys

from seqwright.errors import UserError

LEAST = 1536 * 2**20  # bytes; a training of a tiny model maps 1,350 MB at most with one thread of OpenBLAS


def refuse_little_address_space() -> None:
    """One sentence where the libraries could not be loaded; OpenBLAS then reserves memory for one thread only."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or "torch" in sys.modules:  # what is mapped already needs no more room
        return
    if limit < LEAST:
        raise UserError(
            f"this process may map {limit // 2**20:,} MB of memory (ulimit -v), of which the libraries need "
            f"{LEAST // 2**20:,}: raise that limit, or use `ulimit -v unlimited`"
        )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
