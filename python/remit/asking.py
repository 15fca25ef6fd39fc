"""`ask`: an interrupt whose answer is bound to what was shown.

LangGraph runs a node again from its beginning when its question is answered, and serves the answer whatever the node shows
by then. What was shown is kept as a digest beside the effects, so that a node that would show something else asks again.
"""

from __future__ import annotations

import os
from datetime import datetime
from importlib import import_module
from itertools import count
from typing import Any

from ._core import refuse
from .drivers import Steps, adrive, drive
from .effects import Place, fingerprint, place_of_question, question
from .gate import owner_text
from .turns import is_on_a_loop


def ask(payload: Any, *, digest_of: Any = None, expires_at: datetime | None = None) -> Any:
    """Asks, as `interrupt(payload)` does, and takes only an answer to what it shows now.

    Where the node would show something else when it runs again, it does not take the answer that it was given: it asks
    again. To be called in a blocking node; in an async one, `await aask(...)`.

    Args:
        payload: what is shown.
        digest_of: what the answer is bound to, if not all of the payload: anything that the serializer can store.
        expires_at: from then on (an aware time, by the database's clock) an answer that was not taken yet is refused.

    Returns:
        The answer.

    Raises:
        RemitStrayResume: the answer came too late.
        RemitError: it is called wrongly, or the payload has no digest.
    """
    place, digest = _prepared(payload, digest_of, expires_at)
    if place.run.is_async and is_on_a_loop():
        raise refuse("effect-on-loop", effect="ask")
    return drive(place.saver.inner, _ask(place, payload, digest, expires_at))


async def aask(payload: Any, *, digest_of: Any = None, expires_at: datetime | None = None) -> Any:
    """The same, awaiting."""
    place, digest = _prepared(payload, digest_of, expires_at)
    return await adrive(place.saver.inner, _ask(place, payload, digest, expires_at))


def _prepared(payload: Any, digest_of: Any, expires_at: datetime | None) -> tuple[Place, str]:
    if expires_at is not None and (not isinstance(expires_at, datetime) or expires_at.tzinfo is None):
        raise refuse("bad-effect", effect="ask", detail="expires_at is no time with a zone")
    try:
        digest = fingerprint(payload if digest_of is None else digest_of).hex()
    except Exception as e:
        raise refuse("effect-arguments", effect="ask", detail=str(e).splitlines()[0] if str(e) else repr(e)) from e
    return place_of_question(), digest


def _ask(place: Place, payload: Any, digest: str, expires_at: datetime | None) -> Steps[Any]:
    interrupt = import_module("langgraph.types").interrupt
    effects = place.saver.effects_of_run
    if not effects.is_kept:
        raise refuse("effect-no-store", effect="ask", given=type(place.saver.inner).__name__)
    store = effects.store
    yield from store.setup()
    for turn in count():
        asked = question(place.effect, turn)
        found = yield from store.last_effect(asked, None)
        shown = found[0] if found is not None else None
        try:
            answer = interrupt(payload)
        except BaseException:  # it parks here
            if shown is None or shown.fingerprint != digest:
                owner = owner_text(os.urandom(8).hex())
                fence = shown.fence + 1 if shown is not None else 1
                yield from store.admit(
                    asked, fence, False, owner, 0, place.run.namespace, place.checkpoint, digest, None
                )
            raise
        if found is None or shown is None or shown.fingerprint != digest:
            continue  # something else was shown
        if expires_at is not None and shown.state != "done":
            if found[1] >= expires_at.timestamp() * 1_000_000:
                where = {"thread": place.run.thread, "namespace": place.run.namespace, "checkpoint": place.checkpoint}
                raise refuse("answer-expired", expires_at=expires_at, named="none", open="unknown", **where)
            yield from store.settle_admission(asked.digest, shown.fence, "done", "taken", None)
        return answer
    raise AssertionError("unreachable")
