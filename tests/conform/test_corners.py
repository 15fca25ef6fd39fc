"""`remit conform`: faults that show in one corner only are caught, and a saver of another hand is not accused of any."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import corners
import pytest
from remit.conform.cases import CASES
from remit.conform.runner import run
from remit.conform.trial import PROMISES
from test_conform import CLI_IS_INSTALLED, HERE, RACES, STOCK, _path, database  # noqa: F401  (fixtures)

CORNERS: dict[str, dict[str, set[str]]] = {
    "PC": {
        "CutsLongStrings": {"pc-values"},
        "ListsMoreThanAsked": {"pc-history-part"},
        "MixesCase": {"pc-neighbours"},
        "DeletesByPrefix": {"pc-neighbours"},
        "GoesBackElsewhere": {"pc-breakpoint"},
    },
    "EO": {
        "LosesATaskWhenAsync": {"eo-sibling-raised", "eo-sibling-async", "eo-many"},
        "KeysWritesWithoutTheirTask": {"eo-sibling-raised"},
        "KeepsTenWrites": {"eo-many"},
        "ForgetsTheDead": {"eo-sibling-killed"},
        "LosesWhatIsFalse": {"rd-writes"},
    },
    "FD": {
        "IgnoresIdsInNamespaces": {"fd-nested-address"},
        "GivesTwoForksOneId": {"fd-apart", "fd-edit"},
        "TakesTheDeepestForTheHead": {"fd-edit"},
        "HangsForksOnTheHead": {"fd-edit"},
        "serves_the_first_answer_by_name": {"fd-map"},
        "serves_the_first_answer_when_async": {"fd-bare"},
    },
    "CV": {
        "ValidatesCheckpointsOnly": {"cv-end", "cv-middle"},
        "ValidatesTheFirstTime": {"cv-end", "cv-middle"},
        "StoresTheValidPart": {"cv-end", "cv-middle"},
        "ValidatesWhenSync": {"cv-end", "cv-middle"},
        "DropsWhatIsInvalid": {"cv-end", "cv-update"},
        "ValidatesChanges": {"cv-end", "cv-middle"},
    },
    "CO-e": {
        "ServesTheLastAnswerAgain": {"co-next-gate"},
        "OpensAnsweredQuestionsAgain": {"co-part-again"},
        "OpensTheFinishedAgain": {"co-again"},
        "OpensTheFinishedElsewhere": {"co-elsewhere"},
    },
    "CO-c": {
        "ClaimsTheAnswerWithItsValue": {"co-race-differ"},
        "ClaimsBareAnswers": {"co-race-named"},
        "ClaimsForAProcess": {"co-threads"},
        "ClaimsWithTheResult": {"co-race"},
    },
    "RD": {
        "LooksConsume": {"rd-twice"},
        "KeepsAnswersOnce": {"rd-answers"},
        "HidesTheSiblingsOfAFailure": {"rd-writes", "eo-sibling-raised"},
    },
    "LIVE": {
        "TakesLooksForRuns": {"live-look"},
        "RunsOnce": {"live-next-run"},
        "RefusesWhatWasEdited": {"live-update"},
        "ListsNoQuestions": {"live-look"},
        "ClaimsForAProcess": {"live-window", "eo-killed-before"},
    },
}
"""By the promise that is broken: a fault, and cases that must be violated because of it."""

FOR_EVER = "corners:LocksUntilTheNextCheckpoint"
FAULTS = [(name, cases) for of_promise in CORNERS.values() for name, cases in of_promise.items()]


def test_every_promise_has_its_corners() -> None:
    assert set(CORNERS) == set(PROMISES)
    assert all(len(of_promise) >= 3 for of_promise in CORNERS.values())


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(("fault", "cases"), FAULTS, ids=[name for name, _ in FAULTS])
def test_a_fault_in_a_corner_is_caught(fault: str, cases: set[str]) -> None:
    assert set(run(f"corners:{fault}", only=cases).violated()) == cases


@pytest.mark.parametrize("fault", ["LosesATaskWhenAsync", "ValidatesWhenSync", "serves_the_first_answer_when_async"])
def test_a_fault_of_async_calls_is_told_of_these(fault: str) -> None:
    cases = dict(FAULTS)[fault]
    (finding, *_) = run(f"corners:{fault}", only=cases).findings
    assert finding.broken and all(sentence.startswith("async: ") for sentence in finding.broken)
    assert run(f"corners:{fault}", only=cases, mode="sync").violated() == []


def test_a_saver_that_waits_for_ever_is_caught_and_hides_nothing_else() -> None:
    report = run(FOR_EVER, only={"pc-gate", "live-retry"}, mode="sync", limit_s=4)
    assert report.violated() == ["live-retry"] and report.hung == 1
    assert "the case ends within 4 s" in next(f for f in report.findings if f.case.id == "live-retry").broken


@pytest.mark.parametrize(
    "command",
    [
        ["remit.cli", "conform", "--factory", FOR_EVER, "--only", "live-retry", "--mode", "sync", "--limit", "4"],
        ["pytest", "-p", "no:cacheprovider", "--remit-factory", FOR_EVER, "-k", "live-retry", "--remit-limit", "4"],
    ],
    ids=["cli", "pytest"],
)
def test_a_run_that_met_such_a_saver_ends(command: list[str], tmp_path: Path) -> None:
    if command[0] == "remit.cli" and not CLI_IS_INSTALLED:
        pytest.skip("the extra `cli` is not installed")
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "the case ends within 4 s" in done.stdout


def test_a_saver_that_validates_keeps_validity() -> None:
    assert run("corners:Validates", only={"CV"}).violated() == []


def test_a_saver_of_another_hand_has_langgraphs_faults_and_no_others() -> None:
    report = run("corners:DictSaver")
    assert set(report.violated()) == STOCK
    assert report.reach.modes == ("sync", "async")


def test_a_saver_of_another_hand_keeps_all_of_it_under_remit() -> None:
    """But what the gate is for: RemitSaver knows no place for its claims there."""
    assert run("corners:remit_over_dict").violated() == ["co-threads"]


def test_the_corners_are_no_known_faults() -> None:
    """A case that LangGraph itself breaks shows nothing, unless the fault is made from a saver that keeps it."""
    made_from_right = {
        name for name in vars(corners) if name.startswith("serves") or "Validat" in name or "Valid" in name
    }
    for name, cases in FAULTS:
        known = cases & (STOCK | RACES)
        assert not known or name in made_from_right or name.startswith(("Claims", "Drops")), name
    assert {case for _, cases in FAULTS for case in cases} <= set(CASES)
