"""CO-e: a stray or duplicate delivery fires nothing."""

from .play import Play, case


@case("CO-e", "co-stray", "the same answer again, after the run has ended")
def stray(p: Play) -> None:
    p.process("start_gated")
    p.process("stray YES")
    p.once("before", "after")


@case("CO-e", "co-duplicate", "the same answer twice, one right after the other, into one live run")
def duplicate(p: Play) -> None:
    p.process("start_gated", "duplicate YES")
    p.check("`after` does not happen again", p.fired("after") <= 1)
    p.check("`after` happens", p.fired("after") >= 1, "live")
