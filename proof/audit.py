"""The proofs: what can be checked without the verifier, what the verifier says, and what is on record.

audit.py scan                 # no trusted hole, no code for the verifier alone, every function accounted for
audit.py typecheck            # rustc parses every proof, resolves its names and checks its types; discharges nothing
audit.py verify VERUS         # every root: its pinned count, no error
audit.py negative VERUS       # every wrong rule: one error, on its FAILS line; its unchanged twin: none
audit.py document [--check]   # the generated part of VERIFICATION.md

Status 3: no verifier was given. `--record NAME` with verify and negative: put what was printed on record, under that
name of the verifier.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sources

REPO = Path(__file__).resolve().parents[1]
NO_VERIFIER = 3

# ---- type check ----

EDITION = "2021"
FEATURES = (
    "stmt_expr_attributes,box_patterns,negative_impls,rustc_attrs,unboxed_closures,register_tool,tuple_trait,"
    "custom_inner_attributes,try_trait_v2"
)
FLAGS = [
    *("--cfg", "verus_only", "--cfg", "verus_keep_ghost", "--cfg", "verus_keep_ghost_body", "-Awarnings"),
    *(f"-Zcrate-attr=register_tool({tool})" for tool in ("verus", "verifier", "verusfmt")),
    f"-Zcrate-attr=feature({FEATURES})",
    "-Zcrate-attr=allow(internal_features)",
]
# Ghost values may be used more than once: of rustc's complaints these two say nothing about a proof.
MOVES = {"E0382", "E0507"}
PLANTED = """
use vstd::prelude::*;
verus! {
spec fn wrong_type(n: nat) -> bool { n }
proof fn unknown_name() ensures no_such_predicate(1), {}
}
"""


def build_vstd() -> Path:
    """vstd with its ghost code, for stable rustc. Where its metadata lies."""
    command = ["cargo", "check", "--locked", "-p", "vstd", "--config", "ghosts.toml", "--message-format", "json"]
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "proof/target")) / "ghosts"
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "CARGO_TARGET_DIR": str(target)}
    done = subprocess.run(command, cwd=REPO / "proof", env=environment, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    [artifact] = [m for m in messages if m["reason"] == "compiler-artifact" and m["target"]["name"] == "vstd"]
    return next(Path(name) for name in artifact["filenames"] if name.endswith(".rmeta"))


def rustc_errors(file: Path, vstd: Path) -> list[str]:
    """What rustc says of a crate root, but for moves of ghost values. Errors of types and names come with the others."""
    with tempfile.TemporaryDirectory() as out:
        command = ["rustc", "--edition", EDITION, "--crate-type", "lib", "--emit", "metadata", "--out-dir", out]
        command += ["-L", f"dependency={vstd.parent}", "--extern", f"vstd={vstd}", "--error-format", "json"]
        environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
        done = subprocess.run(
            [*command, *FLAGS, str(file)], env=environment, stderr=subprocess.PIPE, text=True, check=False
        )
    found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    errors = [m for m in found if m["level"] == "error" and not m["message"].startswith("aborting due to")]
    return [m["rendered"] for m in errors if (m["code"] or {}).get("code") not in MOVES] or (
        [done.stderr] if done.returncode and not errors else []
    )


def typecheck() -> int:
    """Stable rustc on everything: with ghost code erased as it is, with ghost code by rustc's own switch."""
    erased = ["cargo", "check", "--locked", "--quiet", "--manifest-path", str(REPO / "proof/Cargo.toml")]
    plain = {key: value for key, value in os.environ.items() if key != "RUSTC_BOOTSTRAP"}
    if subprocess.run(erased, env={**plain, "RUSTFLAGS": "-Awarnings"}, check=False).returncode:
        print("with ghost code erased, the proofs do not compile on stable Rust")
        return 1
    vstd = build_vstd()
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        planted = Path(directory) / "planted.rs"
        planted.write_text(PLANTED)
        said = "".join(rustc_errors(planted, vstd))
        if not ("mismatched types" in said and "no_such_predicate" in said):
            print(f"the planted faults were not found:\n{said}")
            bad += 1
        files = [*sources.roots(REPO), *sources.negatives(REPO), *write_twins(REPO, Path(directory))]
        for file in files:
            errors = rustc_errors(file, vstd)
            bad += len(errors)
            print("".join(errors), end="")
    print(
        f"{len(files)} crate roots: " + (f"{bad} faults" if bad else "names and types are right; nothing is discharged")
    )
    return min(bad, 1)


