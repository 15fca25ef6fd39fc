"""CV: only what is valid becomes durable, and what is not valid is not run on."""

from __future__ import annotations

from .play import Play, case


@case("CV", "cv-invalid", "a step returns what the state's schema does not allow")
def invalid(p: Play) -> None:
    op = p.process("invalid")
    p.check("it is refused loudly", op.ended == "raised")
    p.check("nothing invalid is durable", op.state != "invalid")


@case("CV", "cv-unserializable", "a step returns what cannot be serialized")
def unserializable(p: Play) -> None:
    p.check("it is refused loudly", p.process("unserializable").ended == "raised")


def _corrupted(kind: str, title: str) -> None:
    @case("CV", f"cv-{kind}", f"what is durable is damaged: {title}; then the answer comes")
    def body(p: Play) -> None:
        p.process("start_gated")
        before = p.effects
        op = p.process(f"corrupt {kind}", "answer YES")
        p.check("the damage is refused loudly", op.ended == "raised")
        p.check("nothing acts on it", p.effects == before)


_corrupted("empty", "an empty record")
_corrupted("truncated", "a record cut short")
_corrupted("type", "a field of a wrong type")
_corrupted("missing", "a field that is not there")
_corrupted("tag", "the name of another type")
_corrupted("version", "the number of another version")
