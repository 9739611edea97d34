"""ObjectIds of Python's bson, as peers.py asks for them.  "fork N" forks first."""

import os
import sys

from bson import ObjectId


def show(n, end):
    print(*[ObjectId() for _ in range(n)], end, sep="\n", flush=True)


for line in sys.stdin:
    *fork, n = line.split()
    if fork:
        child = os.fork()
        if child == 0:
            show(int(n), "child")
            os._exit(0)
        os.waitpid(child, 0)
    show(int(n), ".")
