"""Run as a file: start a command that can't outlive the process that wanted it.

    python bound.py PARENT_PID COMMAND [ARGUMENT …]

On Linux the kernel sends SIGTERM to the command when its parent ends, even by SIGKILL; elsewhere the command simply
runs. It is a program of its own because the request must be made in the child, and a fork of a threaded process may
not run Python safely.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before the request was made
            raise SystemExit(143)
    os.execv(command[0], command)
