"""PC: the finished prefix is not run again."""

from .play import Play, case


@case("PC", "pc-gate", "a parked run is answered by another process")
def gate(p: Play) -> None:
    asked = p.process("start_gated")
    answered = p.process("answer YES")
    p.check("it asks before it acts", asked.ended == "parked")
    p.once("before")
    p.finishes(answered)


@case("PC", "pc-gate-killed", "the same, and the process that asked is killed while it waits")
def gate_killed(p: Play) -> None:
    p.process("start_gated", "die")
    answered = p.process("answer YES")
    p.once("before")
    p.finishes(answered)


@case("PC", "pc-raised", "a step raises; another process goes on")
def raised(p: Play) -> None:
    failed = p.process("start_steps", at="two")
    went_on = p.process("go_on")
    p.check("the failure is loud", failed.ended == "raised")
    p.once("one")
    p.finishes(went_on)


@case("PC", "pc-killed", "a step is killed after the step before it became durable")
def killed(p: Play) -> None:
    p.process("start_steps", at="two", do="kill")
    went_on = p.process("go_on")
    p.once("one")
    p.finishes(went_on)


@case("PC", "pc-finished", "a finished run is told to go on")
def finished(p: Play) -> None:
    p.finishes(p.process("start_steps"))
    p.process("go_on")
    p.once("one", "two")
