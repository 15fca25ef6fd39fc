"""EO: each task's effect happens exactly once."""

from .play import Play, case


@case("EO", "eo-gate", "parked, killed, answered by another process")
def gate(p: Play) -> None:
    p.process("start_gated", "die")
    p.process("answer YES")
    p.once("before", "after")


@case("EO", "eo-raised", "a step raises before its effect; another process goes on")
def raised(p: Play) -> None:
    p.process("start_steps", at="two")
    p.process("go_on")
    p.once("one", "two")


@case("EO", "eo-killed", "a step is killed before its effect; another process goes on")
def killed(p: Play) -> None:
    p.process("start_steps", at="two", do="kill")
    p.process("go_on")
    p.once("one", "two")


@case("EO", "eo-killed-answered", "killed between the answer and its effect; the answer is given again")
def killed_answered(p: Play) -> None:
    p.process("start_gated")
    p.process("answer YES", at="answered", do="kill")
    p.process("answer YES")
    p.once("before", "after")


@case("EO", "eo-window", "killed between the gate's effect and its record; the answer is given again")
def window(p: Play) -> None:
    p.process("start_gated")
    p.process("answer YES", at="fired", do="kill")
    p.process("answer YES")
    p.once("before", "after")


@case("EO", "eo-step-window", "killed between a step's effect and its record; another process goes on")
def step_window(p: Play) -> None:
    p.process("start_steps", at="one-done", do="kill")
    p.process("go_on")
    p.once("one", "two")


@case("EO", "eo-redelivered", "a step raises, and the same start is delivered again")
def redelivered(p: Play) -> None:
    p.process("start_steps", at="two")
    p.process("start_steps")
    p.once("one", "two")
