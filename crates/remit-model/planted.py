"""Plants faults in a copy of remit-core, one at a time, and holds each copy against the model: it must be caught.

    python crates/remit-model/planted.py    # or: make model-planted

`tests/conformance.rs` does the same with faults around the core, without building it anew; here its own lines are
changed. A fault is a text of the core's source, which must be there once, and what stands there instead.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEQUENCES = "2000"

RUNS_ALL_AGAIN = ("recovery.rs", "if is_recorded(log, tasks[i])", "if is_recorded(log, tasks[i]) && false")

# name: what must be broken, and the changes. The first six are the model's fault switches.
FAULTS: dict[str, tuple[set[str], list[tuple[str, str, str]]]] = {
    "Replay": (
        {"PC", "EO"},
        [RUNS_ALL_AGAIN, ("ledger.rs", "match self.find(branch, task, effect) {", "match None::<usize> {")],
    ),
    "ForkIgnore": ({"FD"}, [("view.rs", "Intent::Fork => return Show::Hide,", "Intent::Fork => return Show::Keep,")]),
    "InvalidPersist": ({"CV"}, [("commit.rs", "if !valid {", "if !valid && task == u64::MAX {")]),
    # the core has no source of chance: how the log landed stands for it
    "NondetRecovery": (
        {"RD"},
        [("recovery.rs", "if is_recorded(log, tasks[i])", "if is_recorded(log, tasks[i]) && log[0].place % 2 == 0")],
    ),
    "DoubleConsume": (
        {"CO", "EO"},
        [
            (
                "stray.rs",
                "(Thread::Finished, _) => (Reason::NotWaiting, true),",
                "(Thread::Finished, _) => return Verdict::Accept,",
            )
        ],
    ),
    "PrefixReplay": (
        {"PC", "EO"},
        [
            RUNS_ALL_AGAIN,
            (
                "ledger.rs",
                "match self.find(branch, task, effect) {",
                "match self.find(branch, task, effect).filter(|_| task > 1) {",
            ),
        ],
    ),
    "recovery looks at the record that landed last": (
        {"RD"},
        [
            (
                "recovery.rs",
                "if is_recorded(log, tasks[i])",
                "if is_recorded(log, tasks[i]) && log.last().is_some_and(|r| tasks[i] <= r.task)",
            )
        ],
    ),
    "a task's effects are one": (
        {"EO"},
        [("ledger.rs", "r.task == task && r.effect == effect", "r.task == task")],
    ),
    "branches share effects": ({"EO"}, [("ledger.rs", "r.branch == branch && ", "")]),
    "all forks of a checkpoint are one": (
        {"branches"},
        [("branch.rs", "let ordinal = self.next(checkpoint);", "let ordinal = 0;")],
    ),
    "ordinals are counted over all checkpoints": (
        {"branches"},
        [("branch.rs", "if self.entries[i].checkpoint == checkpoint {", "if true {")],
    ),
    "a token is forgotten": ({"branches"}, [("branch.rs", "if t == token {", "if t == token && false {")]),
    "the frontier does not move": (
        {"frontier"},
        [("commit.rs", "self.frontier = self.log.len();", "self.frontier = 0;")],
    ),
    "a durable step is stored again": (
        {"step"},
        [("commit.rs", "match self.step_of(task) {", "match None::<usize> {")],
    ),
    "an answer to a failed task sticks": (
        {"attempts"},
        [("view.rs", "Intent::Answer => named,", "Intent::Answer => false,")],
    ),
    "a held claim is taken over": ({"COc"}, [("claim.rs", "if now >= lease_end {", "if true {")]),
    "a claim is never taken over": ({"claims"}, [("claim.rs", "if now >= lease_end {", "if now == u64::MAX {")]),
    "any grant is the current one": ({"claims"}, [("claim.rs", "if fence == current {", "if true {")]),
}


def copy_of_the_sources(place: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, place)
    shutil.copytree(ROOT / "models", place / "models")
    shutil.copytree(ROOT / "crates", place / "crates", ignore=shutil.ignore_patterns("target"))


def main() -> int:
    missed = 0
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        copy_of_the_sources(place)
        core = place / "crates/remit-core/src"
        # one build directory for all of them, and quick builds; dead code is part of a fault
        quick = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
        environment = {
            **os.environ,
            **quick,
            "CARGO_TARGET_DIR": str(place / "target"),
            "RUSTFLAGS": "--cap-lints warn",
        }
        conform = ["cargo", "run", "--locked", "--quiet", "--release", "-p", "remit-model", "--", "conform", SEQUENCES]
        for name, (expected, changes) in {"no fault": (set[str](), []), **FAULTS}.items():
            for file, old, new in changes:
                text = (core / file).read_text()
                assert text.count(old) == 1, f"{name}: {old!r} is {text.count(old)} times in {file}"
                (core / file).write_text(text.replace(old, new))
            done = subprocess.run(conform, cwd=place, env=environment, capture_output=True, text=True)
            said = re.findall(r"^(.*) broken by: (.*)$", done.stdout, re.M)
            broken = {word for what, _ in said for word in re.findall(r"\w+", what.rpartition("seen, ")[2])}
            caught = done.returncode == int(bool(changes)) and expected <= broken
            missed += not caught
            print(
                f"{name}: {'as expected' if caught else 'NOT AS EXPECTED'}: {', '.join(sorted(broken)) or 'nothing'} broken"
            )
            if said:
                print(f"    {said[0][1]}")
            if not caught:
                print(done.stdout + done.stderr)
            for file, _, _ in changes:
                shutil.copy(ROOT / "crates/remit-core/src" / file, core / file)
    print(f"{len(FAULTS)} faults, {missed} not as expected")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
