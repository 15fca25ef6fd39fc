"""Liveness: a parked, failed or crashed run can be completed."""

from .play import Play, case


@case("LIVE", "live-parked", "parked, killed, answered by another process")
def parked(p: Play) -> None:
    p.process("start_gated", "die")
    p.finishes(p.process("answer YES"))


@case("LIVE", "live-raised", "a step raises; another process goes on")
def raised(p: Play) -> None:
    p.process("start_steps", at="two")
    p.finishes(p.process("go_on"))


@case("LIVE", "live-killed", "a step is killed; another process goes on")
def killed(p: Play) -> None:
    p.process("start_steps", at="two", do="kill")
    p.finishes(p.process("go_on"))


@case("LIVE", "live-window", "killed between the gate's effect and its record; the answer is given again")
def window(p: Play) -> None:
    p.process("start_gated")
    p.process("answer YES", at="fired", do="kill")
    p.finishes(p.process("answer YES"))


@case("LIVE", "live-abandoned", "a resume is opened and left; then the answer comes")
def abandoned(p: Play) -> None:
    p.process("start_gated")
    p.process("abandon")
    p.finishes(p.process("answer YES"))
