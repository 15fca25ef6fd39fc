"""The harness itself: a plane that keeps the contract passes, one that breaks a promise is caught, an error is no finding.

The planes are ours (`harness/adapters/toy.py`), so that this needs no framework.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "harness"))

import matrix  # noqa: E402
import run  # noqa: E402
from contract import CASES  # noqa: E402
from contract.play import PROMISES, Case, Play  # noqa: E402
from contract.verdict import MEANING, Document, decide, documents, find  # noqa: E402
from environments import Environment, environments  # noqa: E402
from stage import Stage  # noqa: E402


@pytest.fixture(scope="module")
def toys() -> Iterator[Stage]:
    with Stage(sys.executable, "toy") as stage:
        yield stage


def seen(stage: Stage, surface: str, case: Case) -> dict[str, Any]:
    stage.surface = surface
    stable, _ = run.play(stage, case)
    return stable


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.id)
def test_a_plane_that_keeps_the_contract_passes(toys: Stage, case: Case) -> None:
    assert decide(seen(toys, "right", case), None) == "holds"


@pytest.mark.parametrize("promise", PROMISES)
def test_a_plane_that_breaks_a_promise_is_caught_in_it(toys: Stage, promise: str) -> None:
    verdicts = {c.id: decide(seen(toys, f"wrong-{promise}", c), None) for c in CASES.values() if c.promise == promise}
    assert "undocumented" in verdicts.values() or (promise == "LIVE" and "refused" in verdicts.values())


def test_every_promise_has_cases() -> None:
    assert {case.promise for case in CASES.values()} == set(PROMISES)


def test_a_planted_duplicate_is_seen(toys: Stage) -> None:
    assert "after=YES after=YES" in " ".join(seen(toys, "wrong-EO", CASES["eo-gate"])["effects"])


def test_a_kill_before_the_effect_is_not_counted_and_one_after_it_is(toys: Stage) -> None:
    toys.surface = "right"
    for point, effects in (("answered", ["before"]), ("fired", ["before", "after=YES"])):
        play = Play(toys, toys.new_store())
        play.process("start_gated")
        assert play.process("answer YES", at=point, do="kill").ended == "killed"
        assert play.effects == effects


def test_a_stable_result_is_the_same_twice(toys: Stage) -> None:
    for id in ("eo-window", "co-race", "fd-two", "cv-type"):
        assert seen(toys, "right", CASES[id]) == seen(toys, "right", CASES[id])


def test_an_operation_that_is_not_there_is_an_error_and_no_finding(toys: Stage) -> None:
    case = Case("x", "PC", "an operation that no adapter has", lambda play: play.check("x", bool(play.process("fly"))))
    assert decide(seen(toys, "right", case), None) == "error"


def test_a_run_that_never_began_is_an_error_and_no_finding(toys: Stage) -> None:
    def body(play: Play) -> None:
        play.store.rmdir()
        play.process("start_gated")
        play.check("nothing happened twice", True)

    assert decide(seen(toys, "right", Case("x", "PC", "a run that cannot begin", body)), None) == "error"


def test_a_case_that_checks_nothing_is_an_error() -> None:
    assert decide({"ops": [], "effects": [], "checked": 0, "not so": []}, None) == "error"


@pytest.mark.parametrize(
    ("broken", "last", "says", "verdict"),
    [
        ([], "answer -> finished", None, "holds"),
        ([], "answer -> raised X", "promises", "holds"),
        (["safety"], "answer -> finished", "promises", "violated"),
        (["safety"], "answer -> finished", "warns", "documented"),
        (["safety"], "answer -> finished", None, "undocumented"),
        (["live"], "answer -> raised X", "promises", "refused"),
        (["live"], "answer -> finished", None, "undocumented"),
        (["live", "safety"], "answer -> raised X", None, "undocumented"),
    ],
)
def test_a_verdict_is_what_was_seen_and_what_is_documented(
    broken: list[str], last: str, says: Any, verdict: str
) -> None:
    told = {"ops": [last], "effects": [], "checked": 2, "not so": [[kind, "x"] for kind in broken]}
    assert decide(told, Document("*", "*", says, "https://example.org") if says else None) == verdict


# What is committed


def test_the_matrix_is_what_the_stable_results_say() -> None:
    results = ROOT / "harness" / "results"
    for name, text in matrix.matrix(results).items():
        assert (results / name).read_text(encoding="utf-8") == text, f"python harness/matrix.py ({name})"


def test_each_plane_has_each_case_or_its_exclusion() -> None:
    stored = {
        file.stem: json.loads(file.read_text()) for file in (ROOT / "harness" / "results" / "stable").glob("*.json")
    }
    for plane in run.planes():
        of_plane = [env for env in environments(plane.framework) if env.framework == plane.framework]
        for env in of_plane:
            if plane.versions and env.version not in plane.versions:
                continue
            cells = stored[env.name]["planes"][plane.name]
            assert set(cells) == set(CASES)
            for id, cell in cells.items():
                assert matrix.judge(plane.name, id, cell)[0] != "error"
                assert cell.get("excluded") == run.excluded(plane.name, env.version, id)


FORKS = {"fd-bare", "fd-map", "fd-second-gate", "fd-nested"}
INVALID = {"cv-end", "cv-middle", "cv-update"}
FAILED = {"live-failed-answer", "live-failed-named", "live-second-answer"}
RACES = {"co-race", "co-race-many", "co-race-named", "co-race-differ", "co-race-nested"}
STOCK = {*FORKS, *INVALID, *FAILED, "co-unknown", "co-threads"}
"""What scripts without this harness saw of a stock saver: a fork is served the first answer, an invalid state is stored, a
refused answer is served again, an answer starts a thread, and each of several racers fires. Nothing else."""


def test_the_matrix_has_the_known_faults_of_each_stock_saver_and_none_of_remit() -> None:
    rows = json.loads((ROOT / "harness" / "results" / "matrix.json").read_text(encoding="utf-8"))["conform"]
    of_langgraph = {env.version for env in environments("langgraph")}
    for factory, by_version in rows.items():
        kind, _, store = factory.partition("_")
        assert set(by_version) == (of_langgraph if factory in run.factories("1.0.5") else set(run.SUPPORTED))
        known = set() if kind == "remit" else STOCK if store == "memory" else STOCK | RACES
        for version, verdicts in by_version.items():
            assert {id for id, verdict in verdicts.items() if verdict == "violated"} == known, (factory, version)
            assert ("not run" in verdicts.values()) == (store == "memory")


@pytest.mark.parametrize("entry", run.read("exclusions.yaml"), ids=lambda e: f"{e['plane']} {e['case']}"[:60])
def test_each_exclusion_is_of_a_plane_and_of_cases_that_exist(entry: dict[str, Any]) -> None:
    from fnmatch import fnmatchcase

    assert entry["why"].strip()
    assert any(fnmatchcase(plane.name, entry["plane"]) for plane in run.planes())
    for pattern in [entry["case"]] if isinstance(entry["case"], str) else entry["case"]:
        assert any(fnmatchcase(id, pattern) for id in CASES), pattern


def test_each_document_is_cited_by_its_address() -> None:
    for document in documents(run.read("documents.yaml")):
        assert document.at.startswith("https://")
        assert document.says in ("promises", "warns")
        assert find([document], document.plane, document.case) is document


def test_one_run_at_a_time_uses_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    env, other = environments("langgraph")[:2]
    with env.alone(), other.alone(), Path(f"{env.home}.lock").open("w") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with env.alone():
        pass


@pytest.mark.parametrize("env", environments(), ids=lambda env: env.name)
def test_a_lock_file_pins_every_package(env: Environment) -> None:
    lines = env.lock.read_text(encoding="utf-8").splitlines()
    assert lines and all(line.count("==") == 1 and not line.startswith("-") for line in lines)
    assert any(line.lower() == f"{line.split('==')[0].lower()}=={env.version}" for line in lines)


def test_every_published_probe_has_an_entry_that_leads_somewhere() -> None:
    from remit.conform.cases import CASES as CONFORM

    entries = yaml.safe_load((ROOT / "harness" / "probes.yaml").read_text(encoding="utf-8"))
    assert [str(entry["probe"]) for entry in entries] == PROBES
    for entry in entries:
        assert entry["status"] in ("reproduced", "differs", "not here")
        assert entry["status"] == "reproduced" or entry["why"]
        for where in entry.get("where", []):
            kind, _, name = where.partition(":")
            found = {"contract": name in CASES, "conform": name in CONFORM, "file": (ROOT / name).exists()}[kind]
            assert found, where
        assert entry.get("where") or entry["status"] != "reproduced"


PROBES = [
    "115b",
    "118",
    "123",
    "124",
    "125",
    "126",
    "127",
    "128",
    "129",
    "130",
    "131",
    "133",
    "134",
    "136",
    "137",
    "138",
    "139",
    "141",
    "143",
    "147",
    "148",
    "150",
    "152",
    "155",
    "157",
    "158",
    "159",
    "160",
    "163",
    "164",
    "165",
    "168",
    "171",
    "174",
    "versions",
]


def test_every_verdict_has_a_meaning_and_a_colour() -> None:
    assert set(MEANING) == set(matrix.COLOUR) == set(matrix.ORDER)


def test_a_result_that_differs_is_said_by_its_place() -> None:
    was = {"planes": {"p": {"c": {"effects": ["a"]}}}}
    assert run.differences("env", was, was) == []
    assert run.differences("env", was, {"planes": {"p": {"c": {"effects": ["a", "a"]}}}}) == [
        'env / planes / p / c / effects: was ["a"], is ["a", "a"]'
    ]
    assert run.differences("env", was, {"planes": {}}) == ['env / planes / p: was {"c": {"effects": ["a"]}}, is null']


def test_a_live_arm_without_a_key_is_skipped_and_says_so() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "harness" / "live" / "fork.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.startswith("skipped: OPENAI_API_KEY is not set")


def test_the_command_says_what_it_played() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "harness" / "run.py"), "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "--check" in done.stdout
