"""One isolated environment per framework and version set, built from the lock files in `envs/`.

    python harness/environments.py            # all of them
    python harness/environments.py langgraph  # those whose name begins so

An environment is kept outside the repository, in `$XDG_CACHE_HOME/remit-harness` (default `~/.cache`), under its lock
file's name and a digest of the lock file and the interpreter, so that a changed lock file is a new environment. They
are built one after another. Disk and time are printed.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
LOCKS = HERE / "envs"


@dataclass(frozen=True)
class Environment:
    """A lock file, and where its environment is. `framework` and `version` are the two halves of the file's name."""

    lock: Path

    @property
    def name(self) -> str:
        return self.lock.stem

    @property
    def framework(self) -> str:
        return self.name.rpartition("-")[0]

    @property
    def version(self) -> str:
        return self.name.rpartition("-")[2]

    @property
    def home(self) -> Path:
        """The directory of the environment, whether it is built or not."""
        digest = hashlib.sha256(self.lock.read_bytes() + sys.version.encode()).hexdigest()[:12]
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "remit-harness" / f"{self.name}-{digest}"

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    @property
    def is_built(self) -> bool:
        return (self.home / "complete").exists()

    def build(self) -> None:
        """Builds it, unless it is there. A build that was broken off is thrown away.

        Raises:
            subprocess.CalledProcessError: pip failed; what it said is on stderr.
        """
        if self.is_built:
            return
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", self.home], check=True)
        # --no-deps: the lock file is the whole set, and what pip would add is not locked. `pip check` says if it is not.
        pip = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--no-deps", "-r", self.lock], check=True)
        (self.home / "complete").touch()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other runs out of the environment, which install a package of their own there."""
        self.home.parent.mkdir(parents=True, exist_ok=True)
        with Path(f"{self.home}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"{self.name:32}in use by another run; waiting", flush=True)
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def size_mb(self) -> int:
        """Disk, in megabytes."""
        return sum(file.lstat().st_size for file in self.home.rglob("*") if file.is_file()) // 10**6


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def environments(prefix: str = "") -> list[Environment]:
    """Every environment whose name begins with `prefix`, by framework and by version."""
    found = [Environment(lock) for lock in LOCKS.glob("*.txt") if lock.stem.startswith(prefix)]
    return sorted(found, key=lambda env: (env.framework, version_key(env.version)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefixes", nargs="*", default=[""], help="names, or their beginnings")
    wanted = [env for prefix in parser.parse_args().prefixes for env in environments(prefix)]
    if not wanted:
        parser.error("no lock file has such a name")
    total = 0
    for env in wanted:
        started, was_there = time.monotonic(), env.is_built
        with env.alone():
            env.build()
        total += env.size_mb()
        took = "was there" if was_there else f"built in {time.monotonic() - started:.0f} s"
        print(f"{env.name:34}{env.size_mb():6} MB  {took}", flush=True)
    print(f"{len(wanted)} environments, {total} MB in {wanted[0].home.parent}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
