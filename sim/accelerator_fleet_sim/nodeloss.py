"""A machine is lost: it fails, somebody ends it, or a cloud takes its spot capacity. The cloud starts another.

EKS: the group's Auto Scaling group replaces instances that ended: https://docs.aws.amazon.com/autoscaling/ec2/userguide/
ec2-auto-scaling-health-checks.html. GKE: the managed instance group makes a machine of the same name again:
https://docs.cloud.google.com/compute/docs/instance-groups/autohealing-instances-in-migs; of pools that jobs fill, the
autoscaler brings another where a job waits. Times are our own estimate.
"""

from __future__ import annotations

from typing import Any, Final

from .aws.launch import terminate
from .aws.scope import Scope as AwsScope
from .aws.services.nodegroups import NODE_GROUP, NodeGroup
from .aws.services.vpc import SUBNET
from .daemon.store import Resource
from .google.demand import by_jobs
from .google.scope import NODE_POOL
from .google.scope import Scope as GoogleScope
from .google.services.nodepools import NodePool

REPLACED_S: Final = 120.0  # simulated: from the end of a machine to its successor's node
SPENT: Final = 64  # addresses of a subnet that are not given out again
AWAY: Final = "away_until"  # of a machine that is being made again


def lose(aws: Any, google: Any, node: str) -> dict[str, Any] | None:
    """Ends the machine of that node, by its name in Kubernetes; what it was of. None: there is no such node."""
    return _lose_instance(aws, node) or _lose_machine(google, node)


def _lose_instance(control: Any, node: str) -> dict[str, Any] | None:
    behaviour = control.behaviours[NODE_GROUP]
    assert isinstance(behaviour, NodeGroup)
    for group in control.world.store.resources(type=NODE_GROUP):
        scope = AwsScope(control.world, group.account, group.region)
        for instance in behaviour.instances(scope, group):
            if node not in (instance.id, instance.outputs["privateDns"]):
                continue
            with scope.store.transaction():
                _spend(scope, instance)
                terminate(scope, instance)
            behaviour.push(scope, group)
            scope.at(scope.world.clock.now() + REPLACED_S, group)
            return {"pool": group.id, "node": instance.outputs["privateDns"], "seconds": REPLACED_S}
    return None


def _spend(scope: AwsScope, instance: Resource) -> None:
    """The successor has an address, and so a node, of its own: pods of the old node are lost, however fast it comes."""
    subnet = scope.find(SUBNET, instance.outputs["subnetId"])
    if subnet is not None:
        subnet.hidden["spent"] = [*subnet.hidden.get("spent", ()), instance.outputs["privateIp"]][-SPENT:]
        scope.store.put(subnet)


def _lose_machine(control: Any, node: str) -> dict[str, Any] | None:
    behaviour = control.behaviours[NODE_POOL]
    assert isinstance(behaviour, NodePool)
    for pool in control.world.store.resources(type=NODE_POOL):
        machine = next((n for n in pool.hidden.get("nodes") or [] if n["name"] == node), None)
        if machine is None:
            continue
        scope = GoogleScope(control.world, pool.account)
        with scope.store.transaction():
            if by_jobs(pool):
                pool.hidden["nodes"].remove(machine)
                pool.outputs["nodeCount"] = len(pool.hidden["nodes"])
            else:
                machine[AWAY] = scope.world.clock.now() + REPLACED_S
            scope.store.put(pool)
        behaviour.push(scope, pool)
        return {"pool": pool.id, "node": node, "seconds": None if by_jobs(pool) else REPLACED_S}
    return None


def bring_back(scope: GoogleScope, pool: Resource, behaviour: NodePool) -> None:
    """Machines of a GKE pool that have been made again by now join."""
    now = scope.world.clock.now()
    due = [n for n in pool.hidden.get("nodes") or [] if n.get(AWAY) is not None and n[AWAY] <= now]
    if not due:
        return
    with scope.store.transaction():
        for machine in due:
            del machine[AWAY]
        scope.store.put(pool)
    behaviour.push(scope, pool)
