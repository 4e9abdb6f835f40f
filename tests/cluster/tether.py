"""Become a program that dies when the process that started it dies.

Run as `python tether.py PARENT USER PROGRAM ARGUMENTS…`: it becomes USER (if that is not empty),
asks the kernel for the tie, then turns into PROGRAM, keeping its process id. Where the kernel has
no such tie (it is Linux's own), it goes without. It imports nothing of this project, so that it
starts in a few milliseconds and whatever the folder.
"""

import ctypes
import os
import pwd
import signal
import sys

PR_SET_PDEATHSIG = 1


def tie_to(parent: int) -> None:
    """Ask for SIGKILL at the death of *parent*, and leave at once if it is dead already."""
    if sys.platform != "linux":
        return
    # The tie breaks when the *thread* that started us ends, so programs that outlive a thread are
    # started from the main one.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone")


def become(user: str) -> None:
    """Give up root for *user*, in a folder that everybody may enter."""
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    os.chdir("/")


if __name__ == "__main__":
    parent, user, *command = sys.argv[1:]
    if user:
        become(user)
    # Last, because the kernel cuts the tie when a process changes its user.
    tie_to(int(parent))
    os.execvp(command[0], command)  # noqa: S606  (the point of this file)
