"""CO-c: the authority of one question is taken once, also by racers."""

from .play import Play, case


@case("CO-c", "co-race", "two processes give the answer at once")
def race(p: Play) -> None:
    p.process("start_gated")
    racers = p.race("answer YES")
    p.once("before", "after")
    p.check("one of them completes the run", any(op.ended == "finished" for op in racers), "live")
