"""FD: a fork is served its own answer, on its own branch."""

from .play import Play, case


@case("FD", "fd-two", "two answers at the point where the run asked: YES, then NO")
def two(p: Play) -> None:
    p.process("start_gated")
    last = [p.process("fork YES"), p.process("fork NO")][-1]
    p.check(
        "each branch is served its own answer", [e for e in p.effects if e != "before"] == ["after=YES", "after=NO"]
    )
    p.once("before")
    p.finishes(last)


@case("FD", "fd-same", "the same answer twice at the point where the run asked")
def same(p: Play) -> None:
    p.process("start_gated")
    last = [p.process("fork YES"), p.process("fork YES")][-1]
    p.check("each branch has its own effect", p.effects.count("after=YES") == 2)
    p.once("before")
    p.finishes(last)
