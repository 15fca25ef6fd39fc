"""What is on record of the proofs, what the verifier's words are taken for, and the generated part of VERIFICATION.md."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import audit
import pytest
import sources

REPO = Path(__file__).parents[2]
VIEW = "crates/remit-core/src/view.rs"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (".github", "crates/remit-core", "proof", "negative"):
        shutil.copytree(REPO / name, tmp_path / name, ignore=shutil.ignore_patterns("target", "__pycache__"))
    return tmp_path


@pytest.fixture
def few(tree: Path) -> Path:
    """The same with two roots and two wrong rules: a stand-in for the verifier is started for each."""
    keep = ("root_ledger.rs", "root_view.rs", "ledger_admits_again.rs", "view_inspection_hides.rs")
    for file in [*(tree / "proof").glob("root_*.rs"), *(tree / "negative").glob("*.rs")]:
        if file.name not in keep:
            file.unlink()
    return tree


def test_the_document_is_current() -> None:
    page = (REPO / "VERIFICATION.md").read_text()
    assert audit.with_document(REPO, page) == page


def test_every_root_and_wrong_rule_is_on_record() -> None:
    assert list(audit.Record(REPO).faults()) == []


def test_every_statement_has_a_proof_and_a_place_in_the_map() -> None:
    found = list(audit.statements(REPO))
    assert {part for part, *_ in found} == audit.PARTS.keys()
    for part, name, _, calls in found:
        assert calls, name
        assert "MISSING" not in [audit.proved_at(REPO, call, part) for call in calls]


def test_every_wrong_rule_stands_against_a_theorem_of_proof() -> None:
    theorems = "\n".join(file.read_text() for file in (REPO / "proof").glob("*.rs"))
    for file in sources.negatives(REPO):
        named = file.read_text().split(". Changed:")[0].replace(",", " ").split()
        assert any(f"proof fn {word}(" in theorems for word in named), file.name


# ---- digests ----


def discharge(tree: Path) -> Path:
    """A record that says the view was verified as it is."""
    root = tree / "proof/root_view.rs"
    audit.Record(tree).put(root, "1 verified, 0 errors", "a verifier", pinned=1)
    assert audit.Record(tree).state(root) == "discharged: this text"
    return root


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (VIEW, "answers >= nth,", "answers > nth,"),
        (VIEW, "ret == reaches(asked, answers),", "true,"),
        (VIEW, "use alloc::vec::Vec;", "use alloc::collections::VecDeque as Vec;"),
        ("proof/view_spec.rs", "Intent::Fork => Show::Hide,", "Intent::Fork => Show::Keep,"),
        ("proof/view_witness.rs", "assert(init(s0));", ""),
    ],
)
def test_a_change_after_the_discharge_shows(tree: Path, name: str, old: str, new: str) -> None:
    root = discharge(tree)
    file = tree / name
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    assert audit.Record(tree).state(root) == f"**not discharged since**: other text in `{file.name}`"
    assert "not discharged since" in audit.document(tree)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/// Did the task fail?", "/// Has it failed?"),
        ("    let mut found: usize = 0;", "    let mut found: usize =\n        0; // none yet"),
        ("    answers: usize,\n) -> Show {", "    answers: usize\n) -> Show {"),
    ],
)
def test_what_the_verifier_does_not_see_is_no_change(tree: Path, old: str, new: str) -> None:
    root = discharge(tree)
    file = tree / VIEW
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    assert audit.Record(tree).state(root) == "discharged: this text"


# ---- the verifier's words. There is none here: a stand-in says them, and only their reading is tried ----


def stand_in(directory: Path, body: str) -> str:
    script = directory / "verus"
    script.write_text(
        f"#!{sys.executable} -S\nimport pathlib, sys\nfile = pathlib.Path(sys.argv[-1])\ntext = file.read_text()\n{body}"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


COUNTS = """
counts = {counts}
print(f"verification results:: {{counts.get(file.stem, 7)}} verified, {errors} errors")
"""


def pin(few: Path, count: int | None) -> dict[str, int]:
    """Pins every root to a count of its own; the counts."""
    path = few / "proof/discharges.json"
    record = json.loads(path.read_text())
    counts = {}
    for number, root in enumerate(sources.roots(few)):
        entry = record[root.relative_to(few).as_posix()]
        entry.pop("pinned", None)
        if count is not None:
            entry["pinned"] = counts[root.stem] = count + number
    path.write_text(json.dumps(record))
    return counts


def test_the_pinned_counts_are_demanded(few: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    bin_ = tmp_path_factory.mktemp("bin")
    counts = pin(few, 10)
    right = stand_in(bin_, COUNTS.format(counts=counts, errors=0))
    assert audit.verify(right, audit.Record(few), None) == 0
    fewer = stand_in(bin_, COUNTS.format(counts={**counts, "root_view": 9}, errors=0))
    assert audit.verify(fewer, audit.Record(few), None) == 1
    assert audit.verify(stand_in(bin_, COUNTS.format(counts=counts, errors=1)), audit.Record(few), None) == 1
    assert audit.verify(stand_in(bin_, "print('it crashed')"), audit.Record(few), None) == 1


def test_the_counts_that_were_printed_are_the_computed_ones() -> None:
    record = audit.Record(REPO)
    printed = {
        root.stem: record.pinned(root) for root in sources.roots(REPO) if "pinned" in record.entries[record.name(root)]
    }
    assert len(printed) >= 8
    assert printed == {stem: sources.count_items(REPO / f"proof/{stem}.rs") for stem in printed}


def test_without_a_pin_the_computed_count_is_demanded(few: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    pin(few, None)
    bin_ = tmp_path_factory.mktemp("bin")
    computed = {root.stem: sources.count_items(root) for root in sources.roots(few)}
    assert audit.verify(stand_in(bin_, COUNTS.format(counts=computed, errors=0)), audit.Record(few), None) == 0
    assert "computed, not discharged" in audit.Record(few).pin(few / "proof/root_view.rs")
    other = stand_in(bin_, COUNTS.format(counts={}, errors=0))
    assert audit.verify(other, audit.Record(few), None) == 1
    assert audit.verify(other, audit.Record(few), "a stand-in") == 0
    assert audit.verify(other, audit.Record(few), None) == 0
    root = few / "proof/root_view.rs"
    assert audit.Record(few).state(root) == "discharged: this text"
    assert audit.Record(few).entries["proof/root_view.rs"]["printed"] == "7 verified, 0 errors"


def test_a_pin_of_another_text_is_a_fault(tree: Path) -> None:
    file = tree / "proof/ledger_spec.rs"
    file.write_text(file.read_text().replace("} // verus!", "proof fn lemma_more() {}\n\n} // verus!"))
    assert [fault for fault in audit.Record(tree).faults() if "root_ledger.rs has 16 items" in fault]


ERRORS = """
at = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("// FAILS")]
if at or {twin_fails}:
    for line in (at or [1])[:1] * {errors}:
        print(f"error: {message}\\n  --> {{file.name}}:{{line + {shift}}}:9\\n   |")
    print(f"verification results:: 5 verified, {errors} errors")
else:
    print("verification results:: 6 verified, 0 errors")
"""
AS_IT_SHOULD: dict[str, object] = {
    "message": "postcondition not satisfied",
    "shift": 0,
    "errors": 1,
    "twin_fails": False,
}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 0),
        ({"shift": -2}, 1),
        ({"shift": 1}, 1),
        ({"errors": 2}, 1),
        ({"errors": 0}, 1),
        ({"message": "precondition not satisfied"}, 1),
        ({"twin_fails": True}, 1),
    ],
)
def test_a_wrong_rule_is_rejected_for_its_reason_only(
    few: Path, tmp_path_factory: pytest.TempPathFactory, change: dict[str, object], status: int
) -> None:
    verus = stand_in(tmp_path_factory.mktemp("bin"), ERRORS.format(**{**AS_IT_SHOULD, **change}))
    assert audit.negative(verus, audit.Record(few), None) == status


@pytest.mark.parametrize("what", ["verify", "negative"])
def test_without_a_verifier_nothing_is_green(what: str) -> None:
    command = [sys.executable, str(REPO / "proof/audit.py"), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == audit.NO_VERIFIER == 3
    assert "no verifier, so nothing is verified" in done.stderr
