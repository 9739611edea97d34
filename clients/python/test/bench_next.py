# PYTHONPATH=clients/python python3 clients/python/test/bench_next.py
#
# Prints how many nanoseconds next() takes, beside UUIDs: medians of 5 rounds of each in
# turn. It needs no database.

import time
import uuid
from datetime import datetime, timezone
from statistics import median

from sno import unit_of
from sno.generator import Generator, Loan

CALLS = 100_000
now = unit_of(datetime.now(timezone.utc))
ids = Generator(lambda: Loan(1, now - 1, 0, 65535, now + 900_000))
functions = {"next()": ids.next, "uuid4()": uuid.uuid4, "str(uuid4())": lambda: str(uuid.uuid4())}
if hasattr(uuid, "uuid7"):
    functions["uuid7()"] = uuid.uuid7
rounds = {name: [] for name in functions}
for _ in range(5):
    for name, function in functions.items():
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            function()
        rounds[name].append((time.perf_counter_ns() - begin) / CALLS)
print(", ".join(f"{name} {median(times):.0f} ns" for name, times in rounds.items()))
