"""Plays the contract on every plane and writes what was found.

    python harness/run.py                     # everything: environments, cases, results
    python harness/run.py --check             # the same, compared with the committed results
    python harness/run.py --env dbos --case 'co-*'   # a part; prints, and writes only the raw results

Raw results (with messages) go to `results/raw/`, which is not committed. The stable ones, which have no times and no ids,
go to `results/stable/`, one file per environment; from them alone the matrix is made (`matrix.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from contract import CASES, Case
from contract.play import Play
from environments import Environment, environments
from matrix import judge, write_matrix
from stage import Stage

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
FACTORIES = ("memory", "sqlite", "postgres", "async_sqlite", "async_postgres")
SUPPORTED = ("1.2.9", "1.2.24")
"""The LangGraph releases that REMIT supports; of the others the stock savers are measured, and the sync ones only."""


def factories(version: str) -> list[str]:
    """The factories of `savers.py` that are measured on a LangGraph release."""
    if version in SUPPORTED:
        return [f"{kind}_{name}" for kind in ("stock", "remit") for name in FACTORIES]
    return [f"stock_{name}" for name in FACTORIES if not name.startswith("async")]


@dataclass(frozen=True)
class Plane:
    """An entry of planes.yaml."""

    name: str
    framework: str
    versions: tuple[str, ...]

    @property
    def adapter(self) -> str:
        return self.name.partition("/")[0].replace("-", "_")

    @property
    def surface(self) -> str:
        return self.name.partition("/")[2]


@cache
def read(name: str) -> list[dict[str, Any]]:
    """One of the lists beside this file."""
    entries: list[dict[str, Any]] = yaml.safe_load((HERE / name).read_text(encoding="utf-8")) or []
    return entries


def planes() -> list[Plane]:
    """All planes, in the order of the matrix."""
    return [Plane(e["plane"], e["framework"], tuple(map(str, e.get("versions", ())))) for e in read("planes.yaml")]


def excluded(plane: str, version: str, case: str) -> str | None:
    """Why a case is not played on a plane; `None` if it is."""
    for entry in read("exclusions.yaml"):
        cases = [entry["case"]] if isinstance(entry["case"], str) else entry["case"]
        of_version = str(entry.get("version", version)) == version
        if of_version and fnmatchcase(plane, entry["plane"]) and any(fnmatchcase(case, c) for c in cases):
            return str(entry["why"])
    return None


def play(stage: Stage, case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """One case. Gives what was seen, and the same with what differs between two runs."""
    p, error = Play(stage, stage.new_store()), None
    try:
        case.body(p)
    except RuntimeError as failed:
        error = str(failed)
    stable: dict[str, Any] = {"error": "it could not be played"} if error else {}
    stable["ops"] = [" ".join((name, "->", op.ended, op.error, _shown(op.state))).rstrip() for name, op in p.ops]
    stable["effects"] = p.effects
    stable["checked"] = len(p.checks)
    stable["not so"] = [[check.kind, check.sentence] for check in p.checks if not check.held]
    return stable, {**stable, "error": error, "ops": [[name, asdict(op)] for name, op in p.ops]}


def _shown(state: Any) -> str:
    return "" if state is None else json.dumps(state)


def play_plane(plane: Plane, env: Environment, cases: list[Case], postgres: str) -> dict[str, Any]:
    """All cases on one plane in one environment: case to (stable, raw)."""
    found: dict[str, Any] = {}
    todo = {case.id: excluded(plane.name, env.version, case.id) for case in cases}
    if all(todo.values()):
        return {id: ({"excluded": why},) * 2 for id, why in todo.items()}
    own = {"HARNESS_PG": postgres, "HARNESS_VERSION": env.version}
    with Stage(env.python, plane.adapter, plane.surface, own) as stage:
        for case in cases:
            why = todo[case.id]
            if why:
                found[case.id] = ({"excluded": why},) * 2
            else:
                found[case.id] = play(stage, case)
    return found


def conform(env: Environment, factory: str, postgres: str) -> dict[str, Any]:
    """`remit conform` on one factory in one LangGraph environment: case to its finding."""
    with tempfile.TemporaryDirectory() as directory:
        own = {"HARNESS_SQLITE": f"{directory}/conform.db", "HARNESS_PG": postgres, "PYTHONPATH": str(HERE)}
        done = subprocess.run(
            [str(env.python), str(HERE / "conform_rows.py"), factory],
            env={**os.environ, **own, "LANGSMITH_TRACING": "false"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"remit conform, {factory} in {env.name}:\n{done.stdout}{done.stderr}")
    report = json.loads(done.stdout)
    return {case.pop("id"): case for case in report["cases"]}


@contextmanager
def postgres_database() -> Iterator[str]:
    """An empty PostgreSQL database for one environment."""
    sys.path.append(str(HERE.parent / "tests"))
    import psycopg
    from private_postgres import private_postgres
    from psycopg.conninfo import make_conninfo

    with private_postgres() as url, psycopg.connect(url, autocommit=True) as server:
        name = f"harness_{uuid.uuid4().hex}"
        server.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield make_conninfo(url, dbname=name)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def install_package(env: Environment) -> None:
    """This repository's wheel, in a LangGraph environment. Without its dependencies: the lock file decides those."""
    wheels = sorted((HERE.parent / "dist").glob("*.whl"))
    if not wheels:
        raise SystemExit("error: no wheel in dist/\n\nhint: make wheel")
    stamp, now = env.home / "wheel", f"{wheels[-1].name} {wheels[-1].stat().st_mtime_ns}"
    if not stamp.exists() or stamp.read_text() != now:
        pip = [str(env.python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheels[-1])], check=True)
        stamp.write_text(now)


