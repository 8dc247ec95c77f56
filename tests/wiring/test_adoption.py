"""The adoption file: what `fleet recover` found is imported, by URN; an ordinary run is left as it is."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from accelerator_fleet_components import adoption

KNOWN: dict[str, dict[str, Any]] = {
    "urn:pulumi:dev::p::a:index:Fleet$a:index:Pool$aws:eks/nodeGroup:NodeGroup::pretrain": {
        "id": "c:pretrain-1", "props": {"node_group_name": "pretrain-1"},
    },
    "urn:pulumi:dev::p::a:index:Fleet$kubernetes:core/v1:Namespace::jobs": {"id": "jobs"},
}  # fmt: skip


class Resource:
    """Stands for a resource while it is constructed."""


def transform(change: Any, kind: str, name: str, parent: object, **props: object) -> tuple[Resource, Any]:
    made = Resource()
    opts = pulumi.ResourceOptions()
    opts.parent = parent  # type: ignore[assignment]
    return made, change(pulumi.ResourceTransformationArgs(made, kind, name, props, opts))  # type: ignore[arg-type]


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(pulumi, "get_stack", lambda: "dev")
    monkeypatch.setattr(pulumi, "get_project", lambda: "p")
    return adoption.adopting(KNOWN)


def test_resources_are_known_by_their_parents_too(change: Any) -> None:
    fleet, none = transform(change, "a:index:Fleet", "accel", None)
    assert none is None
    pool, _ = transform(change, "a:index:Pool", "pretrain", fleet)
    _, group = transform(change, "aws:eks/nodeGroup:NodeGroup", "pretrain", pool, labels={"a": "b"})
    assert group.opts.import_ == "c:pretrain-1"
    assert group.opts.ignore_changes is None
    assert group.props == {"labels": {"a": "b"}, "node_group_name": "pretrain-1"}
    assert transform(change, "aws:eks/nodeGroup:NodeGroup", "pretrain", fleet)[1] is None


def test_an_object_in_a_cluster_is_read_only(change: Any) -> None:
    """The API server would refuse the dry run of an update by another manager."""
    fleet, _ = transform(change, "a:index:Fleet", "accel", None)
    _, namespace = transform(change, "kubernetes:core/v1:Namespace", "jobs", fleet)
    assert (namespace.opts.import_, namespace.opts.ignore_changes) == ("jobs", ["*"])


def test_without_the_variable_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(adoption.VARIABLE, raising=False)
    monkeypatch.setattr(adoption, "register_stack_transformation", pytest.fail)
    adoption.register()
