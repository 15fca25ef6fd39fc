"""FI: what is sent tells a duplicate from a fork."""

from .play import Play, case


@case("FI", "fi-told-apart", "one answer, its duplicate, and a fork with the same answer")
def told_apart(p: Play) -> None:
    p.process("start_gated")
    p.process("answer YES")
    p.process("answer YES")
    p.check("the duplicate fires nothing", p.fired("after") == 1)
    p.process("fork YES")
    p.check("the fork fires", p.fired("after") == 2)
