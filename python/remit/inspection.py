"""What a thread stands at, and what each way to go on would do: read from the durable log, before anybody resumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Literal

from langgraph.checkpoint.base import CheckpointTuple
from pydantic import BaseModel

from ._core import Intent, Policy, Thread, judge, on_retry
from .claims import Admission
from .drivers import Ask, Steps
from .effects import in_doubt, is_asked
from .facts import branch_of, runs_one_task, state_of
from .gate import _when, owner_of
from .protocol import Protocol
from .rows import NULL_TASK, Loaded, Rows, triggered

__all__ = ["EffectReport", "Explanation", "TaskPlan"]


class EffectReport(BaseModel):
    """What is known of an effect.

    Attributes:
        id: its admission's number, which `resolve_effect` takes.
        name, key: the effect id, and which of that name, see `remit.claims.Effect`.
        task: the id of its task; `""` in thread scope.
        state: `"done"`, `"released"` (it did not fire), `"firing"`, or `"in doubt"`.
        owner, since: who was admitted, and when.
        fingerprint: a digest of its arguments.
    """

    id: int
    name: str
    key: str
    task: str
    state: Literal["done", "released", "firing", "in doubt"]
    owner: str
    since: datetime
    fingerprint: str | None


class TaskPlan(BaseModel):
    """What `invoke(None)` does with a task.

    Attributes:
        id, name: None where the checkpoint does not tell: it names the nodes of a StateGraph, and the tasks of others
            only if something of them is stored.
        step: `"skip"`, `"ask"` (it runs up to its question, and asks it again), or `"run"`.
        why: `"recorded"`, `"handled"`, `"unanswered"`, `"answered"`, `"failed"`, or `"nothing"` (nothing of it is
            durable).
        interrupts: its open questions, by id.
        effects: what it has fired, or may have.
        below: the graph below that asks, if it does.
    """

    id: str | None
    name: str | None
    step: Literal["skip", "ask", "run"]
    why: str
    interrupts: dict[str, Any]
    effects: list[EffectReport]
    below: Explanation | None = None


class Explanation(BaseModel):
    """Where a thread stands, and what each way to go on would do. As a string: the same for a reader.

    Attributes:
        thread, namespace, checkpoint, branch: where.
        since: when the checkpoint was made.
        state: `"absent"`, `"finished"`, `"parked"`, `"unfinished"`, or `"unknown"`.
        tasks: the plan of a bare retry.
        running: who executes on the thread, if the gate is on and somebody does.
        effects: all of the thread's branch, the last admission of each.
        retry, same_input, answer: what `invoke(None)`, the same input again, and a bare answer would do. A refusal is
            told by its code.
    """

    thread: str
    namespace: str
    checkpoint: str | None
    since: datetime | None
    branch: str | None
    state: Literal["absent", "finished", "parked", "unfinished", "unknown"]
    tasks: list[TaskPlan]
    running: str | None
    effects: list[EffectReport]
    retry: str
    same_input: str
    answer: str

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        where = f"thread {self.thread}" + (f", namespace {self.namespace}" if self.namespace else "")
        at = f" at checkpoint {self.checkpoint}" if self.checkpoint else ""
        yield f"{where}: {self.state}{at}" + (f", on branch {self.branch}" if self.branch else "")
        if self.running:
            yield f"executing: {self.running}"
        for task in self.tasks:
            yield f"{task.step:4} {task.name or 'a task'} ({task.id or 'id unknown'}): {WHY[task.why]}"
            for id, question in task.interrupts.items():
                yield f"     asks {question!r} ({id})"
        for effect in self.effects:
            if effect.state != "released":
                yield f"effect {effect.id} {effect.name} {effect.key}: {effect.state}, since {effect.since:%F %T%z} by {effect.owner}"
        yield f"invoke(None): {self.retry}"
        yield f"the same input again: {self.same_input}"
        yield f"a bare answer: {self.answer}"


WHY = {
    "recorded": "its outputs are durable",
    "handled": "an error handler took its failure over",
    "unanswered": "nobody has answered its question",
    "answered": "its question was answered",
    "failed": "it failed",
    "nothing": "nothing of it is durable",
}
_STATES: dict[Thread, Literal["absent", "finished", "parked", "unfinished", "unknown"]] = {
    Thread.FINISHED: "finished",
    Thread.PARKED: "parked",
    Thread.UNFINISHED: "unfinished",
    Thread.UNKNOWN: "unknown",
}


def explain(protocol: Protocol, config: Any) -> Steps[Explanation]:
    """Where a thread stands, and what each way to go on would do. Reads, and changes nothing."""
    conf = config["configurable"]
    thread, namespace = str(conf["thread_id"]), conf.get("checkpoint_ns") or ""
    tup: CheckpointTuple | None = yield Ask("get_tuple", (config,))
    running = next((g for g in (yield from protocol.gate.trail(thread)) if g.running), None)
    who = f"{owner_of(running)}, since {_when(running.since):%F %T%z}" if running is not None else None
    admissions = (yield from protocol.store.effects(thread)) if protocol.has_store else []
    if tup is None:
        nothing = "is refused: there is nothing to go on with (EmptyInputError of LangGraph)"
        return Explanation(
            thread=thread, namespace=namespace, checkpoint=None, since=None, branch=None, state="absent", tasks=[], running=who,
            effects=[], retry=nothing, same_input="starts the thread", answer="is a stray (stray-no-thread)",
        )  # fmt: skip
    branch = branch_of(tup)
    loaded = Rows(tup.pending_writes).load(Intent.RETRY, alone=runs_one_task(tup))
    effects = _reports([a for a in admissions if a.effect.branch == (branch or "")])
    state = state_of(tup, loaded)
    names = names_of(tup, namespace, loaded)
    tasks = []
    ids = [*names, *(id for id in loaded.tasks if id not in names and id != NULL_TASK)]
    for id in ids if state != Thread.FINISHED else ():
        plan = yield from _plan(protocol, thread, namespace, id, names.get(id), loaded, effects)
        tasks.append(plan)
    if _hides_its_entry(tup, loaded, names):
        step, why = on_retry(recorded=False, parked=False, answered=False, failed=False, handled=False)
        tasks.append(TaskPlan(id=None, name=None, step=step, why=why, interrupts={}, effects=[]))  # type: ignore[arg-type]
    return Explanation(
        thread=thread,
        namespace=namespace,
        checkpoint=tup.checkpoint["id"],
        since=datetime.fromisoformat(tup.checkpoint["ts"]),
        branch=branch,
        state=_STATES[state],
        tasks=tasks,
        running=who,
        effects=effects,
        retry=_retry(state, tasks),
        same_input=_same_input(effects),
        answer=_answer(protocol, state, loaded, tasks),
    )


def _plan(
    protocol: Protocol,
    thread: str,
    namespace: str,
    id: str,
    name: str | None,
    loaded: Loaded,
    effects: Sequence[EffectReport],
) -> Steps[TaskPlan]:
    task = loaded.tasks.get(id)
    below: Explanation | None = None
    parked = task is not None and id in loaded.open
    answered = task is not None and bool(task.waiting.get(task.recorded))
    if task is not None and parked and task.is_below and name is not None:
        inner = f"{namespace}|{name}:{id}" if namespace else f"{name}:{id}"
        where = {"thread_id": thread, "checkpoint_ns": inner}
        below = yield from explain(protocol, {"configurable": where})
        if below.state == "absent":
            below = None
        else:
            answered = below.state != "parked" or any(t.why == "answered" for t in below.tasks)
    step, why = on_retry(
        recorded=id in loaded.finished,
        parked=parked,
        answered=answered,
        failed=task is not None and task.failed,
        handled=task is not None and task.handled,
    )
    questions = {q.id: q.value for q in questions_of(task.question)} if task is not None and parked else {}
    own = [e for e in effects if e.task == id]
    return TaskPlan(id=id, name=name, step=step, why=why, interrupts=questions, effects=own, below=below)  # type: ignore[arg-type]


def questions_of(value: Any) -> list[Any]:
    questions = value if isinstance(value, list | tuple) else [value]
    return [q for q in questions if isinstance(getattr(q, "id", None), str)]


def _hides_its_entry(tup: CheckpointTuple, loaded: Loaded, names: Mapping[str, str]) -> bool:
    """Has the input still to be taken by a task that has left no row, and whose name no channel tells: the input's own
    of a StateGraph, an entrypoint?"""
    if "__start__" not in tup.checkpoint["channel_values"] or names:
        return False
    if any(task.parked or task.failed for id, task in loaded.tasks.items() if id != NULL_TASK):
        return False  # it asks, or failed, itself too
    return not any(channel in ("__end__", "__previous__") for _, channel, _ in loaded.writes)


def names_of(tup: CheckpointTuple, namespace: str, loaded: Loaded) -> dict[str, str]:
    """The tasks that the checkpoint's channels trigger, by id: LangGraph makes the ids from the names."""
    try:
        digest = import_module("xxhash").xxh3_128_hexdigest
    except ImportError:
        return {}
    start = bytes.fromhex(tup.checkpoint["id"].replace("-", ""))
    step = str(tup.metadata.get("step", -2) + 1)

    def id_of(name: str, *parts: str) -> str:
        where = f"{namespace}|{name}" if namespace else name
        text = digest(start + "".join((where, step, name, *parts)).encode())
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"

    pulls, pushes = triggered(tup.checkpoint["channel_values"])
    names = {id_of(name, "__pregel_push", str(n)): name for n, name in enumerate(pushes)}
    names |= {id_of(name, "__pregel_pull", *sorted(channels)): name for name, channels in pulls.items()}
    entry = id_of("__start__", "__pregel_pull", "__start__")
    return {**names, entry: "__start__"} if entry in loaded.tasks else names


