"""What the scan of the proof sources refuses: each fault is planted into a copy of the tree and must be found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import sources

REPO = Path(__file__).parents[2]
CORE = "crates/remit-core/src"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of all that the scan reads."""
    for name in ("crates/remit-core", "proof", "negative"):
        shutil.copytree(REPO / name, tmp_path / name, ignore=shutil.ignore_patterns("target", "__pycache__"))
    return tmp_path


def plant(tree: Path, name: str, old: str, new: str) -> None:
    file = tree / name
    text = file.read_text()
    assert old in text, f"nothing to change in {name}: {old}"
    file.write_text(text.replace(old, new, 1))


def test_the_sources_have_no_fault(tree: Path) -> None:
    assert sources.scan(REPO) == []
    assert sources.scan(tree) == []


IN_A_PROOF = [
    "assume(false);",
    "assume (false);",
    "admit();",
    "vstd::pervasive::admit ( );",
    "assume_new(1);",
    "proof_from_false::<int>();",
    "let x: int = unimplemented!();",
]


@pytest.mark.parametrize("hole", IN_A_PROOF)
@pytest.mark.parametrize("name", ["proof/ledger_spec.rs", "proof/claim_system.rs", "proof/trusted_contract.rs"])
def test_a_proof_takes_nothing_for_granted(tree: Path, name: str, hole: str) -> None:
    plant(tree, name, "\n{\n" if "trusted" not in name else "    {\n", "\n{\n    " + hole + "\n")
    assert any(fault.startswith(name) for fault in sources.scan(tree))


BEFORE_A_LEMMA = [
    "#[verifier::external_body]",
    "#[verifier(external_body)]",
    "#[verifier::external]",
    "#[verifier::external_fn_specification]",
    "#[ verifier :: external_body ]",
    "#[verus::internal(external_body)]",
    "#[verifier::exec_allows_no_decreases_clause]",
    "#[cfg(any())]",
    "#[cfg_attr(verus_only, verifier::external_body)]",
    "pub axiom fn nothing() ensures false;",
    "pub uninterp spec fn anything(n: int) -> bool;",
    "pub assume_specification [ core::mem::forget ] (x: u64);",
    "#[verifier::truncate]",
]


@pytest.mark.parametrize("hole", BEFORE_A_LEMMA)
def test_no_item_is_kept_from_the_verifier(tree: Path, hole: str) -> None:
    plant(tree, "proof/ledger_spec.rs", "pub proof fn lemma_push_counts", f"{hole}\npub proof fn lemma_push_counts")
    assert any(fault.startswith("proof/ledger_spec.rs") for fault in sources.scan(tree))


OUTSIDE = [
    ("proof/ledger_spec.rs", "} // verus!\n", "} // verus!\n\npub fn unseen() {}\n"),
    ("proof/ledger_spec.rs", "verus! {\n", "mod unseen {\n    pub fn f() {}\n}\n\nverus! {\n"),
    ("proof/witness.rs", "verus! {\n", "macro_rules! verus {\n    () => {};\n}\n\nverus! {\n"),
    (
        "negative/commit_validity_after_append.rs",
        "#[cfg_attr(verus_only, verus_spec(",
        "fn unseen() {}\n\n#[cfg_attr(verus_only, verus_spec(",
    ),
]


@pytest.mark.parametrize(("name", "old", "new"), OUTSIDE)
def test_nothing_stands_where_the_verifier_does_not_look(tree: Path, name: str, old: str, new: str) -> None:
    plant(tree, name, old, new)
    assert any(fault.startswith(name) for fault in sources.scan(tree))


@pytest.mark.parametrize("hole", ["assume(false);", "admit();"])
def test_a_wrong_rule_takes_nothing_for_granted_either(tree: Path, hole: str) -> None:
    name = "negative/ledger_admits_again.rs"
    plant(tree, name, "\n{\n}", "\n{\n    " + hole + "\n}")
    assert any(fault.startswith(name) for fault in sources.scan(tree))


BODY = "        let mut i: usize = 0;\n"
GHOST = [
    (BODY, BODY + "        #[cfg(verus_only)]\n        {\n            i = 1;\n        }\n"),
    (BODY, BODY + "        #[cfg(verus_only)]\n        let i = 1;\n"),
    (BODY, "        #[cfg(not(verus_only))]\n" + BODY),
    (BODY, BODY + "        if cfg!(verus_only) {\n            return None;\n        }\n"),
    (BODY, BODY + "        if cfg!(debug_assertions) {\n            return None;\n        }\n"),
    (BODY, BODY + "        #[cfg_attr(verus_only, verifier::external_body)]\n        {}\n"),
    (BODY, '        #[cfg(feature = "fast")]\n        return None;\n' + BODY),
    ("pub fn empty()", "#[cfg(verus_only)]\npub fn other() {}\n\npub fn empty()"),
    ("use super::ledger_spec::*;", "use super::ledger_spec::empty;"),
    ("use super::ledger_spec::*;", "use super::ledger_spec::*;\n#[cfg(verus_only)]\nuse super::other::*;"),
    ("cfg_attr(verus_only, verus_verify)", "cfg_attr(verus_only, verus_verify(external_body))"),
    ("cfg_attr(verus_only, verus_verify)", 'cfg_attr(verus_only, path = "other.rs")'),
    ("    ensures\n", "    requires\n        false,\n    ensures\n"),
    ("/// The ledger.\n", "/* #[cfg(verus_only)] */\n"),
]


