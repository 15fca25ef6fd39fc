"""The options of `RemitSaver`, as one model. Keyword arguments of `RemitSaver` are its fields."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from ._core import refuse


class RemitConfig(BaseModel):
    """What `RemitSaver` does where there is a choice.

    Attributes:
        validator: what a state must satisfy to be stored: a pydantic model, a `TypedDict` or dataclass, a
            pydantic `TypeAdapter`, or a callable that takes a dict of channel values and raises `ValueError`,
            `TypeError` or `AssertionError`. A dict maps namespaces to validators: `""` is the root, `"child"`
            the subgraph in node `child`, `"child|grandchild"` the one inside it. Alone, it is the root's.
        fork_on_explicit_checkpoint: a resume that addresses a checkpoint which the thread has moved past is a
            fork: it is served its own answer, on a branch of its own. With `False` only `remit_fork` forks.
        require_named_answers: refuse answers that do not name their interrupt.
        on_stray: what becomes of a resume that answers nothing and would run nothing. One that would run
            something is refused, but with `"ignore"` (a checkpoint that does not exist, and a bare answer under
            `require_named_answers`, are refused always).
        cross_process_gate: of the runs that would answer the same questions, across threads, processes and hosts,
            one does; the others get `RemitConsumeConflict` before anything runs. `configurable` may say otherwise
            for one call.
        claim_lease: how long, in seconds, a claim outlives the last sign of life of a run whose process cannot be
            looked at, on another host or in another container, at least 0.2. A living run renews it.
        on_conflict: what becomes of a run that finds the questions taken: `"raise"`, or `"wait"` for the outcome.
        conflict_timeout: how long it waits at most, in seconds.
        detect_mutation: refuse a checkpoint of a run that changed a channel's value in place: it would not be stored
            by savers that store what has a new version. Each value is serialized once more.
        self_check: check `inner` when it is wrapped (an asynchronous saver: at its first read), on a thread of its own
            that is deleted again, and refuse one that loses or mixes up what a resume needs.
        detect_overtaken: where a run looks, when it stores a checkpoint, whether another run took the thread on meanwhile:
            among the runs of this `"process"`, or in the `"database"`, in the same transaction (on PostgreSQL one more
            round trip). Either way its nodes have run; `cross_process_gate` refuses before they do.
        strict_types: refuse to read a checkpoint of which an object came back as bare data or None, because its class
            cannot be imported, is not allowed or does not take its stored fields (`type-lost`). Otherwise that is logged,
            once for each class.
        claim_store: where claims are kept, a `remit.claims.ClaimStore`; by default in the saver's own database.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    validator: Any = None
    fork_on_explicit_checkpoint: bool = True
    require_named_answers: bool = False
    on_stray: Literal["warn", "raise", "ignore"] = "warn"
    cross_process_gate: StrictBool = False
    claim_lease: float = Field(default=30.0, ge=0.2, le=86_400, allow_inf_nan=False)
    on_conflict: Literal["raise", "wait"] = "raise"
    conflict_timeout: float = Field(default=60.0, ge=0, allow_inf_nan=False)
    claim_store: Any = None
    detect_mutation: StrictBool = False
    self_check: StrictBool = False
    detect_overtaken: Literal["process", "database"] = "process"
    strict_types: StrictBool = False

    @classmethod
    def make(cls, config: RemitConfig | None, options: dict[str, Any]) -> RemitConfig:
        """One configuration from a model and keyword arguments, which win.

        Raises:
            RemitError: an unknown option, or a wrong type.
        """
        if config is not None and not isinstance(config, RemitConfig):
            raise refuse("bad-option", detail=f"config must be a RemitConfig, not {type(config).__name__}")
        if config is not None and not options:
            return config
        given = {name: getattr(config, name) for name in config.model_fields_set} if config is not None else {}
        try:
            return cls(**{**given, **options})
        except ValidationError as e:
            detail = "; ".join(f"{'.'.join(map(str, x['loc']))}: {x['msg']}" for x in e.errors(include_url=False))
            raise refuse("bad-option", detail=detail) from e
