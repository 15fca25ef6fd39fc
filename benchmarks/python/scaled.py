"""Times the complete search of the scaled bounds, 7,435,360 states on one core: processor time, and memory at its peak.

    python benchmarks/python/scaled.py [--rounds 5] [--binary target/release/remit-model]

Processor time, since a search waits for nothing: what else the machine does lengthens the time on the wall only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import record

ROOT = Path(__file__).resolve().parents[2]
RUN = "R8_scaled"
STATES = 7_435_360


def search(binary: Path) -> tuple[float, float]:
    """One search in a process of its own: processor seconds, and its largest resident set in megabytes."""
    command = [str(binary), "replay", RUN, "--models", str(ROOT / "models")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0 and said.endswith("hold, nothing to replay\n"), said
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/remit-model")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/scaled.json")
    given = parser.parse_args()
    rounds = [search(given.binary) for _ in range(given.rounds)]
    seconds = [s for s, _ in rounds]
    result: dict[str, Any] = {
        "benchmark": "scaled",
        "run": RUN,
        "distinct_states": STATES,
        "rounds": given.rounds,
        "processor_s": {"median": round(statistics.median(seconds), 2), "min": round(min(seconds), 2)},
        "states_per_s": round(STATES / statistics.median(seconds)),
        "peak_mb": round(max(mb for _, mb in rounds)),
        **record.environment(given.binary),
    }
    record.write(given.out, result)
    print(f"{RUN}: {STATES:,} states in {result['processor_s']['median']} s, {result['peak_mb']} MB at the peak")
    return 0


if __name__ == "__main__":
    sys.exit(main())