def write_twins(repo: Path, directory: Path) -> Iterator[Path]:
    """The unchanged twin of every negative."""
    for file in sources.negatives(repo):
        twin = directory / file.name
        twin.write_text(sources.twin(file.read_text()).replace('path = "../', f'path = "{repo}/'))
        yield twin


# ---- the verifier ----

RESULT = re.compile(r"verification results:: (\d+) verified, (\d+) errors")
ERROR = re.compile(r"^error: (?!aborting)(.*)\n +--> (\S+?):(\d+):", re.M)


def run_verus(verus: str, file: Path) -> tuple[tuple[int, int] | None, str]:
    """How many items were verified and how many errors there were, and all that was printed."""
    done = subprocess.run(
        [verus, "--crate-type=lib", "--triggers-mode", "silent", str(file)],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    found = RESULT.search(output)
    return (int(found[1]), int(found[2])) if found else None, output


def verify(verus: str, record: Record, name: str | None) -> int:
    """Each root is verified with no error, and as many items as are pinned."""
    bad = 0
    for file in sources.roots(record.repo):
        result, output = run_verus(verus, file)
        pinned = record.pinned(file)
        good = result is not None and result[1] == 0 and (result[0] == pinned or name is not None)
        if result is None or result[1]:
            print(output)
        printed = f"{result[0]} verified, {result[1]} errors" if result else "no result"
        print(f"proof/{file.name}: {printed}, pinned {pinned}: {'ok' if good else 'BAD'}")
        bad += not good
        if name and good and result:
            record.put(file, printed, name, pinned=result[0])
    return min(bad, 1)


def negative(verus: str, record: Record, name: str | None) -> int:
    """Each wrong rule is rejected for the stated reason, and only the change is the reason."""
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        for file, twin in zip(sources.negatives(record.repo), write_twins(record.repo, Path(directory)), strict=True):
            lines = file.read_text().splitlines()
            result, output = run_verus(verus, file)
            errors = ERROR.findall(output)
            twins, twin_output = run_verus(verus, twin)
            rejected = (
                result is not None
                and result[1] == len(errors) == 1
                and errors[0][0] == "postcondition not satisfied"
                and Path(errors[0][1]).name == file.name
                # a clause may begin on the line before
                and any(line.endswith(sources.FAILS) for line in lines[int(errors[0][2]) - 1 : int(errors[0][2]) + 1])
            )
            good = rejected and twins is not None and twins[1] == 0
            print(f"negative/{file.name}: {result} {errors}, twin {twins}: {'rejected' if good else 'BAD'}")
            if not rejected:
                print(output)
            elif not good:
                print(twin_output)
            bad += not good
            if name and good:
                record.put(file, "1 error, on its FAILS line; twin 0 errors", name)
    return min(bad, 1)


# ---- the record ----


class Record:
    """`discharges.json`: per root and negative the pinned count, and what was printed when, by what, of which text."""

    def __init__(self, repo: Path = REPO) -> None:
        self.repo = repo
        self.path = repo / "proof/discharges.json"
        self.entries: dict[str, dict[str, Any]] = json.loads(self.path.read_text())

    def name(self, file: Path) -> str:
        return file.relative_to(self.repo).as_posix()

    def pinned(self, file: Path) -> int:
        """The count on record; where none is, the one that is computed from the text."""
        return self.entries.get(self.name(file), {}).get("pinned", sources.count_items(file))

    def pin(self, file: Path) -> str:
        """The count, and whether a verifier has ever printed it."""
        computed = "" if "pinned" in self.entries.get(self.name(file), {}) else ", computed, not discharged"
        return f"{self.pinned(file)}{computed}"

    def texts(self, file: Path) -> dict[str, str]:
        """The digest of each file that the root takes in."""
        return {self.name(path): sources.digest(path) for path in sources.included(file)}

    def put(self, file: Path, printed: str, verifier: str, pinned: int | None = None) -> None:
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        entry = {"printed": printed, "by": verifier, "when": today, "texts": self.texts(file)}
        self.entries[self.name(file)] = {**({"pinned": pinned} if pinned is not None else {}), **entry}
        self.path.write_text(json.dumps(dict(sorted(self.entries.items())), indent=1) + "\n")

    def state(self, file: Path) -> str:
        """Whether what was printed was printed of this text."""
        entry = self.entries.get(self.name(file))
        if not entry or "texts" not in entry:
            return "**never run**"
        now = self.texts(file)
        changed = sorted(Path(path).name for path, text in now.items() if entry["texts"].get(path) != text)
        if changed:
            return f"**not discharged since**: other text in {', '.join(f'`{name}`' for name in changed)}"
        return "discharged: this text"

    def runs(self) -> list[str]:
        """Every verifier and day on record, in the order of their letters in the document."""
        return sorted({f"{entry['by']}, {entry['when']}" for entry in self.entries.values() if "by" in entry})

    def printed(self, file: Path) -> str:
        """What was last printed, and the letter of the run."""
        entry = self.entries.get(self.name(file), {})
        if "printed" not in entry:
            return "-"
        letter = chr(ord("a") + self.runs().index(f"{entry['by']}, {entry['when']}"))
        return f"{entry['printed']} ({letter})"

    def faults(self) -> Iterator[str]:
        files = {self.name(file) for file in [*sources.roots(self.repo), *sources.negatives(self.repo)]}
        for name in sorted(self.entries.keys() ^ files):
            yield f"proof/discharges.json: {name} is on record or in the tree, not both"
        for file in sources.roots(self.repo):
            if self.pinned(file) != sources.count_items(file):
                yield f"proof/discharges.json: {self.name(file)} has {sources.count_items(file)} items: its pin is another text's"


# ---- the document ----

BEGIN = "<!-- Generated by `python proof/audit.py document`; do not edit from here -->"
END = "<!-- to here -->"

# Per part of trusted_contract.rs: its promises, the shipped functions that its words are tied to, and the tests.
PARTS: dict[str, tuple[str, str, str]] = {
    "effects": ("EO", "`Ledger::admit`", "core `ledger.rs`, `specification.rs`"),
    "durable_effects": (
        "EO, live",
        "`effect::decide`",
        "core `effect.rs`, `specification.rs`; `contract/test_effects.py`, `test_effects_killed.py`; `make model-proof`: the same machine",
    ),
    "durable_prefix": (
        "PC, CV",
        "`Plane::commit`",
        "core `commit.rs`, `specification.rs`; `contract/test_validity.py`",
    ),
    "branches": ("FD, FI", "`Forks::fork`", "core `branch.rs`, `specification.rs`; `contract/test_fork_branches.py`"),
    "serving": (
        "FD, CO",
        "`view::view`",
        "core `view.rs`, `specification.rs`; `contract/test_forks.py`, `test_answers.py`",
    ),
    "storing": ("FD, live", "`answers::store`", "core `answers.rs`, `specification.rs`; `contract/test_answers.py`"),
    "showing": ("PC, FD", "`outputs::shows`", "core `outputs.rs`, `specification.rs`; `contract/test_forks.py`"),
    "strays": ("CO-e, live", "`stray::judge`", "core `stray.rs`, `specification.rs`; `contract/test_strays.py`"),
    "recovering": ("RD", "`recovery::plan`", "core `recovery.rs`, `specification.rs`"),
    "explaining": ("RD", "`explain::on_retry`", "core `explain.rs`, `specification.rs`"),
    "authority": ("CO, live", "`claim::decide`", "core `claim.rs`, `specification.rs`"),
    "endings": (
        "CO, live",
        "`ending::fate`, `ending::is_over`, `ending::is_present`",
        "core `ending.rs`, `specification.rs`; `contract/test_gate.py`",
    ),
    "questions": ("CO, live", "`claim::decide`, `claim::word`", "core `claim.rs`"),
    "questions_in_two_writes": ("CO", "`claim::decide`", "core `claim.rs`"),
    "reference_machine": ("all, live", "none: a machine", "`make model`: the same system, searched to a bound"),
    "parked_crashes": ("all, live", "none: a machine", "`make model`: the same system, searched to a bound"),
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(head)
    return [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]] + [""]


def statements(repo: Path) -> Iterator[tuple[str, str, int, list[str]]]:
    """Part, name, line and called theorems of each statement of trusted_contract.rs."""
    part, name, line = "", "", 0
    calls: list[str] = []
    for number, text in enumerate((repo / "proof/trusted_contract.rs").read_text().splitlines(), 1):
        if found := re.match(r"pub mod (\w+) \{", text):
            part = found[1]
        elif found := re.match(r"    pub proof fn (\w+)", text):
            name, line, calls = found[1], number, []
        elif found := re.match(r"\s*(theorem_\w+)\(", text):
            calls.append(found[1])
        elif text == "    }" and name:
            yield part, name, line, calls
            name = ""


def proved_at(repo: Path, theorem: str, part: str) -> str:
    """`file:line` of a theorem; of two of one name, the one in the part's own file."""
    own = {"questions": "claim_keys", "questions_in_two_writes": "claim_reread"}.get(part)
    places = [
        f"{file.name}:{number}"
        for file in sorted((repo / "proof").glob("*.rs"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(rf"proof fn {theorem}\b", line)
    ]
    return next((place for place in places if own and place.startswith(own)), places[0] if places else "MISSING")


def twins_of(repo: Path, theorem: str, part: str) -> list[str]:
    """The negatives whose first line names the theorem."""
    found = []
    for file in sources.negatives(repo):
        named = file.read_text().split(". Changed:")[0]
        other = {"questions": "claim_reread.rs", "questions_in_two_writes": "claim_keys.rs"}.get(part, "no file")
        if re.search(rf"\b{theorem}\b", named) and other not in named:
            found.append(file.stem)
    return found


def pins(repo: Path) -> str:
    """The verifier and the library, from the files that pin them."""
    workflow, manifest = ".github/workflows/verify.yml", "proof/Cargo.toml"
    verus = re.search(r"VERUS: (\S+)", (repo / workflow).read_text())
    vstd = re.search(r'vstd = "=(\S+)"', (repo / manifest).read_text())
    assert verus and vstd
    return f"Verus {verus[1]} (`{workflow}`), `vstd` {vstd[1]} (`{manifest}`)"


def document(repo: Path) -> str:
    """The generated part of VERIFICATION.md."""
    record = Record(repo)
    lines = [f"Pinned: {pins(repo)}.", "", "### From promise to theorem", ""]
    rows = []
    for part, name, line, calls in statements(repo):
        promise, shipped, tests = PARTS[part]
        proofs = ", ".join(f"`{proved_at(repo, call, part)}`" for call in calls)
        twins = sorted({twin for call in calls for twin in twins_of(repo, call, part)})
        rejected = ", ".join(f"`{twin}`" for twin in twins) or "none"
        rows.append([promise, f"`{name}` (`:{line}`)", proofs, shipped, rejected, tests])
    lines.append("Statements are in `proof/trusted_contract.rs`, proofs in `proof/`, rejected twins in `negative/`.\n")
    lines += table(["promise", "statement", "proof", "shipped function", "rejected twin", "tests"], rows)
    lines += ["### State of the discharges", ""]
    lines += [f"- ({chr(ord('a') + number)}) {run}" for number, run in enumerate(record.runs())] + [""]
    rows = [
        [f"`{file.name}`", record.pin(file), record.printed(file), record.state(file)] for file in sources.roots(repo)
    ]
    lines += table(["root in `proof/`", "pinned", "last printed", "state"], rows)
    rows = [[f"`{file.name}`", record.printed(file), record.state(file)] for file in sources.negatives(repo)]
    lines += table(["wrong rule in `negative/`", "last printed", "state"], rows)
    lines += ["### Functions with a specification", ""]
    rows = []
    for module in sources.specified(repo):
        found = list(sources.functions(repo, module))
        named = [
            ", ".join(f"`{f.name}` (`:{f.line}`)" for f in found if f.public is public) for public in (True, False)
        ]
        rows.append([f"`{sources.CORE}/{module}.rs`", named[0], named[1] or "-"])
    lines += table(["file", "public, with its line", "private"], rows)
    lines += ["### Public functions without one", ""]
    rows = []
    for module in sources.modules(repo):
        if module in sources.UNSPECIFIED:
            names = ", ".join(f"`{f.name}`" for f in sources.functions(repo, module) if f.public)
            rows.append([f"`{module}`", names, sources.UNSPECIFIED[module]])
    lines += table(["module", "functions", "why"], rows)
    return "\n".join(lines)


def with_document(repo: Path, text: str) -> str:
    """VERIFICATION.md with its generated part written anew."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{document(repo)}\n{END}{rest.split(END)[1]}"


# ---- command line ----


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scan", "typecheck", "verify", "negative", "document"])
    parser.add_argument("verus", nargs="?", help="the verifier's executable")
    parser.add_argument(
        "--record", metavar="NAME", help="put the outcome on record, printed by a verifier of this name"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the document is not current")
    given = parser.parse_args()
    if given.what == "typecheck":
        return typecheck()
    if given.what == "scan":
        faults = [*sources.scan(REPO), *Record().faults()]
        print("\n".join(faults) or "no fault in the proof sources; nothing is discharged")
        return min(len(faults), 1)
    if given.what == "document":
        page = REPO / "VERIFICATION.md"
        written = with_document(REPO, page.read_text())
        if given.check:
            if written != page.read_text():
                print("error: VERIFICATION.md is not current\n\nhint: python proof/audit.py document", file=sys.stderr)
                return 1
        else:
            page.write_text(written)
        return 0
    if not given.verus:
        print("error: no verifier, so nothing is verified\n\nhint: make verify VERUS=path/to/verus", file=sys.stderr)
        return NO_VERIFIER
    run = verify if given.what == "verify" else negative
    return run(given.verus, Record(), given.record)


if __name__ == "__main__":
    sys.exit(main())
