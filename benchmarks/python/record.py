"""What is written down of a measurement: the statistics, and the machine, versions and build that they are of."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import random
import statistics
import subprocess
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "langgraph-checkpoint-remit",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "langchain-core",
    "aiosqlite",
    "psycopg",
)
RESAMPLES = 5000
SEED = 20261130
"""Of the bootstrap, so that the same pairs always give the same interval."""


def summarize(pairs: list[tuple[int, int]]) -> dict[str, Any]:
    """Medians, 95th percentiles and the paired ratio of pairs of nanoseconds."""
    first, second = ([pair[column] / 1e6 for pair in pairs] for column in (0, 1))
    ratios = [b / a for a, b in zip(first, second, strict=True)]
    low, high = interval(ratios)
    return {
        "first_ms": _spread(first),
        "second_ms": _spread(second),
        "paired_ratio": {
            "median": round(statistics.median(ratios), 5),
            "interval95": [round(low, 5), round(high, 5)],
            "method": f"percentile bootstrap of the median, {RESAMPLES} resamples, seed {SEED}",
        },
        "ratio_of_medians": round(statistics.median(second) / statistics.median(first), 5),
    }


def _spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 4),
        "p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 4),
        "min": round(ordered[0], 4),
    }


def interval(ratios: list[float]) -> tuple[float, float]:
    """The bootstrap 95% interval of the median. Rounds are resampled whole, so what a pair shares stays paired."""
    source = random.Random(SEED)
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return medians[int(RESAMPLES * 0.025)], medians[int(RESAMPLES * 0.975)]


def environment(binary: Path | None = None) -> dict[str, Any]:
    """Machine, interpreter, versions, build and date. No names or paths of the machine. `binary`: what was measured,
    if it was not the extension module."""
    return {
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "system": f"{platform.system()} {platform.release()}",
        },
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": _versions(),
        "build": _build(binary or Path(str(import_module("remit._core").__file__))),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _build(binary: Path) -> dict[str, Any]:
    """Which binary was measured: its digest and size name it, the commit says where it should have come from."""
    content = binary.read_bytes()
    return {
        "extension": binary.name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": _git("status", "--porcelain", "--untracked-files=no") not in ("", None),
    }


def _git(*args: str) -> str | None:
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(["git", *args], cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def write(path: Path, result: dict[str, Any]) -> None:
    """Write a result, all of it or nothing."""
    unfinished = path.with_suffix(".tmp.json")
    unfinished.write_text(json.dumps(result, indent=2) + "\n")
    unfinished.replace(path)


def line(result: dict[str, Any]) -> str:
    """A result for a person, in one line."""
    ratio = result["paired_ratio"]
    low, high = ratio["interval95"]
    first, second = result["columns"]
    return (
        f"{result['backend']:9}{result['mode']:6} {first} {result['first_ms']['median']:8.3f} ms   "
        f"{second} {result['second_ms']['median']:8.3f} ms   "
        f"paired ratio {ratio['median']:.4f} (95% {low:.4f} to {high:.4f}; {result['rounds']} rounds)"
    )
