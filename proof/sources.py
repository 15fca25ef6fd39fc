"""What stands in the proof sources, read as text: roots, functions, digests, and what the scan refuses.

Needs no verifier. A fault is one line: where, and what is wrong.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CORE = "crates/remit-core/src"

# Public functions of the core that no specification speaks of, each with its reason.
UNSPECIFIED = {
    "ids": "a grammar of strings, and the specified core works on integers; tried on every short string",
    "refusal": "a table of texts and its look-up; it decides nothing",
    "sequencer": "newer than the drafts; every history of a few operations is tried, and nothing waits for ever in any",
}

# What trusts nothing. Everything else that begins with `#` is refused.
ATTRIBUTES = re.compile(
    r"#!?\[(?:"
    r"!?trigger.*|allow\(non_snake_case\)|cfg\(verus_only\)|cfg_attr\(verus_only, verus_(?:verify\)\]|spec\(.*)|"
    r"cfg_attr\(verus_only, feature\(proc_macro_hygiene\)\)|derive\([\w, ]+\)|feature\(proc_macro_hygiene\)|"
    r"forbid\(unsafe_code\)|path = \"[\w./-]+\"|verifier::inline"
    r")",
    re.S,
)
HOLES = re.compile(
    r"\bassume\w*"
    r"|(?<![.\w])admit\s*\(\s*\)"
    r"|external\w*"
    r"|\baxiom\b"
    r"|\buninterp\b"
    r"|\bproof_from_false\b"
    r"|\bunimplemented\b|\btodo\b|\bunreachable\b"
    r"|\bunsafe\b(?!_code)"
    r"|\bno_verify\b"
    r"|\bmacro_rules\b"
    r"|\binclude\b"
    r"|\bdecreases_by\b|\bno_decreases\w*|\bmay_not_terminate\b"
)
WIRING = re.compile(
    r"^\s*(?:(?:pub )?mod \w+;|use (?!alloc|core|std)[^;]+;|#\[path = .*\]|#!\[.*\]|extern crate \w+;)\s*$", re.M
)
USE = re.compile(r"use (?:(?:super|crate)::\w+|vstd::prelude|\w+|\w+::\w+)::(?:\*|\w+|\{[\w, ]+\});")


@dataclass(frozen=True)
class Function:
    """A function of the core: `name` with its type, `line` from 1; `specification` is empty where it has none."""

    module: str
    name: str
    line: int
    public: bool
    specification: str

    @property
    def place(self) -> str:
        return f"{CORE}/{self.module}.rs:{self.line}"


def without_comments(text: str) -> str:
    """The text with its comments blanked. Line numbers stay; strings of these sources have no `//`."""
    return re.sub(r"//[^\n]*", "", text)


def digest(path: Path) -> str:
    """Of the tokens, without comments, trailing commas and the lines that wire modules together."""
    tokens = " ".join(re.findall(r"\w+|[^\w\s]", WIRING.sub("", without_comments(path.read_text()))))
    return hashlib.sha256(re.sub(r", (?=[])}])", "", tokens).encode()).hexdigest()


def roots(repo: Path) -> list[Path]:
    """What the verifier is run on, each by itself."""
    return [*sorted((repo / "proof").glob("root_*.rs")), repo / "proof/trusted_contract.rs"]


def negatives(repo: Path) -> list[Path]:
    return sorted((repo / "negative").glob("*.rs"))


def included(file: Path) -> list[Path]:
    """The files that a crate root takes in by `#[path]`, and itself."""
    paths = re.findall(r'^#\[path = "(.*)"\]\s+(?:pub )?mod \w+;', file.read_text(), re.M)
    return [*((file.parent / path).resolve() for path in paths), file.resolve()]


# What the verifier asks its solver about once each: a proof or a function, a loop, a recursive definition, and the
# `clone` that is derived for a type. The rule fits every count that was printed (`tests/proof/test_audit.py`).
ITEMS = re.compile(
    r"(?<!spec )\bfn \w+|^ *(?:while|for|loop)\b|\bspec fn [^{]*\bdecreases\b|\bderive\([^)]*\bClone\b[^)]*\)", re.M
)


def count_items(file: Path) -> int:
    """How many items a crate root and what it takes in have: what `N verified` must say of it."""
    texts = [without_comments(path.read_text()).split("#[cfg(test)]")[0] for path in included(file)]
    return sum(len(ITEMS.findall(text)) for text in texts)


def modules(repo: Path) -> list[str]:
    """The modules that the core compiles, from its `lib.rs`."""
    return re.findall(r"^pub mod (\w+);", (repo / CORE / "lib.rs").read_text(), re.M)


def specified(repo: Path) -> list[str]:
    """Those of them that have a specification file."""
    return [module for module in modules(repo) if (repo / f"proof/{module}_spec.rs").exists()]


def functions(repo: Path, module: str) -> Iterator[Function]:
    """All functions of a module, its tests left out."""
    text = without_comments((repo / CORE / f"{module}.rs").read_text()).split("#[cfg(test)]")[0]
    owner = ""
    for found in re.finditer(r"^impl (?:\w+ for )?(\w+)|^\}|^( *)(pub )?(?:const )?fn (\w+)", text, re.M):
        if found[1] or not found[4]:
            owner = f"{found[1]}::" if found[1] else ""
            continue
        before = text[: found.start()].rstrip()
        attribute = before[before.rfind("#[") :] if before.endswith("]") else ""
        # an invariant's attribute has `#[trigger]` in it: go back to the one at the start of a line
        starts = [m.start() for m in re.finditer(r"^ *#\[", before, re.M)]
        if attribute and starts:
            attribute = before[starts[-1] :].strip()
        line = text.count("\n", 0, found.start()) + 1
        has = attribute.startswith("#[cfg_attr(verus_only, verus_spec(") and attribute.endswith("))]")
        yield Function(module, f"{owner}{found[4]}", line, bool(found[3]), attribute if has else "")


def items(text: str) -> dict[str, str]:
    """Top-level items by name: those in `verus!` blocks, and functions beside them. White space is evened out."""
    code = re.sub(r"^(?:verus! \{|\} // verus!)$", "", text, flags=re.M)
    code = without_comments(re.sub(r"^\s*///.*\n", "", code, flags=re.M))
    found: dict[str, str] = {}
    head = r"^(?:pub )?(?:open spec |proof )?(?:fn|struct|enum) (\w+)"
    for item in re.finditer(head + r"(?:.*\{.*\}$|[\s\S]*?^\}$)", code, re.M):
        found[item[1]] = re.sub(r"\s+", " ", item[0])
    return found


# ---- negatives ----

HEADER = re.compile(r"// REJECTED\. Theorem: .+\. Changed: .+\. Expected: postcondition: .+\.")
CHANGED = re.compile(r"^( *).*// CHANGED from: ?(.*)$", re.M)
FAILS = "// FAILS"
ONLY_WRONG = "// The wrong rule breaks the promise"

# Negatives whose changed rule is written for them; their twin is their own, not a part of proof/.
OWN_TWINS = {
    *("branch_ordinal_reuse", "branch_ordinals_from_one", "branch_token_forks_again"),
    *("commit_validity_after_append", "recovery_order_sensitive"),
} | {
    f"contract_{switch}"
    for switch in ("replay", "fork_ignore", "invalid_persist", "nondet_recovery", "double_consume", "prefix_replay")
}


def twin(text: str) -> str:
    """The unchanged twin of a negative: each changed line put back, the run of the wrong rule left out."""
    return CHANGED.sub(r"\1\2", text.split(ONLY_WRONG)[0].replace(f" {FAILS}", ""))


def negative_faults(repo: Path) -> Iterator[str]:
    proved: dict[str, dict[str, str]] = {}
    for file in [*(repo / "proof").glob("*.rs"), *(repo / CORE / f"{m}.rs" for m in specified(repo))]:
        proved[file.stem] = items(without_proofs(file.read_text()))
    for file in negatives(repo):
        name = f"negative/{file.name}"
        text = file.read_text()
        lines = text.splitlines()
        if not HEADER.fullmatch(lines[0]):
            yield f"{name}:1: not `// REJECTED. Theorem: .. Changed: .. Expected: postcondition: ..`"
        if sum(line.endswith(FAILS) for line in lines) != 1 or text.count(FAILS) != 1:
            yield f"{name}: not exactly one line that ends with {FAILS}"
        if not CHANGED.search(text):
            yield f"{name}: no line says what it was changed from"
        taken_in = [path.stem for path in included(file)[:-1]]
        same = 0
        for item, restored in items(without_proofs(twin(text))).items():
            originals = [proved[module][item] for module in taken_in if item in proved.get(module, {})]
            same += restored in originals
            if originals and restored not in originals:
                yield f"{name}: `{item}` of the twin is not the one in proof/"
        if not same and file.stem not in OWN_TWINS:
            yield f"{name}: the twin has nothing of proof/"


def without_proofs(text: str) -> str:
    """Shipped text without its ghost blocks and attributes, so that a copy of a function can be compared."""
    text = re.sub(r"^ *#\[cfg\(verus_only\)\]\n *proof! \{[\s\S]*?^ *\}\n", "", text, flags=re.M)
    return re.sub(r"^ *#\[cfg_attr\(verus_only, [\s\S]*?\)\]\n", "", text, flags=re.M)


# ---- the scan ----


def attribute_faults(name: str, code: str) -> Iterator[str]:
    """Every attribute must be a known one: one that is not might switch the verifier off."""
    for found in re.finditer(r"#!?\[", code):
        if not ATTRIBUTES.match(code, found.start()):
            line = code.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: attribute not allowed: {code[found.start() :].splitlines()[0].strip()}"


def hole_faults(name: str, code: str) -> Iterator[str]:
    for found in HOLES.finditer(code):
        yield f"{name}:{code.count(chr(10), 0, found.start()) + 1}: not allowed: {found[0]}"


def without_blocks(code: str) -> str:
    """The code without its `verus! { .. }` blocks."""
    rest, *blocks = re.split(r"^verus! \{$", code, flags=re.M)
    for block in blocks:
        depth = 1
        for found in re.finditer(r"[{}]", block):
            depth += 1 if found[0] == "{" else -1
            if not depth:
                rest += block[found.end() :]
                break
    return rest


def outside_faults(name: str, code: str) -> Iterator[str]:
    """What stands outside of `verus!` and has no specification is not verified, and nobody is told."""
    outside = without_blocks(code)
    if name.startswith("proof/") and WIRING.sub("", outside).strip():
        yield f"{name}: code outside of verus!: {WIRING.sub('', outside).split()[0]} .."
    for found in re.finditer(r"\bfn (\w+)", outside):
        before = outside[: found.start()].removesuffix("pub ").rstrip()
        if not before.endswith("))]") or "verus_spec" not in before[before.rfind("\n#[") :]:
            yield f"{name}: `{found[1]}` is outside of verus! and has no specification"


def ghost_faults(name: str, code: str) -> Iterator[str]:
    """`verus_only` stands before attributes, two `use` lines and `proof!` only: what is verified is what is compiled."""
    module = Path(name).stem
    allowed = (
        r"#\[cfg_attr\(verus_only, verus_verify\)\]",
        r"#\[cfg_attr\(verus_only, verus_spec\(",
        rf"#\[cfg\(verus_only\)\]\n *(?:use super::{module}_spec::\*;|use vstd::prelude::\*;|proof! \{{)",
    )
    for found in re.finditer(r"\bverus\w*", re.sub("|".join(allowed), "", code)):
        yield f"{name}: `{found[0]}` other than on an attribute, a `use` line or a proof! block"
    for found in re.finditer(r"\b(?:cfg|cfg_attr)\s*!?\s*\(\s*(\w+)", code):
        if found[1] not in ("verus_only", "test"):
            yield f"{name}: conditional code: {found[0]}"
    if re.search(r"\brequires\b", code):
        yield f"{name}: a precondition: functions of the core are total"


def root_faults(repo: Path) -> Iterator[str]:
    """What is verified is what the core compiles: the same path, and no copy beside it."""
    proof = repo / "proof"
    sources = {p.resolve() for p in proof.glob("*.rs")} - {p.resolve() for p in roots(repo)}
    shipped = {(repo / CORE / f"{module}.rs").resolve() for module in specified(repo)}
    library = without_comments((repo / CORE / "lib.rs").read_text())
    manifest = (repo / CORE).with_name("Cargo.toml").read_text()
    if re.search(r"\b(?:cfg|cfg_attr|path|include)\b", library):
        yield f"{CORE}/lib.rs: a module from elsewhere, or only sometimes"
    if re.search(r"^\[lib|^build|^\[features|^\[.*dependencies", manifest, re.M):
        yield "crates/remit-core/Cargo.toml: another library, a build script, a feature or a dependency"
    for module in modules(repo):
        if (proof / f"{module}.rs").exists():
            yield f"proof/{module}.rs: a copy of a shipped file"
        code = without_comments((repo / CORE / f"{module}.rs").read_text())
        if module not in specified(repo) and re.search(r"\bverus", code):
            yield f"{CORE}/{module}.rs: speaks of the verifier and has no specification"
        root = proof / f"root_{module}.rs"
        if module in specified(repo) and (
            not root.exists() or (repo / CORE / f"{module}.rs").resolve() not in included(root)
        ):
            yield f"proof/root_{module}.rs: does not include the shipped {module}.rs"
    taken_in: set[Path] = set()
    for root in roots(repo):
        mine = set(included(root)[:-1])
        if root.stem == "trusted_contract":
            for path in (sources | shipped) - mine:
                yield f"proof/trusted_contract.rs: leaves out {path.name}"
            continue
        taken_in |= mine
        code = WIRING.sub("", without_comments(root.read_text()))
        if code.strip():
            yield f"proof/{root.name}: more than modules"
    for path in (sources | shipped) - taken_in:
        yield f"proof/: no root includes {path.name}"
    for path in taken_in - (sources | shipped):
        yield f"proof/: a root includes {path.name}, which is neither a proof nor a specified module of the core"


def function_faults(repo: Path) -> Iterator[str]:
    """Every function is specified, or its module is listed as unspecified; and every specification can be run."""
    reading = repo / "crates/remit-core/tests/specification.rs"
    parts = dict(re.findall(r"^mod (\w+) \{\n([\s\S]*?)^\}", reading.read_text(), re.M))
    for module in modules(repo):
        if (module in specified(repo)) == (module in UNSPECIFIED):
            yield f"{CORE}/{module}.rs: must have proof/{module}_spec.rs, or a reason in UNSPECIFIED, and not both"
    for module in UNSPECIFIED.keys() - set(modules(repo)):
        yield f"UNSPECIFIED: the core has no module {module}"
    for module in specified(repo):
        definitions = set(re.findall(r"spec fn (\w+)", (repo / f"proof/{module}_spec.rs").read_text()))
        for function in functions(repo, module):
            if not re.search(r"\bensures\b", function.specification):
                yield f"{function.place}: `{function.name}` has no specification"
            if not function.public:
                continue
            if not re.search(rf"\b{function.name.split('::')[-1]}\(", parts.get(module, "")):
                yield f"{function.place}: `{function.name}` is not tried in tests/specification.rs"
            for word in definitions & set(re.findall(r"\b(\w+)\(", function.specification)):
                if f"fn {word}(" not in parts.get(module, ""):
                    yield f"proof/{module}_spec.rs: `{word}` is not read aloud in tests/specification.rs"


def scan(repo: Path) -> list[str]:
    """All faults of the sources; none is what a claim needs."""
    faults = [*root_faults(repo), *function_faults(repo), *negative_faults(repo)]
    files = [*(repo / "proof").glob("*.rs"), *negatives(repo), *(repo / CORE / f"{m}.rs" for m in specified(repo))]
    for file in files:
        name = file.relative_to(repo).as_posix()
        code = without_comments(file.read_text())
        faults += [*attribute_faults(name, code), *hole_faults(name, code)]
        if "/*" in code or re.search(r'\br#*"', code):
            faults.append(f"{name}: a block comment or a raw string, which this scan does not read")
        if name.startswith(CORE):
            faults += ghost_faults(name, code)
        else:
            faults += outside_faults(name, code)
            for use in re.findall(r"^ *(?:pub )?use [^;]+;", code, re.M):
                if not USE.fullmatch(use.strip()):
                    faults.append(f"{name}: not allowed: {use.strip()}")
    return sorted(set(faults))
