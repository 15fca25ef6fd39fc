"""`RemitSaver`: a checkpointer that wraps another one, with exactly its capabilities."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from copy import copy
from datetime import timedelta
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ._core import Kind, parse_row, refuse
from .claims import Admission, Grant, check_loop, claims_for, memory_store, store_for
from .commits import Grouped, Write
from .config import RemitConfig
from .drivers import (
    Ask,
    aclosing_if,
    ado_again,
    adrive,
    closing_if,
    do_again,
    drive,
)
from .effects import Effects, Transaction
from .facts import decoded
from .inspection import Explanation, explain
from .intent import current_call, follow_calls
from .pending import PendingQuestion, pending
from .protocol import Protocol
from .reviving import Losses, Strict, check_value, strictly, watch
from .selfcheck import check as check_saver
from .turns import Landing, await_for, wait_for


class RemitSaver(BaseCheckpointSaver[Any]):
    """Wraps a checkpointer, so that resume means resume.

    Args:
        inner: any `BaseCheckpointSaver` instance, sync or async.
        config: the options as one model.
        **options: the same as keyword arguments: the fields of `RemitConfig`.

    Raises:
        RemitError: `inner` is not a saver instance, or an option is wrong.

    In `configurable`, per call: `remit_fork` (`True`: a fresh branch; a string: the branch of that name),
    `remit_inspect` (`True`: an execution's read that is to be answered like a look), `cross_process_gate` (`True` or
    `False`: the gate for this call), `remit_answer_id` (a string: the answer's idempotency key, so that the same
    answer delivered again is told from an answer to the next question).

    An instance's class has the methods that `type(inner)` overrides, since LangGraph and others find a saver's
    capabilities by that.
    """

    inner: BaseCheckpointSaver[Any]

    def __new__(cls, inner: Any = None, *, config: RemitConfig | None = None, **options: Any) -> RemitSaver:
        if isinstance(inner, RemitSaver):
            raise refuse("already-wrapped")
        if not isinstance(inner, BaseCheckpointSaver):
            given = f"the class {inner.__name__}" if isinstance(inner, type) else f"{type(inner).__name__}"
            raise refuse("not-a-saver", given=given)
        return object.__new__(_specialised(cls, type(inner)))

    def __init__(self, inner: BaseCheckpointSaver[Any], *, config: RemitConfig | None = None, **options: Any) -> None:
        self.inner = inner
        watch(inner)
        self.get_next_version = inner.get_next_version  # type: ignore[method-assign]
        self.config = RemitConfig.make(config, options)
        store = store_for(inner)
        claims = claims_for(inner, store, self.config.claim_store)
        self._protocol = Protocol(self.config, store, claims, memory_store(inner), type(inner).__name__, inner.serde)
        self._is_bound = hasattr(inner, "loop")
        self._takes_path = _takes_path(inner.put_writes)
        self._atakes_path = _takes_path(inner.aput_writes)
        self._protocol.store.check()
        if self.config.self_check and not self._is_bound and _overrides(type(inner), "get_tuple"):
            drive(inner, check_saver(type(inner).__name__))
            self._protocol.is_checked = True
        self._groups = store.groups
        follow_calls()

    @property
    def serde(self) -> Any:
        """The inner saver's serializer."""
        return self.inner.serde

    @serde.setter
    def serde(self, value: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.inner.serde = value

    @property
    def config_specs(self) -> list[Any]:
        """The inner saver's configuration fields."""
        return self.inner.config_specs

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        """A clone whose inner saver's serializer accepts more types. Shares everything else."""
        inner = self.inner.with_allowlist(extra_allowlist)
        if inner is self.inner:
            return self
        clone = copy(self)
        clone.inner = inner
        watch(inner)
        return clone

    def setup(self) -> Any:
        """Sets up the inner saver, REMIT's own tables, and the index that `pending` uses. To be awaited if the inner
        saver's `setup` is."""
        setup = getattr(self.inner, "setup", None)
        made = setup() if setup is not None else None
        if not inspect.isawaitable(made):
            return drive(self.inner, self._protocol.setup())

        async def asetup() -> None:
            await made
            await adrive(self.inner, self._protocol.setup())

        return asetup()

    def claims(self, thread_id: str) -> list[Grant]:
        """Who was given the right to answer a thread's questions, oldest first, and what came of it. Of answers it has
        no more than a digest."""
        return drive(self.inner, self._protocol.gate.trail(str(thread_id)))

    async def aclaims(self, thread_id: str) -> list[Grant]:
        """The same, awaiting."""
        return await adrive(self.inner, self._protocol.gate.trail(str(thread_id)))

    def release(self, thread_id: str) -> list[Grant]:
        """Frees what runs hold on a thread, for a person who knows that they are dead: what was freed. What such a run
        stores afterwards is refused. Recorded as `released`."""
        return drive(self.inner, self._protocol.gate.release(str(thread_id)))

    async def arelease(self, thread_id: str) -> list[Grant]:
        """The same, awaiting."""
        return await adrive(self.inner, self._protocol.gate.release(str(thread_id)))

    @property
    def effects_of_run(self) -> Effects:
        """The effects, with this wrapper's serializer."""
        return Effects(self._protocol, self.inner.serde, type(self.inner).__name__)

    def effects(self, thread_id: str) -> list[Admission]:
        """The admissions of a thread's effects, oldest first: who fired what, and what came of it. (Results are stored as
        the serializer writes them; the arguments are there as a digest only.)"""
        return drive(self.inner, self.effects_of_run.history(str(thread_id)))

    async def aeffects(self, thread_id: str) -> list[Admission]:
        """The same, awaiting."""
        return await adrive(self.inner, self.effects_of_run.history(str(thread_id)))

    def resolve_effect(self, thread_id: str, id: int, *, fired: bool, result: Any = None) -> Admission:
        """Says what became of an effect in doubt, for a person who looked outside. Recorded as `resolved`.

        Args:
            id: the admission's number, as of `effects`.
            fired: has it fired? If not, it fires when its task runs again.
            result: what it returned, which its task is given.

        Raises:
            RemitError: the effect is not in doubt, or the result cannot be stored.
        """
        return drive(self.inner, self.effects_of_run.resolve(str(thread_id), id, fired, result))

    async def aresolve_effect(self, thread_id: str, id: int, *, fired: bool, result: Any = None) -> Admission:
        """The same, awaiting."""
        return await adrive(self.inner, self.effects_of_run.resolve(str(thread_id), id, fired, result))

    def explain(self, config: Any) -> Explanation:
        """Where a thread stands and what each way to go on would do, before anybody does: which tasks run, ask and are
        skipped, and why; who executes; which effects are done and which are in doubt. Changes nothing.

        Args:
            config: with `thread_id`, and if wanted `checkpoint_ns` and `checkpoint_id`, in `configurable`.
        """
        return drive(self.inner, explain(self._protocol, config))

    async def aexplain(self, config: Any) -> Explanation:
        """The same, awaiting."""
        return await adrive(self.inner, explain(self._protocol, config))

    def pending(
        self,
        *,
        prefix: str = "",
        metadata: Mapping[str, Any] | None = None,
        older_than: timedelta | None = None,
        limit: int | None = None,
        after: PendingQuestion | None = None,
    ) -> list[PendingQuestion]:
        """The questions that are open, of all threads, oldest checkpoint first: what each asks, since when, who executes
        there, and how it is answered. Those that stock savers left are there too. Changes nothing.

        Args:
            prefix: only threads whose id begins with it.
            metadata: only questions at checkpoints whose metadata has these values.
            older_than: only questions asked this long ago or longer, by `PendingQuestion.since`.
            limit: how many at most.
            after: the last one of the page before.

        Raises:
            RemitError: an argument is wrong.
        """
        return drive(self.inner, pending(self._protocol, prefix, metadata, older_than, limit, after))

    async def apending(
        self,
        *,
        prefix: str = "",
        metadata: Mapping[str, Any] | None = None,
        older_than: timedelta | None = None,
        limit: int | None = None,
        after: PendingQuestion | None = None,
    ) -> list[PendingQuestion]:
        """The same, awaiting."""
        return await adrive(self.inner, pending(self._protocol, prefix, metadata, older_than, limit, after))

    def transaction(self) -> Transaction:
        """A transaction on the saver's own database, for effects that are writes to it: they commit with their record,
        so that they fire exactly once and are never in doubt. To be entered in a node, with `async with` over an async
        saver; it gives the connection.

            with saver.transaction() as tx:
                effect("debit", lambda: tx.execute("UPDATE account SET ..."))

        While it is open, the saver's connection is its own (a pool's other connections are not): it is to be short, and
        nothing in it may use the saver. If an effect in it fails, all of it is rolled back.

        Raises:
            RemitError: there is no run here, or no database.
        """
        return Transaction(self)

    def __copy__(self) -> RemitSaver:
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        return clone

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __repr__(self) -> str:
        return f"RemitSaver({self.inner!r})"


def _get_tuple(self: RemitSaver, config: Any) -> CheckpointTuple | None:
    if self.config.strict_types:
        with strictly() as lost:
            return lost.checked(drive(Strict(self.inner, lost), self._protocol.get_tuple(config)))
    return drive(self.inner, self._protocol.get_tuple(config))


async def _aget_tuple(self: RemitSaver, config: Any) -> CheckpointTuple | None:
    if self.config.strict_types:
        with strictly() as lost:
            tup = lost.checked(await adrive(Strict(self.inner, lost), self._protocol.get_tuple(config)))
    else:
        tup = await adrive(self.inner, self._protocol.get_tuple(config))
    call = current_call()
    if call is not None and call.run is not None:
        call.run.is_async = True
    return tup


def _list(
    self: RemitSaver, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None
) -> Iterator[CheckpointTuple]:
    is_strict = self.config.strict_types
    if not self._protocol.is_paged(config):
        with closing_if(self.inner.list(config, filter=filter, before=before, limit=limit)) as items:
            source = iter(items)
            while True:
                with strictly(is_strict) as lost:
                    tup = next(source, None)
                if tup is None:
                    return
                yield decoded(lost.checked(tup))
    left = limit
    while left is None or left > 0:
        size = _PAGE if left is None else min(left, _PAGE)
        with strictly(is_strict) as lost:
            page = list(self.inner.list(config, filter=filter, before=before, limit=size))
        for tup in page:
            yield decoded(lost.checked(tup))
        if len(page) < size:
            return
        left, before = None if left is None else left - size, page[-1].config


async def _alist(
    self: RemitSaver, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None
) -> AsyncIterator[CheckpointTuple]:
    is_strict = self.config.strict_types
    if not self._protocol.is_paged(config):
        async with aclosing_if(self.inner.alist(config, filter=filter, before=before, limit=limit)) as items:
            source = aiter(items)
            while True:
                with strictly(is_strict) as lost:
                    tup = await anext(source, None)
                if tup is None:
                    return
                yield decoded(lost.checked(tup))
    left = limit
    while left is None or left > 0:
        size = _PAGE if left is None else min(left, _PAGE)
        with strictly(is_strict) as lost:
            page = [tup async for tup in self.inner.alist(config, filter=filter, before=before, limit=size)]
        for tup in page:
            yield decoded(lost.checked(tup))
        if len(page) < size:
            return
        left, before = None if left is None else left - size, page[-1].config


# An operation arrives when it is called, not when it is first awaited: `aput` and `aput_writes` are plain functions.


def _put(self: RemitSaver, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
    if self._is_bound:
        check_loop(self.inner)
    protocol, conf = self._protocol, config["configurable"]
    operation = protocol.planes.arrive_as(conf, Kind.CHECKPOINT)
    writer = self.inner if self._groups is None else Grouped(self.inner, self._groups, operation)
    run = protocol.plain_run(conf, checkpoint)
    if run is None:
        return drive(writer, protocol.put(operation, config, checkpoint, metadata, new_versions))
    try:
        if not operation.is_ready():
            wait_for(operation)
        try:
            result = writer.put(config, checkpoint, metadata, new_versions)
        except Exception as error:
            result = do_again(writer, Ask("put", (config, checkpoint, metadata, new_versions)), error)
    except Exception:
        protocol.not_stored(config, checkpoint["id"])
        raise
    finally:
        operation.finish()
    if protocol.landed(run, checkpoint):
        drive(writer, protocol.conclude(run))
    return result


def _aput(self: RemitSaver, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Coroutine[Any, Any, Any]:
    protocol = self._protocol
    operation = protocol.planes.arrive_as(config["configurable"], Kind.CHECKPOINT)
    run = protocol.plain_run(config["configurable"], checkpoint)
    if run is not None:

        async def put() -> Any:
            if not operation.is_ready():
                await await_for(operation)
            try:
                result = await self.inner.aput(config, checkpoint, metadata, new_versions)
            except Exception as error:
                try:
                    result = await ado_again(
                        self.inner, Ask("put", (config, checkpoint, metadata, new_versions)), error
                    )
                except Exception:
                    protocol.not_stored(config, checkpoint["id"])
                    raise
            if protocol.landed(run, checkpoint):
                await adrive(self.inner, protocol.conclude(run))
            return result

        return Landing(operation, put)
    steps = self._protocol.put(operation, config, checkpoint, metadata, new_versions)
    return Landing(operation, lambda: adrive(self.inner, steps))


def _put_writes(
    self: RemitSaver, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
) -> None:
    if self._is_bound:
        check_loop(self.inner)
    operation = self._protocol.planes.arrive_as(config["configurable"], Kind.WRITES)
    writer = self.inner if self._groups is None else Grouped(self.inner, self._groups, operation)
    if not self._protocol.is_plain(config["configurable"], writes, task_id):
        steps = self._protocol.put_writes(operation, config, writes, task_id, task_path, self._takes_path)
        return drive(writer, steps)
    args: tuple[Any, ...] = (config, writes, task_id, *((task_path,) if self._takes_path else ()))
    try:
        if self._groups is None:
            self.inner.put_writes(*args)
        else:
            self._groups.store(Write(self.inner, "put_writes", args), operation, is_last=True)
    except Exception as error:
        do_again(writer, Ask("put_writes", args, is_last=True), error)
    finally:
        operation.finish()


def _aput_writes(
    self: RemitSaver, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
) -> Coroutine[Any, Any, None]:
    operation = self._protocol.planes.arrive_as(config["configurable"], Kind.WRITES)
    if self._protocol.is_plain(config["configurable"], writes, task_id):
        path = (task_path,) if self._atakes_path else ()

        async def put_writes() -> None:
            try:
                await self.inner.aput_writes(config, writes, task_id, *path)
            except Exception as error:
                await ado_again(self.inner, Ask("put_writes", (config, writes, task_id, *path)), error)

        return Landing(operation, put_writes)
    steps = self._protocol.put_writes(operation, config, writes, task_id, task_path, self._atakes_path)
    return Landing(operation, lambda: adrive(self.inner, steps))


for _method in (_put_writes, _aput_writes):
    # LangGraph asks for it whenever a run begins, and making it takes longer than to call the method
    _method.__signature__ = inspect.signature(_method)  # type: ignore[union-attr]


def _takes_path(put_writes: Callable[..., Any]) -> bool:
    """Savers of before checkpoint 2.0 store no task path."""
    return "task_path" in inspect.signature(put_writes).parameters


def _delete_thread(self: RemitSaver, thread_id: str) -> None:
    drive(self.inner, self._protocol.delete_thread(thread_id))


async def _adelete_thread(self: RemitSaver, thread_id: str) -> None:
    await adrive(self.inner, self._protocol.delete_thread(thread_id))


def _copy_thread(self: RemitSaver, source_thread_id: str, target_thread_id: str) -> None:
    drive(self.inner, self.effects_of_run.copy_thread(str(source_thread_id), str(target_thread_id)))


async def _acopy_thread(self: RemitSaver, source_thread_id: str, target_thread_id: str) -> None:
    await adrive(self.inner, self.effects_of_run.copy_thread(str(source_thread_id), str(target_thread_id)))


def _prune(self: RemitSaver, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
    self.inner.prune(thread_ids, strategy=strategy)
    drive(self.inner, self._protocol.pruned(thread_ids, strategy))


async def _aprune(self: RemitSaver, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
    await self.inner.aprune(thread_ids, strategy=strategy)
    await adrive(self.inner, self._protocol.pruned(thread_ids, strategy))


def _get_delta_channel_history(self: RemitSaver, *, config: Any, channels: Sequence[str]) -> Any:
    with strictly(self.config.strict_types) as lost:
        history = self.inner.get_delta_channel_history(config=config, channels=channels)
    return _on_the_line(history, lost, config)


async def _aget_delta_channel_history(self: RemitSaver, *, config: Any, channels: Sequence[str]) -> Any:
    with strictly(self.config.strict_types) as lost:
        history = await self.inner.aget_delta_channel_history(config=config, channels=channels)
    return _on_the_line(history, lost, config)


def _on_the_line(history: Any, lost: Losses, config: Any) -> Any:
    """A channel's history is the line's own: rows of forks are not part of it, and of a task whose outputs were
    refused only the last attempt is."""

    def own(writes: list[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
        parsed = [(parse_row(w[0]), w) for w in writes]
        last: dict[str, int] = {}
        for (task, branch, _, _, attempt), _ in parsed:
            if branch is None:
                last[task] = max(last.get(task, 0), attempt or 0)
        return [
            (task, *w[1:])
            for (task, branch, _, _, attempt), w in parsed
            if branch is None and (attempt or 0) == last[task]
        ]

    if lost:
        for channel, entry in history.items():
            check_value(entry, channel, config["configurable"])
    return {channel: {**entry, "writes": own(entry["writes"])} for channel, entry in history.items()}


_PAGE = 64
"""How many checkpoints a listing takes at once: a saver's lock must not be held while its reader does other things."""

_OURS: dict[str, Any] = {
    "get_tuple": _get_tuple,
    "aget_tuple": _aget_tuple,
    "list": _list,
    "alist": _alist,
    "put": _put,
    "aput": _aput,
    "put_writes": _put_writes,
    "aput_writes": _aput_writes,
    "delete_thread": _delete_thread,
    "adelete_thread": _adelete_thread,
    "copy_thread": _copy_thread,
    "acopy_thread": _acopy_thread,
    "prune": _prune,
    "aprune": _aprune,
    "get_delta_channel_history": _get_delta_channel_history,
    "aget_delta_channel_history": _aget_delta_channel_history,
}
_PASSED_ON = ("delete_for_runs", "adelete_for_runs")
_CONTEXT = ("__enter__", "__exit__", "__aenter__", "__aexit__")


def _passed_on(name: str) -> Callable[..., Any]:
    def method(self: RemitSaver, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.inner, name)(*args, **kwargs)

    method.__name__ = name
    return method


def _entered(name: str) -> Callable[..., Any]:
    """A context manager's method: entering gives the wrapper, not the inner saver."""
    if name == "__enter__":

        def enter(self: RemitSaver) -> RemitSaver:
            self.inner.__enter__()  # type: ignore[attr-defined]
            return self

        return enter
    if name == "__aenter__":

        async def aenter(self: RemitSaver) -> RemitSaver:
            await self.inner.__aenter__()  # type: ignore[attr-defined]
            return self

        return aenter
    return _passed_on(name)


def _overrides(inner: type[BaseCheckpointSaver[Any]], name: str) -> bool:
    return getattr(inner, name, None) is not getattr(BaseCheckpointSaver, name, None)


_specialisations: dict[tuple[Any, Any], type[RemitSaver]] = {}


def _specialised(cls: type[RemitSaver], inner: type[BaseCheckpointSaver[Any]]) -> type[RemitSaver]:
    """The subclass of `cls` that overrides what `inner` overrides, and nothing else."""

    made = _specialisations.get((cls, inner))
    if made is not None:
        return made

    methods = {name: method for name, method in _OURS.items() if _overrides(inner, name)}
    methods |= {name: _passed_on(name) for name in _PASSED_ON if _overrides(inner, name)}
    methods |= {name: _entered(name) for name in _CONTEXT if hasattr(inner, name)}
    for name, method in methods.items():
        method.__doc__ = method.__doc__ or getattr(getattr(BaseCheckpointSaver, name, None), "__doc__", None)
    made = type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__, **methods})
    return _specialisations.setdefault((cls, inner), made)
