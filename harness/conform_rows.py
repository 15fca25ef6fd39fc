"""Runs `remit conform` on one factory of `savers.py` and prints its JSON: `python conform_rows.py NAME`."""

import sys

from remit.conform.runner import run

if __name__ == "__main__":
    print(run(f"savers:{sys.argv[1]}").as_json())
