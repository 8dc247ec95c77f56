"""Cloud TPU queued resources through the real engine: from the queue to nodes, every way that it ends, and a crash."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project
from tests.engine.queued import ENV, KIND, PLACE, Small, slice_of

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """A project whose datacentre has a network and no cluster."""
    project = Project(tmp_path_factory.mktemp("queued") / "project")
    try:
        yield Small(project)
    finally:
        stop(project)


@pytest.fixture(autouse=True)
def _no_faults(small: Small) -> Iterator[None]:
    """One test's faults are not another's."""
    yield
    small.fault("clear")


def test_accepted_to_active_changed_in_place_and_replaced(small: Small) -> None:
    said = small.up({"a": slice_of("a", wait="active"), "b": slice_of("b", labels={"team": "x"})})
    assert "warning" not in said
    state = small.state()
    assert state["a"]["outputs"]["state"] == "ACTIVE"
    assert state["a"]["outputs"]["nodes"] == [f"{PLACE}/nodes/a"]
    assert state["b"]["outputs"]["state"] in ("ACCEPTED", "PROVISIONING", "ACTIVE")  # it was not waited for
    small.wait("b", "ACTIVE")
    small.want({"a": slice_of("a2", wait="active", provision="spot"), "b": slice_of("b", labels={"team": "y"})})
    assert small.ops() == {"a": "replace", "b": "update"}
    small.up()
    assert small.cloud() == {"a2": "ACTIVE", "b": "ACTIVE"}
    assert small.nodes()["b"]["labels"] == {"team": "y", "fleet": "accel", "environment": "small", "site": "usc1"}
    assert small.ops() == {}


@pytest.mark.slow
def test_failed_stays_until_it_is_asked_for_again(small: Small) -> None:
    small.up({})
    small.fault("add", "failed", "--name", "f")
    said = small.up({"f": slice_of("f", wait="active"), "other": slice_of("other")}, ok=False)
    assert "queued resource f in us-central1-a is FAILED: The queued resource could not be provisioned" in said
    assert "fleet up --retry f" in said
    assert set(small.cloud()) == {"f", "other"}  # one that fails keeps no other from it
    entry = small.state()["f"]
    assert (entry["id"], entry["outputs"]["state"]) == (f"{PLACE}/queuedResources/f", "FAILED")
    assert entry["initErrors"]
    small.fault("clear")
    assert "is FAILED" in small.up(ok=False)  # by itself it is not asked for again
    assert small.cloud()["f"] == "FAILED"
    again = small.project.fleet("up", "--env", ENV, "--retry", "f", ok=False)
    assert "retry: f on request" in again.stdout
    assert small.cloud()["f"] == "ACTIVE"
    assert "initErrors" not in small.state()["f"]
    refused = small.project.fleet("up", "--env", ENV, "--retry", "f", ok=False)
    assert (refused.returncode, "--retry: the queued resource of f is ACTIVE" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_suspended_and_preempted_show_and_are_not_replaced(small: Small) -> None:
    small.up({"s": slice_of("s", wait="active"), "p": slice_of("p", wait="active", provision="spot")})
    small.fault("add", "preempted")
    small.fault("add", "suspended", "--name", "s")
    small.wait("p", "SUSPENDED")
    small.wait("s", "SUSPENDED")
    small.fault("clear")
    small.pulumi("refresh", "--yes", "--skip-preview")
    for name in ("s", "p"):
        outputs = small.state()[name]["outputs"]
        assert (outputs["state"], outputs["stateInitiator"], outputs["nodes"]) == ("SUSPENDED", "SERVICE", [])
    assert small.ops() == {}
    small.up()
    assert small.cloud() == {"s": "SUSPENDED", "p": "SUSPENDED"}
    small.up(
        {"s": slice_of("s", wait="active", labels={"a": "b"}), "p": slice_of("p", wait="active", provision="spot")}
    )
    assert small.cloud()["s"] == "SUSPENDED"  # labels of what has no nodes are no trouble


@pytest.mark.slow
def test_valid_until_passes_while_the_zone_has_nothing(small: Small) -> None:
    small.up({})
    small.fault("add", "stockout", "--zone", "us-central1-a")
    said = small.up({"v": slice_of("v", wait="active", valid_until="10m")}, ok=False)
    assert "v in us-central1-a is FAILED: The queued resource could not be provisioned before the end of its" in said
    assert "Or with a later valid_until" in said
    said = small.up({"w": slice_of("w", wait="active", patience="3s")}, ok=False)
    assert "w in us-central1-a is WAITING_FOR_RESOURCES: the wait is over. It stays in the queue" in said
    small.fault("clear")
    small.up({"w": slice_of("w", wait="active")})  # waits on, and asks for nothing again
    assert small.cloud() == {"w": "ACTIVE"}


@pytest.mark.slow
def test_an_engine_killed_between_create_and_answer_is_recovered(small: Small) -> None:
    small.up({})
    small.want({"k": slice_of("k", wait="active")})
    small.killed_while_it_asks("k")
    assert "k" not in small.state()
    said = small.up(ok=False)
    assert "ALREADY_EXISTS" in said
    assert "fleet recover --yes" in said
    shown = small.project.run_in(ENV, "fleet", "recover", "--env", ENV, ok=False).stdout
    assert f"{PLACE}/queuedResources/k" in shown
    print(small.project.run_in(ENV, "fleet", "recover", "--env", ENV, "--yes").stdout)
    assert small.state()["k"]["id"] == f"{PLACE}/queuedResources/k"
    assert small.ops() == {}
    small.up()
    assert small.cloud() == {"k": "ACTIVE"}
    small.up({})
    assert small.cloud() == {}


@pytest.mark.slow
def test_imported_by_its_name_it_is_the_same(small: Small) -> None:
    small.up({"i": slice_of("i", wait="active")})
    small.pulumi("state", "delete", small.state()["i"]["urn"], "--yes")
    assert small.ops() == {"i": "create"}
    provider = f"tpu=urn:pulumi:{ENV}::accelerator-fleet::pulumi:providers:accelerator-fleet-native::tpu"
    small.pulumi("import", KIND, "i", f"{PLACE}/queuedResources/i", "--provider", provider, "--yes", "--protect=false",
                 "--generate-code=false")  # fmt: skip
    assert small.ops() in ({}, {"i": "update"})  # `wait` is the program's alone
    small.up()
    assert small.cloud() == {"i": "ACTIVE"}
