"""One site's API is down: the other site comes up whole, and node groups of its own do too."""

from __future__ import annotations

import pytest

from tests.engine.project import Project
from tests.engine.test_stockout import kinds, pool_of, resources, rows, sim, touched

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TWO = """\
extends: base
defaults: {protect: false}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
pools:
  - {name: pretrain, site: use2, chip: h100, cards: 16, runtime: pytorch}
  - {name: slice, site: usc1, chip: tpu-v5e, topology: 4x4, runtime: jax}
"""
MORE = "  - {name: trn, site: use2, chip: trn1n, cards: 16, runtime: neuron}\n"


def test_a_cloud_that_does_not_answer_and_a_cluster_that_does_not(fresh: Project) -> None:
    fresh.add("two", TWO)
    sim(fresh, "two", "clock", "--speed", "1000")
    sim(fresh, "two", "fault", "add", "5xx", "--cloud", "gcp")
    first = fresh.fleet("up", "--env", "two", ok=False)
    print(first.stdout, first.stderr)
    assert first.returncode == 1
    assert "backendError" in first.stderr
    found = resources(fresh, "two")
    assert kinds(found, "LocalQueue") == {"pretrain"}, "the site on AWS is whole"
    assert pool_of(found, "pretrain") is not None
    assert pool_of(found, "slice") is None
    sim(fresh, "two", "fault", "clear")
    done = fresh.fleet("up", "--env", "two")
    assert not {n for n in touched(found, resources(fresh, "two")) if n.startswith(("use2", "pretrain"))}
    assert rows(fresh, "two") == {"pretrain": (2, 2, 16), "slice": (4, 4, 16)}
    print(done.stdout)

    # Now the API server of the cluster on AWS, a real one, goes away for a while; a pool is added there.
    spec = fresh.folder / "stacks" / "fleets" / "two.yaml"
    spec.write_text(TWO + MORE)
    sim(fresh, "two", "clock", "--speed", "10")
    sim(fresh, "two", "fault", "add", "apiserver-restart", "--cluster", "use2", "--seconds", "45")
    before = resources(fresh, "two")
    away = fresh.fleet("up", "--env", "two", ok=False)
    print(away.stdout, away.stderr)
    assert away.returncode == 1
    assert "configured Kubernetes cluster is unreachable" in away.stderr
    found = resources(fresh, "two")
    group = pool_of(found, "trn")
    assert group is not None
    assert not group.get("initErrors"), "the node group is a matter of AWS alone"
    assert "slice" not in touched(before, found)
    assert "trn" not in kinds(found, "LocalQueue")
    sim(fresh, "two", "clock", "--speed", "1000")
    fresh.fleet("up", "--env", "two")
    after = resources(fresh, "two")
    assert "trn" in kinds(after, "LocalQueue")
    assert not {n for n in touched(found, after) if n in ("trn", "pretrain", "slice")}, "only what was missing"
    assert rows(fresh, "two")["trn"] == (1, 1, 16)


def test_a_full_disk_of_the_control_plane(fresh: Project) -> None:
    """etcd's own alarm: the real API server refuses every write with etcd's words; what is up stays readable."""
    fresh.run_in("single", "fleet", "sim", "clock", "--speed", "1000")
    fresh.pulumi("up", "--yes", "--skip-preview", env="single")
    sim(fresh, "single", "fault", "add", "disk-full")
    spec = fresh.folder / "stacks" / "fleets" / "single.yaml"
    spec.write_text(spec.read_text() + MORE)
    full = fresh.pulumi("up", "--yes", "--skip-preview", env="single", ok=False)
    print(full.stdout[-3000:])
    assert full.returncode != 0
    assert "database space exceeded" in full.stdout + full.stderr
    assert fresh.kubectl("use2", "/api/v1/nodes")["items"], "reads work"
    sim(fresh, "single", "fault", "clear")
    for _ in range(5):  # Kueue could not renew its lease, has ended and comes back by itself
        if fresh.fleet("up", "--env", "single", ok=False).returncode == 0:
            break
    assert rows(fresh, "single")["trn"] == (1, 1, 16)
