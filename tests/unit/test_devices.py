"""What the machine is told."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = """
import resource, torch
from seqwright.devices import keep_freed_memory
assert keep_freed_memory()
torch.set_num_threads(1)
for again in range(20):
    if again == 5:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [torch.zeros(1 << 22) for _ in range(8)]
    held = []
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to keep freed memory")
def test_freed_memory_is_used_again_without_asking_the_system_for_it():
    told = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 1000, "15 times 8 tensors of 4,096 pages each"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says to which cores a process is confined")
def test_only_the_cores_that_may_be_used_are_counted():
    confined = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    code = f"{confined}; from seqwright.devices import cores; print(cores())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"


LARGE_PAGES = """
import torch
from seqwright.devices import keep_freed_memory
keep_freed_memory()
held = torch.ones(1 << 24)
print(next(line.split()[1] for line in open("/proc/self/smaps_rollup") if line.startswith("AnonHugePages")))
"""
ON_DEMAND = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(
    not ON_DEMAND.exists() or "[madvise]" not in ON_DEMAND.read_text(), reason="no large pages on demand here"
)
def test_large_tensors_get_large_pages():
    told = subprocess.run([sys.executable, "-c", LARGE_PAGES], capture_output=True, text=True, check=True)
    assert int(told.stdout) > 30_000, "of the 65,536 kB of the tensor"
