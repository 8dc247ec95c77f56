"""One environment in two stacks: networks and clusters in one, a site's pools and queues in the other."""

from __future__ import annotations

import pytest

from tests.engine.project import Project

pytestmark = pytest.mark.engine


def test_a_sites_stack_comes_and_goes_beside_its_base(fresh: Project) -> None:
    config = (fresh.folder / "stacks" / "Pulumi.single.yaml").read_text()
    scopes = {
        "single-base": "{layers: [base]}",
        "single-use2": "{sites: [use2], layers: [pools, cluster], base: organization/accelerator-fleet/single-base}",
    }
    for stack, scope in scopes.items():
        path = fresh.folder / "stacks" / f"Pulumi.{stack}.yaml"
        path.write_text(config.replace("config:\n", f"config:\n  fleet:scope: {scope}\n"))
    fresh.fleet("up", "--env", "single-base")
    up = fresh.fleet("up", "--env", "single-use2")
    assert "16/16" in up.stdout
    assert fresh.preview("single-use2") == []
    # Running work does not keep the stack from going: the jobs' namespace goes before the queue that they hold.
    fresh.fleet("job", "submit", "hello", "--pool", "pretrain", "--name", "busy", "--env", "single-use2")
    assert "running" in fresh.fleet("job", "list", "--env", "single-use2").stdout
    fresh.fleet("down", "--env", "single-use2")
    assert fresh.preview("single-base") == []
    nodes = fresh.kubectl("use2", "/api/v1/nodes", env="single-base")["items"]
    assert {n["metadata"]["labels"].get("accelerator-fleet.dev/pool") for n in nodes} == {"system"}
    fresh.fleet("down", "--env", "single-base")
