"""RD: recovery is a function of what is durable."""

from .play import Play, case


@case("RD", "rd-copies", "a failed run is recovered twice, from two copies of what was durable")
def copies(p: Play) -> None:
    p.process("start_steps", at="two")
    other = p.copied()
    fired = []
    for each in (p, other):
        before = len(p.effects)
        ended = each.process("go_on")
        fired.append((ended.ended, ended.state, p.effects[before:]))
    p.check("both do the same", fired[0] == fired[1])
    p.check("both complete", fired[0][0] == "finished", "live")
