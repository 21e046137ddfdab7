"""Two folders change places in one step, where the system can do that: nobody ever sees one of them missing."""

import ctypes
import errno
import os
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of renameat2 (Linux 3.15)
CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}  # this kernel, file system or sandbox


def exchange(one: Path, other: Path) -> bool:
    """Let each have the name of the other; False, and nothing is done, where that cannot be had in one step."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # another system than Linux
        return False
    if renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))
