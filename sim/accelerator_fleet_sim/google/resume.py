"""Brings a GKE cluster back after the datacentre was restarted."""

from __future__ import annotations

from ..daemon.store import Resource
from . import tokens
from .control import ControlPlane
from .scope import NODE_POOL, Scope, World
from .services.clusters import NETWORKS, pools_of
from .services.nodepools import NodePool


def bring_back(control: ControlPlane, world: World, cluster: Resource) -> None:
    """Start its control plane and push its pools' nodes; a broken cluster is told to the log."""
    scope = Scope(world, cluster.account)
    behaviour = control.behaviours[NODE_POOL]
    assert isinstance(behaviour, NodePool)
    minor = ".".join(cluster.outputs["masterVersion"].split(".")[:2])
    try:
        world.clusters.ensure(cluster.hidden["runtime"], version=minor, cluster_id=cluster.hidden["issuer"],
                              authenticate=tokens.authenticator(world))  # fmt: skip
        # One of an earlier version may lack them.
        for addon in ("gke-provisioning", *((NETWORKS,) if cluster.outputs.get("enableMultiNetworking") else ())):
            world.clusters.apply_cloud_addon(cluster.hidden["runtime"], addon, cluster.outputs["masterVersion"])
        for pool in pools_of(scope, cluster):
            if pool.state not in ("creating", "deleting"):
                behaviour.push(scope, pool)
    except Exception as problem:  # one broken cluster must not keep the others down
        world.log(f"cluster {cluster.id} did not come back: {problem!r}")
