"""A wire between two network namespaces that delays and loses what it carries: two TAP devices and a loop. (The kernel's
netem would do it too, where the kernel has it.)

    python wire.py SPACE DEVICE OTHER_SPACE OTHER_DEVICE SEED

Prints a line when the devices are there. Each line that comes in, "DELAY_S LOSS", is how it is from then on.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import random
import selectors
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
FRAME = 65_536


def tap(space: str, device: str) -> int:
    """A TAP device in a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{space}") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TAP | IFF_NO_PI))
    return end


def main(space: str, device: str, other_space: str, other_device: str, seed: str) -> None:
    here, there = tap(space, device), tap(other_space, other_device)
    dice, delay_s, loss = random.Random(seed), 0.0, 0.0
    on_the_way: list[tuple[float, int, int, bytes]] = []
    number = 0
    ready = selectors.DefaultSelector()
    for end in (here, there, sys.stdin.fileno()):
        ready.register(end, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        wait_s = max(0.0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        for found, _ in ready.select(wait_s):
            if found.fd not in (here, there):
                line = sys.stdin.readline()
                if not line:
                    return
                delay_s, loss = map(float, line.split())
                continue
            try:
                frame = os.read(found.fd, FRAME)
            except OSError:  # it is not up
                continue
            if dice.random() >= loss:
                number += 1
                to = there if found.fd == here else here
                heapq.heappush(on_the_way, (time.monotonic() + delay_s, number, to, frame))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, _, to, frame = heapq.heappop(on_the_way)
            try:
                os.write(to, frame)
            except OSError:  # it is cut
                continue


if __name__ == "__main__":
    main(*sys.argv[1:])