def _reports(admissions: Sequence[Admission]) -> list[EffectReport]:
    last = {a.effect.digest: a for a in admissions if not is_asked(a)}
    return [report(a) for a in last.values()]


def report(admission: Admission) -> EffectReport:
    """What is known of an effect whose last admission this is."""
    states: Mapping[str, Literal["done", "released", "firing"]] = {"done": "done", "released": "released"}
    doubtful = in_doubt(admission, _now_us())
    return EffectReport(
        id=admission.id,
        name=admission.effect.name,
        key=admission.effect.key,
        task=admission.effect.task,
        state="in doubt" if doubtful else states.get(admission.state, "firing"),
        owner=str(owner_of(admission)),
        since=_when(admission.since),
        fingerprint=admission.fingerprint,
    )


def _now_us() -> int:
    return int(datetime.now().timestamp() * 1_000_000)


def _retry(state: Thread, tasks: Sequence[TaskPlan]) -> str:
    if state == Thread.FINISHED:
        return "runs nothing"
    parts = []
    for step, text in (("run", "runs"), ("ask", "asks again in"), ("skip", "skips")):
        chosen = [t.name or t.id or "its task" for t in tasks if t.step == step]
        if chosen:
            parts.append(f"{text} {', '.join(chosen)}")
    doubtful = [e.name for t in tasks for e in t.effects if e.state == "in doubt" and t.step == "run"]
    if doubtful:
        parts.append(f"and comes to {', '.join(doubtful)}, which is in doubt")
    return "; ".join(parts) or "goes on"


def _same_input(effects: Sequence[EffectReport]) -> str:
    kept = sorted({e.name for e in effects if not e.task and e.state == "done"})
    told = f"; effects of the thread are not fired again ({', '.join(kept)})" if kept else ""
    return f"starts over: every task runs again and fires its own effects{told}"


def _answer(protocol: Protocol, state: Thread, loaded: Loaded, tasks: Sequence[TaskPlan]) -> str:
    verdict_of = judge(
        state,
        None,
        0,
        loaded.takers,
        loaded.hanging > 1,
        protocol.config.require_named_answers,
        Policy.RAISE,
    )
    if verdict_of[1] is not None:
        return f"is a stray ({verdict_of[1]})"
    asking = [t.name or t.id or "its task" for t in tasks if t.interrupts]
    return f"is taken by {', '.join(asking)}" if asking else "goes on, as at a breakpoint"
