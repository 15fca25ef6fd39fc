"""Any history of up to four workers that ask for effects, fire, fail, die and come back, on each store, against a
reference that is no more than a list of what happened.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from remit import RemitError
from remit._core import Doubt, Intent
from remit.claims import Admission, Effect
from remit.drivers import drive
from remit.effects import Effects
from remit.gate import _here, _live
from remit.run import Run
from stores import Store

WORKERS = range(4)
NAMES = ("charge", "mail")

acts = st.one_of(
    st.tuples(
        st.just("ask"),
        st.sampled_from(WORKERS),
        st.sampled_from(NAMES),
        st.sampled_from(["x", "y"]),
        st.sampled_from([Doubt.RAISE, Doubt.RETRY]),
    ),
    st.tuples(st.sampled_from(["done", "release", "die"]), st.sampled_from(WORKERS)),
    st.tuples(st.just("resolve"), st.sampled_from(NAMES), st.booleans()),
)


class Reference:
    """An effect as one would explain it: the last admission, by whom, with what, and what came of it."""

    def __init__(self) -> None:
        self.last: dict[str, list[Any]] = {}  # name: [life, argument, state, result]

    def ask(self, life: str, name: str, argument: str, doubt: Doubt, alive: set[str]) -> str:
        last = self.last.get(name)
        if last is not None and last[2] != "released":
            if last[1] != argument:
                return "effect-mismatch"
            if last[2] == "done":
                return f"replay {last[3]}"
            if last[0] in alive:
                return "effect-duplicate"
            if doubt == Doubt.RAISE:
                return "effect-in-doubt"
        self.last[name] = [life, argument, "admitted", None]
        return "fresh"


@pytest.mark.parametrize("backend", ["memory", "sqlite", "postgres"])
def test_every_history_is_as_the_reference_says(backend: str, new_place: Any) -> None:
    with Store(backend, new_place(backend)) as opened:
        saver = opened.wrapped()
        effects: Effects = saver.effects_of_run
        counter = iter(range(1_000_000))

        @settings(max_examples=300 if backend == "memory" else 80, suppress_health_check=list(HealthCheck))
        @given(st.lists(acts, max_size=30))
        def check(history: list[Any]) -> None:
            thread = f"thread {next(counter)}"
            place: Any = SimpleNamespace(run=Run(thread, "", Intent.NEW_INPUT, None), checkpoint="c")
            reference, firing, lives = Reference(), dict[int, tuple[Effect, int, str]](), dict[int, str]()
            for n, act in enumerate(history):
                if act[0] == "ask" and act[1] not in firing:
                    _, worker, name, argument, doubt = act
                    lives[worker] = f"{thread} {n}"
                    _live.add(lives[worker])
                    owner = json.dumps(_here()._replace(run=lives[worker])._asdict())
                    effect = Effect(thread, "", "task", name, "#0", f"{thread} {name}")
                    expected = reference.ask(lives[worker], name, argument, doubt, {lives[w] for w in firing})
                    try:
                        got = drive(saver.inner, effects._admit(effect, place, owner, argument, doubt))
                    except RemitError as e:
                        said = e.code
                    else:
                        said = f"replay {got.result[1].decode()}" if isinstance(got, Admission) else "fresh"
                        if said == "fresh":
                            firing[worker] = (effect, got, name)
                    assert said == expected
                    if worker not in firing:
                        _live.discard(lives[worker])
                elif act[0] in ("done", "release", "die") and act[1] in firing:
                    effect, fence, name = firing.pop(act[1])
                    if act[0] != "die":
                        result = ("bytes", f"r{n}".encode()) if act[0] == "done" else None
                        drive(saver.inner, effects._settle(effect, fence, "", act[0] == "done", act[0], result))
                        reference.last[name][2:] = ["done" if result else "released", f"r{n}"]
                    _live.discard(lives[act[1]])
                elif act[0] == "resolve":
                    _, name, fired = act
                    rows = [a for a in saver.effects(thread) if a.effect.name == name]
                    last = reference.last.get(name)
                    in_doubt = last is not None and last[2] == "admitted" and last[0] not in {lives[w] for w in firing}
                    if rows:
                        try:
                            saver.resolve_effect(thread, rows[-1].id, fired=fired, result=f"r{n}".encode())
                        except RemitError as e:
                            assert e.code == "effect-unresolvable"
                            assert not in_doubt
                        else:
                            assert in_doubt and last is not None
                            last[2:] = ["done" if fired else "released", f"r{n}"]
            for worker in firing:
                _live.discard(lives[worker])
            for name, (_, argument, state, _) in reference.last.items():
                *earlier, newest = [a for a in saver.effects(thread) if a.effect.name == name]
                assert (newest.fingerprint, newest.state) == (argument, state)
                assert all(a.state == "released" or a.outcome == "superseded" for a in earlier), "history is kept"

        check()