def play_environment(env: Environment, cases: list[Case], surface: str, with_conform: bool) -> dict[str, Any]:
    """Everything that is played in one environment: `planes` and, for LangGraph, `conform`, each (stable, raw)."""
    result: dict[str, Any] = {"planes": {}}
    with ExitStack() as stack:
        postgres = ""
        if env.framework == "langgraph":
            install_package(env)
            postgres = stack.enter_context(postgres_database())
        for plane in planes():
            wanted = plane.framework == env.framework and (not plane.versions or env.version in plane.versions)
            if wanted and fnmatchcase(plane.name, surface):
                result["planes"][plane.name] = play_plane(plane, env, cases, postgres)
                _tell(env, plane.name, result["planes"][plane.name])
        if env.framework == "langgraph" and with_conform:
            result["conform"] = {name: conform(env, name, postgres) for name in factories(env.version)}
    return result


def _tell(env: Environment, plane: str, found: dict[str, Any]) -> None:
    counts: dict[str, int] = {}
    for case, (stable, _) in found.items():
        verdict, _ = judge(plane, case, stable)
        counts[verdict] = counts.get(verdict, 0) + 1
    said = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))
    print(f"{env.name:32}{plane:28}{said}", flush=True)


def write(directory: Path, name: str, data: Any) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(data, indent=1, default=str) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed results, and write none")
    parser.add_argument("--env", default="", help="only environments whose name begins so")
    parser.add_argument("--plane", default="*", help="only planes like this")
    parser.add_argument("--case", default="*", help="only cases like this")
    parser.add_argument("--keep", action="store_true", help="write the stable results although only a part was played")
    args = parser.parse_args()
    cases = [case for case in CASES.values() if fnmatchcase(case.id, args.case)]
    is_part = bool(args.env) or args.plane != "*" or args.case != "*"
    differing, errors, started = [], [], time.monotonic()
    for env in environments(args.env):
        began = time.monotonic()
        with env.alone():
            env.build()
            result = play_environment(env, cases, args.plane, args.case == "*")
        stable = {name: {c: pair[0] for c, pair in found.items()} for name, found in result["planes"].items()}
        raw = {name: {c: pair[1] for c, pair in found.items()} for name, found in result["planes"].items()}
        write(
            RESULTS / "raw",
            env.name,
            {"planes": raw, **({"conform": result["conform"]} if "conform" in result else {})},
        )
        told: dict[str, Any] = {"framework": env.framework, "version": env.version, "planes": stable}
        if "conform" in result:
            told["conform"] = result["conform"]
        errors += [f"{env.name} {name} {c}" for name, found in stable.items() for c, s in found.items() if "error" in s]
        committed = RESULTS / "stable" / f"{env.name}.json"
        if args.check:
            was = json.loads(committed.read_text(encoding="utf-8")) if committed.exists() else {}
            differing += differences(env.name, was, json.loads(json.dumps(told, default=str)))
        elif not is_part or args.keep:
            write(RESULTS / "stable", env.name, told)
        print(f"{env.name:32}{env.size_mb()} MB, {time.monotonic() - began:.0f} s", flush=True)
    if not args.check and (not is_part or args.keep):
        write_matrix(RESULTS)
    print(f"{time.monotonic() - started:.0f} s in all")
    for line in [*(f"could not be played: {e}" for e in errors), *(f"differs: {d}" for d in differing)]:
        print(line, file=sys.stderr)
    return int(bool(errors or differing))


def differences(where: str, was: Any, now: Any) -> list[str]:
    """Where two results differ, as paths."""
    if isinstance(was, dict) and isinstance(now, dict):
        keys = list(dict.fromkeys([*was, *now]))
        return [line for key in keys for line in differences(f"{where} / {key}", was.get(key), now.get(key))]
    return [] if was == now else [f"{where}: was {json.dumps(was)}, is {json.dumps(now)}"]


if __name__ == "__main__":
    raise SystemExit(main())
