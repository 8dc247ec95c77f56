"""`make bench`: wall time and memory of plan, up, preview and a full datacentre, one line each.

`python -m bench [plan|dev|clone|full|scale|nodes|ratio] …` runs only those.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.engine.project import FLEET, ROOT, Project


def timed(what: str, run: Callable[[], object], limit: float | None = None) -> float:
    """Runs once and prints the seconds, beside the promise."""
    start = time.monotonic()
    run()
    seconds = time.monotonic() - start
    promise = "" if limit is None else f"   promised < {limit:g} s"
    print(f"{what:<58}{seconds:8.2f} s{promise}", flush=True)
    return seconds


def plan() -> None:
    """`fleet plan` of prod, Python's start included."""
    command = [str(FLEET), "plan", "--env", "prod"]
    times = []
    for _ in range(5):
        start = time.monotonic()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        times.append(time.monotonic() - start)
    print(f"{'fleet plan --env prod (median of 5)':<58}{statistics.median(times):8.2f} s   promised < 1 s", flush=True)


def dev() -> None:
    """dev from nothing to the table, a preview without a change, a scale-up, and down again."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        project = Project(Path(folder) / "project")
        try:
            timed("dev: fleet up, from nothing", lambda: project.fleet("up", "--env", "dev"))
            timed("dev: pulumi preview, nothing to do", lambda: project.pulumi("preview", env="dev"))
            memory("dev: three clusters", project)
            timed("dev: fleet down", lambda: project.fleet("down", "--env", "dev"))
        finally:
            project.fleet("sim", "reset", ok=False)


def clone() -> None:
    """`make up` in a fresh clone, warm caches."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        there = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(there)], check=True)
        bare = {k: v for k, v in os.environ.items() if k in {"HOME", "LANG", "XDG_CACHE_HOME"}}
        bare["PATH"] = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not p.startswith(str(ROOT)))

        def make(target: str) -> None:
            subprocess.run(["make", target], cwd=there, env=bare, check=True, capture_output=True)

        try:
            timed("fresh clone, warm caches: make up", lambda: make("up"), 150)
        finally:
            make("down")
            subprocess.run([".venv/bin/fleet", "sim", "reset"], cwd=there, env=bare, check=False, capture_output=True)


def full() -> None:
    """Three clusters and 200 nodes: time to come up, and memory of everything the datacentre runs."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        project = Project(Path(folder) / "project")
        (project.folder / "stacks" / "fleets" / "full.yaml").write_text(FULL)
        config = (project.folder / "stacks" / "Pulumi.single.yaml").read_text().replace("single.yaml", "full.yaml")
        (project.folder / "stacks" / "Pulumi.full.yaml").write_text(config)
        try:
            timed("full: fleet up, 3 clusters", lambda: project.fleet("up", "--env", "full", timeout=900))
            memory("full: 3 clusters, 201 nodes   promised < 4 GiB", project)
        finally:
            project.fleet("sim", "reset", ok=False)


# 3 x 64 system nodes and 9 with cards: what the embedded account's quota and stock allow.
FULL = """\
extends: base
defaults: {system: {nodes: 64}}
sites:
  - {name: one, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
  - {name: two, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.17.0.0/16}
  - {name: three, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.18.0.0/16}
pools:
  - {name: first, site: one, zone: us-east-2c, chip: h100, cards: 24, runtime: pytorch}
  - {name: second, site: two, zone: us-east-2c, chip: h100, cards: 24, runtime: pytorch}
  - {name: third, site: three, zone: us-east-2c, chip: h100, cards: 24, runtime: pytorch}
"""


def memory(what: str, project: Project) -> None:
    """Proportional memory (PSS) of all processes that the project's datacentre started."""
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(project.folder) in (entry / "cmdline").read_text(errors="replace"):
                rollup = (entry / "smaps_rollup").read_text()
                total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
    print(f"{what:<58}{total / 1024:8.0f} MiB", flush=True)


def main(names: list[str]) -> int:
    """Runs the measurements named, or all."""
    from bench import nodes, ratio, scale

    known: dict[str, Callable[[], object]] = {f.__name__: f for f in (plan, dev, clone, full)}
    known |= {"scale": scale.main, "nodes": nodes.main, "ratio": lambda: ratio.main([])}
    for name in names or list(known):
        if name not in known:
            print(f"no measurement {name!r}; there are {', '.join(known)}", file=sys.stderr)
            return 2
        known[name]()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{'largest single child process':<58}{peak / 1024:8.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
