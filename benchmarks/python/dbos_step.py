"""The DBOS column of effect.py: steps in one workflow, each beside a bare call of the same function.

    python benchmarks/python/dbos_step.py SYSTEM_DATABASE_URL

Runs in an environment of DBOS's own. Says its version; then for each number on stdin makes that many pairs, and answers
with their nanoseconds as JSON, (bare call, step).
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

from dbos import DBOS


def nothing(number: int) -> int:
    """What the step does."""
    return number


step = DBOS.step()(nothing)


@DBOS.workflow()
def measured() -> int:
    """All steps, in blocks."""
    number = 0
    for line in sys.stdin:
        pairs = []
        for _ in range(int(line)):
            number += 1
            took = {}
            for call in (step, nothing) if number % 2 else (nothing, step):
                began = time.perf_counter_ns()
                call(number)
                took[call] = time.perf_counter_ns() - began
            pairs.append((took[nothing], took[step]))
        print(json.dumps(pairs), flush=True)
    return number


def main() -> None:
    """Serve blocks until stdin ends."""
    DBOS(config={"name": "bench", "system_database_url": sys.argv[1], "log_level": "ERROR"})
    DBOS.launch()
    print(json.dumps(version("dbos")), flush=True)
    measured()
    DBOS.destroy()


if __name__ == "__main__":
    main()
