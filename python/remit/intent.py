"""What a call wants, known before its loop reads.

LangChain calls a handler registered through its public configure hook at the start of every run, inline, in the
caller's own context, with the call's raw input; LangGraph's loop reads right after that. So the handler leaves
the call in a context variable, and `get_tuple` finds it there (DESIGN 2, fact 14). Where no handler ran, the
intent is unknown, and the rules are safe all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from ._core import Intent

if TYPE_CHECKING:
    from .run import Run


class Call:
    """One run of a runnable: a graph's, a node's, a tool's.

    Attributes:
        parent: the call that made it. What a tool calls has none: graphs in a tool are followed as graphs of their own.
        within: the tool that made it.
        run: the loop's, once it has read.
        tool: the id of the tool call; `""` if it has none; None if this is no tool.
    """

    __slots__ = ("_counts", "id", "input", "parent", "run", "tool", "within")

    def __init__(self, id: UUID | None, input: Any, parent: Call | None, tool: str | None = None) -> None:
        self.id = id
        self.input = input
        self.parent = parent
        self.within: Call | None = None
        self.tool = tool
        self.run: Run | None = None
        self._counts: dict[str, int] | None = None

    def count(self, name: str, peek: bool = False) -> int:
        """How many of this name there were before in this run. `peek`: it is not one of them."""
        with _count_lock:
            counts = self._counts = self._counts if self._counts is not None else {}
            n = counts.get(name, 0)
            if not peek:
                counts[name] = n + 1
            return n


_count_lock = Lock()
_NOTHING = object()
_current: ContextVar[Call | None] = ContextVar("remit_call", default=None)
_live: dict[UUID, Call] = {}


class _Handler(BaseCallbackHandler):
    """Follows the starts and ends of runs. Inline, so that it acts in the caller's own context."""

    run_inline = True

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        call = Call(run_id, inputs, _live.get(parent_run_id) if parent_run_id is not None else None)
        outer = _current.get()
        if outer is not None and outer.tool is not None:
            call.within = outer if outer.id == parent_run_id else None
        elif outer is not None and call.parent is None and outer.id in _live:
            # the caller gave callbacks of its own, or a tracer stands between them: the context tells
            call.parent = outer
        _live[run_id] = call
        _current.set(call)

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        outer = _live.get(parent_run_id) if parent_run_id is not None else None
        _current.set(Call(run_id, None, outer, tool_call_id or ""))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, failed=False)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, failed=True)

    def _end(self, run_id: UUID, failed: bool) -> None:
        call = _live.pop(run_id, None)
        if call is not None:
            # a context may keep the call long after its end: let go of what it held
            call.input = _NOTHING
            if call.run is not None:
                run, call.run = call.run, None
                run.end(failed)


# of all that happens inside a call only chains and tools are followed; whoever handles tools handles "agent"
for _kind in ("llm", "chat_model", "retriever", "retry", "custom_event"):
    setattr(_Handler, f"ignore_{_kind}", True)

_hook: ContextVar[BaseCallbackHandler | None] | None = None
_hook_lock = Lock()


def follow_calls() -> None:
    """Starts to follow calls: when the first saver is made, not on import."""
    global _hook
    with _hook_lock:
        if _hook is None:
            handler: BaseCallbackHandler = _Handler()
            _hook = ContextVar("remit_handler", default=handler)
            register_configure_hook(_hook, inheritable=True)


def current_call() -> Call | None:
    """The call that is about to read; None where it is not known."""
    call = _current.get()
    return None if call is None or call.input is _NOTHING else call


def enclosing(thread: str) -> tuple[list[Run], Call] | None:
    """The runs of a thread's graphs in which the caller executes, innermost first, and the call that is the caller's
    task, or its tool in there; None if it is not in one. Calls in between may have ended: a context keeps the last
    one."""
    call, task, tool = _current.get(), None, None
    runs: list[Run] = []
    while call is not None:
        if call.run is not None and call.run.thread == thread:
            runs.append(call.run)
        elif not runs:
            task = call
            if call.tool is not None and tool is None:
                tool = call
        call = call.parent or call.within
    found = tool or task
    return (runs, found) if runs and found is not None else None


class Wish:
    """What a read is for: the intent, and the answer that the call carries.

    `answer` is `(False, value)` for a bare one, `(True, map)` for answers by interrupt id, None for none.
    """

    __slots__ = ("answer", "intent")

    def __init__(self, intent: Intent, answer: tuple[bool, Any] | None = None) -> None:
        self.intent = intent
        self.answer = answer


def is_interrupt_map(value: Any) -> bool:
    """Does LangGraph take the value for answers by interrupt id? Every key is an xxh3 128 hex digest, also if
    there is none."""
    return isinstance(value, dict) and all(
        isinstance(k, str) and len(k) == 32 and all(c in "0123456789abcdefABCDEF" for c in k) for k in value
    )


def wish_of_input(value: Any, run_id: Any, stored_run_id: Any) -> Wish:
    """What a call with this input wants of its own thread. `run_id`, `stored_run_id`: of the call's metadata and
    of the checkpoint's; LangGraph takes an input under the same run id for a continuation."""
    if value is None:
        return Wish(Intent.RETRY)
    if type(value).__name__ == "Command" and hasattr(value, "resume"):
        if value.resume is None:
            return Wish(Intent.RETRY)
        return Wish(Intent.ANSWER, (is_interrupt_map(value.resume), value.resume))
    if run_id is not None and run_id == stored_run_id:
        return Wish(Intent.RETRY)
    return Wish(Intent.NEW_INPUT)


def wish_of_child(configurable: Mapping[str, Any], parent: Run | None) -> Wish:
    """What a subgraph's read is for, which its parent's call decides (DESIGN 2, fact 7)."""
    if parent is None:
        return Wish(Intent.UNKNOWN)
    if not configurable.get("__pregel_resuming"):
        return Wish(Intent.NEW_INPUT)
    return Wish(parent.intent, parent.answer)
