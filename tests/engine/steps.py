"""What a preview says it would do, in its order, and jobs that show that what came up can be used."""

from __future__ import annotations

import json
from typing import Any

from tests.engine.project import Project

MADE = frozenset({"create", "create-replacement"})
GONE = frozenset({"delete", "delete-replaced"})
Step = tuple[str, str]  # (operation, "type::name")


def replacement_steps(project: Project, env: str) -> list[Step]:
    """What the preview would do, in its order, each half of a replacement by itself."""
    done = project.pulumi("preview", "--json", "--show-replacement-steps", env=env)
    steps = [
        (s["op"], "::".join(s["urn"].rsplit("$", 1)[-1].split("::")[-2:])) for s in json.loads(done.stdout)["steps"]
    ]
    return [s for s in steps if s[0] not in {"same", "read", "replace"}]


def new_before_old(steps: list[Step]) -> bool:
    """Whether everything new stands before the first thing that goes."""
    made = [i for i, (op, _) in enumerate(steps) if op in MADE]
    gone = [i for i, (op, _) in enumerate(steps) if op in GONE]
    assert made, steps
    assert gone, steps
    return max(made) < min(gone)


def naming(steps: list[Step], *words: str) -> list[Step]:
    """Steps whose type or name has one of the words."""
    return [s for s in steps if any(word in s[1] for word in words)]


def runs(project: Project, env: str, pool: str, job: str) -> str:
    """Submits a job of all cards of a pool, and sees it run; what submitting said."""
    said = project.fleet("job", "submit", "hello", "--pool", pool, "--name", job, "--env", env).stdout
    lines = project.fleet("job", "list", "--env", env).stdout.splitlines()
    (line,) = [x for x in lines if x.startswith(f"{job} ")]
    assert "running" in line.split(), [said, *lines]
    return said


def claim(project: Project, env: str, name: str = "shared") -> dict[str, Any]:
    """What makes a claim of site use2 the claim that it was."""
    found = project.kubectl("use2", f"/api/v1/namespaces/jobs/persistentvolumeclaims/{name}", env)
    return {"uid": found["metadata"]["uid"], "volume": found["spec"]["volumeName"], **found["status"]}
