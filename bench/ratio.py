"""A fleet's program against its flat program: wall time and memory of preview and up, as ratios of one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.engine.project import Project

from bench.flat import program

ROUNDS = 5
ENVS = ("dev", "prod-embedded")
LABEL = "'labels': {'accelerator-fleet.dev/chip'"


@dataclass(frozen=True)
class Cost:
    """Of one command: seconds, and the most memory that its processes had together, MiB."""

    seconds: float
    mib: float


def cost(project: Project, env: str, *words: str) -> Cost:
    """Runs a literal `pulumi` command and measures it."""
    start = time.monotonic()
    process = subprocess.Popen(
        ["pulumi", *words, "--non-interactive"],
        cwd=project.folder,
        env=project.shell(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    peak = [0.0]
    watcher = threading.Thread(target=_watch, args=(process, peak))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.monotonic() - start
    watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"pulumi {' '.join(words)} ended with {process.returncode}:\n{output[-3000:]}")
    return Cost(seconds, peak[0])


def _watch(process: subprocess.Popen[str], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], _memory(process.pid) / 2**20)
        time.sleep(0.1)


def _memory(root: int) -> int:
    """Resident bytes of a process and everything below it."""
    parents: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            pages[int(entry.name)] = int((entry / "statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue
        parents.setdefault(parent, []).append(int(entry.name))
    total, todo = 0, [root]
    while todo:
        one = todo.pop()
        total += pages.get(one, 0)
        todo += parents.get(one, [])
    return total * os.sysconf("SC_PAGE_SIZE")


def prepared(folder: Path, env: str) -> Project:
    """A project whose environment may be taken down again."""
    project = Project(folder)
    path = project.folder / "stacks" / "fleets" / f"{env}.yaml"
    text = path.read_text()
    if "protect:" not in text and env != "dev":
        path.write_text(text + "\ndefaults: {protect: false}\n")
    return project


def compare(env: str) -> None:
    """Prints the table of one environment."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        fleet, flat = prepared(Path(folder) / "fleet", env), prepared(Path(folder) / "flat", env)
        try:
            _compare(env, fleet, flat)
        finally:
            for project in (fleet, flat):
                project.fleet("sim", "reset", ok=False)


def _compare(env: str, fleet: Project, flat: Project) -> None:
    flat.fleet("up", "--env", env, timeout=900)
    export = json.loads(flat.pulumi("stack", "export", "--show-secrets", env=env).stdout)
    flat.fleet("down", "--env", env, timeout=900)
    source = program(export)
    main = flat.folder / "stacks" / "__main__.py"
    main.write_text(source)
    for project in (fleet, flat):
        project.fleet("preview", "--env", env)  # starts its datacentre, makes its stack
    rows = {"preview, nothing is up": (both(env, fleet, flat, "preview", rounds=1))}
    rows["up"] = both(env, fleet, flat, "up", "--yes", "--skip-preview", rounds=1)
    rows["preview, no change"] = both(env, fleet, flat, "preview")
    _label_a_pool(fleet.folder / "stacks" / "fleets", env)
    main.write_text(source.replace(LABEL, LABEL.replace("{", "{'team': 'a', "), 1))
    rows["preview, one change"] = both(env, fleet, flat, "preview")
    count = [
        len(json.loads(p.pulumi("stack", "export", env=env).stdout)["deployment"]["resources"]) for p in (fleet, flat)
    ]
    print(f"{env}: {count[0]} resources in the state, its flat program {count[1]}")
    print(f"{'':<26}{'fleet':>9}{'flat':>9}{'ratio':>8}{'fleet':>11}{'flat':>11}{'ratio':>8}")
    for what, (one, two) in rows.items():
        times = f"{one.seconds:7.2f} s{two.seconds:7.2f} s{one.seconds / two.seconds:8.2f}"
        print(f"{what:<26}{times}{one.mib:7.0f} MiB{two.mib:7.0f} MiB{one.mib / two.mib:8.2f}", flush=True)


def _label_a_pool(folder: Path, env: str) -> None:
    """The one change: a node label more on the H100 pool."""
    for name in (env, "prod"):  # prod-embedded has its pools from prod
        path = folder / f"{name}.yaml"
        text = path.read_text()
        for old, new in (
            ("chip: h100,", "chip: h100, labels: {team: a},"),
            ("chip: h100\n", "chip: h100\n    labels: {team: a}\n"),
        ):
            if old in text:
                path.write_text(text.replace(old, new, 1))
                return
    raise SystemExit(f"{env} has no h100 pool")


def both(env: str, fleet: Project, flat: Project, *words: str, rounds: int = ROUNDS) -> tuple[Cost, Cost]:
    """Medians of the same command in both, in turns so that a busy moment hits both."""
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    run: Callable[[Project], Cost] = lambda project: cost(project, env, *words, "--stack", env)  # noqa: E731
    for _ in range(rounds):
        costs[0].append(run(fleet))
        costs[1].append(run(flat))
    one, two = ([statistics.median(x) for x in ((c.seconds for c in cs), (c.mib for c in cs))] for cs in costs)
    return Cost(*one), Cost(*two)


def main(names: list[str]) -> int:
    """`python -m bench.ratio [ENV] …`: dev and prod-embedded unless named."""
    for env in names or list(ENVS):
        compare(env)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
