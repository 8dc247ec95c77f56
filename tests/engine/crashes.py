"""Killing the engine, a provider or the program in the middle of a run, and counting what is in the cloud then."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engine.project import Project

# Victim -> what stands in its command line. The engine is the process that was started; `provider` is the one of the
# resource at which it happens.
VICTIMS = {
    "aws": "accelerator_fleet_sim.aws.plugin",
    "kubernetes": "pulumi-resource-kubernetes",
    "native": "accelerator_fleet_native.plugin",
    "program": "pulumi-language-python-exec",
}
CLOUDS = {"aws", "gcp", "kubernetes"}


@dataclass(frozen=True)
class Point:
    """When to kill whom: at the n-th resource that a run begins to make or delete, or at the first of a name."""

    verb: str  # up or destroy
    victim: str
    event: int | str


IN_WORK = 1.5  # seconds after which Helm has begun to install a chart and not ended


@dataclass
class Outcome:
    """What a crash left, and what became of it."""

    point: Point
    happened: bool
    at: str = ""  # the resource whose step was the n-th
    pending: int = 0
    orphans: int = 0
    adopted: int = 0
    said: list[str] = field(default_factory=list)


def _children(pid: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                    yield int(entry.name)
                    yield from _children(int(entry.name))


def victims(engine: int, name: str) -> list[int]:
    """Processes of a run, below its engine."""
    if name == "engine":
        return [engine]
    found = []
    for pid in _children(engine):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            if VICTIMS[name] in words:
                found.append(pid)
    return found


class Fleet:
    """One environment of a project, to be killed and recovered."""

    def __init__(self, project: Project, env: str = "single") -> None:
        self.project, self.env = project, env
        self.kept = ""  # the URN of what no `destroy` may touch

    # -- running ----------------------------------------------------------------------------------------------------
    def crash(self, point: Point) -> Outcome:
        """Runs `pulumi up` or `destroy` and kills the victim at the point; waits until every process is gone."""
        log = self.project.folder / f"{point.verb}-{time.monotonic_ns()}.events"
        command = ["pulumi", point.verb, "--yes", "--skip-preview", "--stack", self.env, "--non-interactive",
                   "--event-log", str(log), *self._excluded(point.verb)]  # fmt: skip
        shell = {**self.project.shell(self.env), "PULUMI_DEBUG_COMMANDS": "true"}
        said = self.project.folder / "crash.log"
        with said.open("w") as output:
            engine = subprocess.Popen(
                command, cwd=self.project.folder, env=shell, start_new_session=True, stdout=output, stderr=output
            )
        step = _wait_for(log, point.event, engine)
        happened = step is not None
        time.sleep(IN_WORK if step and step["type"].endswith(":Release") else 0)
        victim = step["type"].split(":")[0] if step and point.victim == "provider" else point.victim
        killed = list(victims(engine.pid, victim)) if happened else []
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        at = f"{step['type'].rpartition(':')[2]} {step['urn'].rpartition('::')[2]}" if step else ""
        engine.wait(timeout=400)
        log.unlink(missing_ok=True)
        return Outcome(point, bool(killed), at, said=[] if happened else said.read_text().splitlines()[-40:])

    def pulumi(self, *words: str, ok: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.project.pulumi(*words, env=self.env, ok=ok, **more)

    def cancel(self) -> None:
        """Releases the lock of a dead engine; does nothing where there is none."""
        self.pulumi("cancel", "--yes", ok=False)

    def recover(self, *words: str, ok: bool = True) -> str:
        """`fleet recover`; what it printed."""
        return self.project.run_in(self.env, "fleet", "recover", "--env", self.env, *words, ok=ok).stdout

    def forget(self) -> None:
        """Loses the state file."""
        state = self.project.folder / ".fleet" / "state" / ".pulumi" / "stacks" / "accelerator-fleet"
        (state / f"{self.env}.json").unlink()

    def up(self) -> Counter[str]:
        """`pulumi up`; how many resources of each operation."""
        return self._counted("up")

    def destroy(self) -> Counter[str]:
        return self._counted("destroy")

    def _excluded(self, verb: str) -> list[str]:
        there = verb == "destroy" and any(r["urn"] == self.kept for r in self.state().get("resources") or [])
        return [f"--exclude={self.kept}"] if there else []

    def _counted(self, verb: str) -> Counter[str]:
        log = self.project.folder / f"{verb}.events"
        words = [verb, "--yes", "--skip-preview", "--event-log", str(log), *self._excluded(verb)]
        self.pulumi(*words, PULUMI_DEBUG_COMMANDS="true")
        # The engine's own providers and components are no calls to anybody.
        steps = [e["resOutputsEvent"]["metadata"] for e in _events(log) if "resOutputsEvent" in e]
        found = Counter(s["op"] for s in steps if s["type"].split(":")[0] in CLOUDS)
        log.unlink()
        return found

    # -- looking ----------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        deployment: dict[str, Any] = json.loads(self.pulumi("stack", "export").stdout)["deployment"]
        return deployment

    def in_state(self) -> Counter[tuple[str, str]]:
        """(type, id) of everything in a cloud that the state knows."""
        resources = self.state().get("resources") or []
        return Counter((r["type"], r["id"]) for r in resources if r["type"].split(":")[0] in {"aws", "gcp"})

    def in_cloud(self) -> Counter[tuple[str, str]]:
        """(type, id) of everything that a program made, straight from the simulator's database."""
        found = self.sql("SELECT type, id FROM resources WHERE owner = 'program' AND state != 'deleting'")
        return Counter((str(kind), str(identity)) for kind, identity in found)

    def orphans(self) -> Counter[tuple[str, str]]:
        """What is in the cloud and not in the state."""
        self.settle()
        return self.in_cloud() - self.in_state()

    def calls(self) -> int:
        """Creates, updates and deletes that any cloud was ever asked for."""
        return int(self.sql("SELECT count(*) FROM operations")[0][0])

    def writes(self) -> int:
        """What anybody but the cluster's own parts changed in any cluster, by the API servers' audit logs."""
        time.sleep(1.5)  # they write in batches
        count = 0
        for log in (self.project.folder / ".fleet" / "sim" / "clusters").glob("*/audit*.log"):
            for line in log.read_text().splitlines():
                event = json.loads(line)
                who = event["user"]["username"]
                own = who.startswith(("system:", "embedded-")) or "dryRun=All" in event["requestURI"]
                count += not own
        return count

    def settle(self) -> None:
        """Waits until the cloud has nothing in work."""
        _wait(lambda: not self.sql("SELECT id FROM operations WHERE status = 'running'"), 300)

    def sql(self, query: str) -> list[Any]:
        path = self.project.folder / ".fleet" / "sim" / "cloud.db"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as database:
            return database.execute(query).fetchall()


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to rest"
        time.sleep(0.2)


def _events(log: Path) -> list[dict[str, Any]]:
    found = []
    for line in log.read_text().splitlines() if log.exists() else []:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def _wait_for(log: Path, which: int | str, engine: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """The step of the n-th resource in a cloud or cluster that began; None when the run ended before."""
    while engine.poll() is None:
        begun = [
            e["resourcePreEvent"]["metadata"]
            for e in _events(log)
            if (e.get("resourcePreEvent") or {}).get("metadata", {}).get("op") in {"create", "delete"}
        ]
        named = [m for m in begun if m["type"].split(":")[0] in CLOUDS]
        if isinstance(which, str):
            named = [m for m in named if m["urn"].endswith(f"::{which}")]
        number = 1 if isinstance(which, str) else which
        if len(named) >= number:
            found: dict[str, Any] = named[number - 1]
            return found
        time.sleep(0.02)
    return None