@pytest.mark.parametrize(("old", "new"), GHOST)
def test_what_is_verified_is_what_is_compiled(tree: Path, old: str, new: str) -> None:
    name = f"{CORE}/ledger.rs"
    plant(tree, name, old, new)
    assert any(fault.startswith(name) for fault in sources.scan(tree))


FUNCTIONS = [
    (
        "ledger.rs",
        "impl Ledger {\n",
        "impl Ledger {\n    pub fn more(&self) {}\n\n",
        "`Ledger::more` has no specification",
    ),
    ("view.rs", "    }\n}\n\n#[", "    }\n}\n\nfn helper() {}\n\n#[", "`helper` has no specification"),
    ("commit.rs", "    ensures\n", "    returns\n", "`empty` has no specification"),
    ("lib.rs", "pub mod view;", "pub mod view;\npub mod other;", "must have proof/other_spec.rs"),
    ("lib.rs", "pub mod ids;\n", "", "the core has no module ids"),
    ("lib.rs", "pub mod view;", '#[path = "other.rs"]\npub mod view;', "a module from elsewhere"),
    ("lib.rs", "pub mod view;", "#[cfg(not(verus_only))]\npub mod view;", "only sometimes"),
    ("ids.rs", "pub fn parse", "#[cfg(verus_only)]\npub fn parse", "speaks of the verifier"),
]


@pytest.mark.parametrize(("file", "old", "new", "fault"), FUNCTIONS)
def test_every_function_is_accounted_for(tree: Path, file: str, old: str, new: str, fault: str) -> None:
    (tree / CORE / "other.rs").write_text("")
    plant(tree, f"{CORE}/{file}", old, new)
    assert fault in "\n".join(sources.scan(tree))


def test_every_specification_is_read_aloud(tree: Path) -> None:
    plant(tree, "crates/remit-core/tests/specification.rs", "fn standing_spec(", "fn other_spec(")
    assert "proof/claim_spec.rs: `standing_spec` is not read aloud in tests/specification.rs" in sources.scan(tree)


def test_every_specified_function_is_tried(tree: Path) -> None:
    file = tree / "crates/remit-core/tests/specification.rs"
    file.write_text(file.read_text().replace("step_of(", "other("))
    assert any("`Plane::step_of` is not tried" in fault for fault in sources.scan(tree))


ROOTS = [
    (
        "proof/root_ledger.rs",
        "../crates/remit-core/src/ledger.rs",
        "ledger.rs",
        "does not include the shipped ledger.rs",
    ),
    ("proof/root_ledger.rs", "pub mod ledger_spec;", "pub mod ledger_spec;\nfn more() {}", "more than modules"),
    (
        "proof/root_view.rs",
        '#[path = "view_witness.rs"]\npub mod view_witness;\n',
        "",
        "no root includes view_witness.rs",
    ),
    ("proof/trusted_contract.rs", '#[path = "witness.rs"]\npub mod witness;\n', "", "leaves out witness.rs"),
    ("crates/remit-core/Cargo.toml", "[lints]", '[lib]\npath = "src/other.rs"\n\n[lints]', "another library"),
    ("proof/view_spec.rs", "use vstd::prelude::*;", "use vstd::prelude::{assume as sure};", "not allowed"),
]


@pytest.mark.parametrize(("name", "old", "new", "fault"), ROOTS)
def test_roots_take_in_what_is_shipped(tree: Path, name: str, old: str, new: str, fault: str) -> None:
    if new == "ledger.rs":
        shutil.copy(tree / CORE / "ledger.rs", tree / "proof/ledger.rs")
    plant(tree, name, old, new)
    assert fault in "\n".join(sources.scan(tree))


def test_a_copy_of_a_shipped_file_is_refused(tree: Path) -> None:
    shutil.copy(tree / CORE / "view.rs", tree / "proof/view.rs")
    assert "proof/view.rs: a copy of a shipped file" in sources.scan(tree)


NEGATIVES = [
    ("// REJECTED. Theorem", "// Theorem", "not `// REJECTED"),
    ("Expected: postcondition", "Expected: something", "not `// REJECTED"),
    (" // FAILS", "", "not exactly one line"),
    ("extern crate alloc;", "extern crate alloc; // FAILS", "not exactly one line"),
    (" // CHANGED from: Intent::Inspect => Show::Keep,", "", "no line says what it was changed from"),
    ("from: Intent::Inspect => Show::Keep", "from: Intent::Inspect => Show::Hide", "is not the one in proof/"),
    ("Intent::NewInput => Show::Hide", "Intent::NewInput => Show::Keep", "is not the one in proof/"),
]


@pytest.mark.parametrize(("old", "new", "fault"), NEGATIVES)
def test_a_wrong_rule_differs_in_what_it_says(tree: Path, old: str, new: str, fault: str) -> None:
    plant(tree, "negative/view_inspection_hides.rs", old, new)
    assert any(fault in found for found in sources.scan(tree) if found.startswith("negative/view_inspection_hides.rs"))


def test_a_rule_that_moved_on_without_its_wrong_neighbour_is_found(tree: Path) -> None:
    plant(tree, f"{CORE}/view.rs", "let stale = waits.is_some() &&", "let stale = waits.is_some() && true &&")
    assert "negative/view_serve_first_recorded.rs: `show_task` of the twin is not the one in proof/" in sources.scan(
        tree
    )
