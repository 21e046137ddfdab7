"""What the machine is told."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys, torch
from seqwright.devices import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
torch.set_num_threads(1)
held = [torch.zeros(1 << 20) for _ in range(8)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    held = []
    held = [torch.zeros(1 << 20) for _ in range(8)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to keep freed memory")
def test_freed_memory_is_used_again_without_asking_the_system_for_it():
    def faults(word: str) -> int:
        told = subprocess.run([sys.executable, "-c", FAULTS, word], capture_output=True, text=True, check=True)
        return int(told.stdout)

    assert faults("keep") < faults("leave") / 10
