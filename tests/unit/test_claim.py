"""The binding of the claim: rows and texts in, rows and verdicts out. What is decided is the core's, and tested there."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from remit._core import ClaimInput, ClaimVerdict, Fate, decide, word

MINUTE = 60_000_000
NEVER = 2**63 - 1
"""The latest end of a lease: what an SQL integer holds."""

Row = tuple[str, "str | None", int, int]


def live(*acts: tuple[ClaimInput, int]) -> tuple[Row | None, list[ClaimVerdict]]:
    """What becomes of a claim that nobody has had."""
    row: Row | None = None
    verdicts = []
    for act, now in acts:
        row, verdict = decide(row, act, now)
        verdicts.append(verdict)
    return row, verdicts


def test_a_claim_is_granted_kept_and_consumed() -> None:
    row, verdicts = live(
        (ClaimInput.acquire("a", MINUTE), 5),
        (ClaimInput.renew("a", 1, MINUTE), 7),
        (ClaimInput.consume("a", 1), NEVER),  # late, but nobody took it over
        (ClaimInput.consume("a", 1), 9),
        (ClaimInput.acquire("b", MINUTE), NEVER),
    )
    assert row == ("consumed", "a", 1, 0)
    assert verdicts == [
        ClaimVerdict.GRANTED,
        ClaimVerdict.RENEWED,
        ClaimVerdict.ACCEPTED,
        ClaimVerdict.ALREADY_CONSUMED,
        ClaimVerdict.ALREADY_CONSUMED,
    ]


def test_the_row_has_the_fields_of_the_verdict() -> None:
    row, verdict = decide(None, ClaimInput.acquire("a", MINUTE), 5)
    assert (row, verdict) == (("held", "a", 1, MINUTE + 5), ClaimVerdict.GRANTED)
    renewed = decide(row, ClaimInput.renew("a", 1, MINUTE), 7)
    assert renewed == (("held", "a", 1, MINUTE + 7), ClaimVerdict.RENEWED)
    assert decide(row, ClaimInput.renew("a", 1, 1), 7) == (row, ClaimVerdict.RENEWED)
    assert decide(row, ClaimInput.acquire("b", 1), MINUTE + 4) == (row, ClaimVerdict.REFUSED)
    taken_over = decide(row, ClaimInput.acquire("b", 1), MINUTE + 5)
    assert taken_over == (("held", "b", 2, MINUTE + 6), ClaimVerdict.GRANTED)
    assert decide(taken_over[0], ClaimInput.consume("a", 1), 0) == (taken_over[0], ClaimVerdict.STALE)
    assert decide(taken_over[0], ClaimInput.consume("a", 2), 0) == (taken_over[0], ClaimVerdict.ILLEGAL)


@pytest.mark.parametrize("free", [ClaimInput.release, ClaimInput.declare_dead])
def test_a_holder_that_is_named_rightly_is_freed(free: Callable[[str, int], ClaimInput]) -> None:
    row, _ = live((ClaimInput.acquire("a", MINUTE), 0))
    assert decide(row, free("a", 1), 0) == (("free", None, 1, 0), ClaimVerdict.ACCEPTED)
    assert decide(row, free("b", 1), 0) == (row, ClaimVerdict.ILLEGAL)
    assert decide(row, free("a", 2), 0) == (row, ClaimVerdict.ILLEGAL)
    assert live((ClaimInput.acquire("a", MINUTE), 0), (free("a", 1), 0), (ClaimInput.acquire("b", MINUTE), 0)) == (
        ("held", "b", 2, MINUTE),
        [ClaimVerdict.GRANTED, ClaimVerdict.ACCEPTED, ClaimVerdict.GRANTED],
    )


@pytest.mark.parametrize(
    ("fate", "what", "state"),
    [
        (Fate.PUT, "consume", "consumed"),
        (Fate.ANSWERED, "consume", "consumed"),
        (Fate.PARKED, "parked", "free"),
        (Fate.FAILED, "failed", "free"),
        (Fate.GONE, "abandoned", "free"),
    ],
)
def test_a_runs_fate_settles_its_claim(fate: Fate, what: str, state: str) -> None:
    settle = word("a", 1, fate)
    assert (settle.owner, settle.fence, settle.what) == ("a", 1, what)
    row, verdicts = live((ClaimInput.acquire("a", MINUTE), 0), (settle, 0))
    assert row is not None
    assert row[0] == state
    assert verdicts[-1] == ClaimVerdict.ACCEPTED


def test_owners_are_told_apart_by_equality_alone() -> None:
    owners = ["", "a", "A", "a ", "a\0", "0", "1", "\N{LATIN SMALL LETTER E WITH ACUTE}", "e\N{COMBINING ACUTE ACCENT}"]
    for holder, other in itertools.product([*owners, "x" * 10_000], repeat=2):
        row, _ = live((ClaimInput.acquire(holder, MINUTE), 0))
        _, verdict = decide(row, ClaimInput.consume(other, 1), 0)
        assert verdict == (ClaimVerdict.ACCEPTED if holder == other else ClaimVerdict.ILLEGAL)
        # an owner is one run: it is refused what it holds
        assert decide(row, ClaimInput.acquire(other, MINUTE), 0) == (row, ClaimVerdict.REFUSED)


def test_what_is_asked_is_told() -> None:
    asked = [
        (ClaimInput.acquire("a", 1), None, "acquire"),
        (ClaimInput.renew("a", 3, 1), 3, "renew"),
        (ClaimInput.consume("a", 3), 3, "consume"),
        (ClaimInput.release("a", 3), 3, "released"),
        (ClaimInput.declare_dead("a", 3), 3, "dead"),
    ]
    for one, fence, what in asked:
        assert (one.owner, one.fence, one.what) == ("a", fence, what)
    assert word("a", 3, Fate.PUT) == ClaimInput.consume("a", 3) != ClaimInput.consume("a", 4)


@pytest.mark.parametrize("lease", [NEVER, 2**64 - 1])
@pytest.mark.parametrize("now", [0, MINUTE, NEVER])
def test_a_lease_ends_within_an_sql_integer(now: int, lease: int) -> None:
    row, verdicts = live((ClaimInput.acquire("a", lease), now))
    assert (row, verdicts) == (("held", "a", 1, NEVER), [ClaimVerdict.GRANTED])
    assert decide(row, ClaimInput.renew("a", 1, lease), now) == (row, ClaimVerdict.RENEWED)


def test_what_is_no_row_is_an_error() -> None:
    ask = ClaimInput.acquire("a", 1)
    with pytest.raises(ValueError, match="lost"):
        decide(("lost", None, 0, 0), ask, 0)
    for wrong in [("free", None, -1, 0), ("held", "a", 1, -1)]:
        with pytest.raises(OverflowError):
            decide(wrong, ask, 0)
    with pytest.raises(OverflowError):
        decide(None, ask, -1)
    with pytest.raises(OverflowError):
        ClaimInput.acquire("a", -1)
