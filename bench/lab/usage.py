"""What a program takes from the machine: its processes, their CPU time and memory (Linux)."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_GROUP, _UTIME, _CSTIME = 2, 11, 14
"""Places in /proc/PID/stat, counted after the program's name (proc(5))."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What one process holds, in MB."""

    rss: float
    """Every page that it touches, shared ones included."""
    pss: float
    """The same with each shared page divided among those who share it."""


def members(group: int) -> list[int]:
    """Return the processes of a process group, its leader first."""
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return sorted(pid for pid in pids if _stat(pid)[_GROUP : _GROUP + 1] == [str(group)])


def cpu_seconds(group: int) -> float:
    """Return the CPU time of a group so far, with that of its children that have ended."""
    ticks = sum(int(tick) for pid in members(group) for tick in _stat(pid)[_UTIME : _CSTIME + 1])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> Memory:
    """Return what *pid* holds at this moment."""
    lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
    return Memory(int(sizes["Rss"]) / 1000, int(sizes["Pss"]) / 1000)


def _stat(pid: int) -> list[str]:
    """Return the fields after the name, which may hold anything; none if the process is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
