"""What the embedded account had before any program: written once, when the datacentre's file is new."""

from __future__ import annotations

import json
import time
from typing import Any

from ..core.rules import Rules
from ..daemon.store import Resource
from .behaviour import Behaviour
from .control import DATA, ControlPlane
from .scope import CLOUD, Scope, World
from .services.eks import CLUSTER
from .services.iam import ATTACHMENT, ROLE
from .services.nodegroups import NODE_GROUP
from .services.vpc import SUBNET, VPC

OWNER = "account"
ACCESS = {"authenticationMode": "API_AND_CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True}


def _trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _put(control: ControlPlane, scope: Scope, token: str, identity: str, inputs: dict[str, Any]) -> Resource:
    behaviour: Behaviour = control.behaviours[token]
    region = "" if behaviour.is_global else scope.region
    resource = Resource(CLOUD, scope.account, region, token, identity, OWNER, inputs=inputs,
                        created=scope.world.clock.now())  # fmt: skip
    resource.outputs = behaviour.first_outputs(scope, identity, inputs)
    behaviour.complete(scope, resource)
    scope.store.put(resource)
    return resource


def first_content(control: ControlPlane, world: World) -> None:
    """The existing VPC with its subnets, roles and the reservation."""
    if world.store.meta("seeded"):
        return
    world.store.set_meta("born", world.clock.now())
    there = world.catalog.account["existing"]
    scope = Scope(world, world.catalog.account["account"], there["region"])
    with world.store.transaction():
        vpc = there["vpc"]
        tags = {"Name": vpc["name"]}
        made = {"cidrBlock": vpc["cidr"], "enableDnsSupport": True, "enableDnsHostnames": True,
                "instanceTenancy": "default",
                "tags": tags, "tagsAll": tags}  # fmt: skip
        _put(control, scope, VPC, vpc["id"], made)
        for subnet in there["subnets"]:
            name = f"{vpc['name']}-{'public' if subnet['public'] else 'private'}-{subnet['zone'][-1]}"
            tags = {"Name": name}
            made = {"vpcId": vpc["id"], "cidrBlock": subnet["cidr"], "availabilityZone": subnet["zone"],
                    "mapPublicIpOnLaunch": subnet["public"], "tags": tags, "tagsAll": tags}  # fmt: skip
            _put(control, scope, SUBNET, subnet["id"], made)
        _roles(control, scope, there["roles"])
        for row in there["reservations"]:
            tags = {"Name": row["name"]}
            made = {"instanceType": row["instanceType"], "availabilityZone": row["zone"], "instanceCount": row["count"],
                    "instancePlatform": "Linux/UNIX", "instanceMatchCriteria": row["match"], "endDateType": "unlimited",
                    "tenancy": "default", "tags": tags, "tagsAll": tags}  # fmt: skip
            _put(control, scope, "aws:ec2/capacityReservation:CapacityReservation", row["id"], made)
        world.store.set_meta("seeded", True)


def _roles(control: ControlPlane, scope: Scope, roles: list[dict[str, str]]) -> None:
    policies = {"eks.amazonaws.com": ["AmazonEKSClusterPolicy"],
                "ec2.amazonaws.com": ["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy",
                                      "AmazonEC2ContainerRegistryReadOnly"]}  # fmt: skip
    for role in roles:
        _put(control, scope, ROLE, role["name"], {
            "name": role["name"], "assumeRolePolicy": _trust(role["service"]), "path": "/", "tagsAll": {},
        })  # fmt: skip
        for policy in policies[role["service"]]:
            arn = f"arn:aws:iam::aws:policy/{policy}"
            _put(control, scope, ATTACHMENT, f"{role['name']}/{arn}", {"role": role["name"], "policyArn": arn})


def existing_cluster(control: ControlPlane, world: World) -> dict[str, Any]:
    """`fleet sim seed existing`: the cluster that was "there already"; waits until it runs."""
    there = world.catalog.account["existing"]
    account, region, wanted = world.catalog.account["account"], there["region"], there["cluster_on_request"]
    found = world.store.get(CLOUD, account, region, CLUSTER, wanted["name"])
    if found is None:
        inputs = {"name": wanted["name"], "version": wanted["version"], "vpcConfig": {"subnetIds": subnets_of(there)},
                  "roleArn": f"arn:aws:iam::{account}:role/{wanted['role']}", "bootstrapSelfManagedAddons": True,
                  "accessConfig": ACCESS, "tagsAll": {}}  # fmt: skip
        control.create({"type": CLUSTER, "inputs": inputs, "account": account, "region": region})
    cluster = _owned_when_active(world, CLUSTER, account, region, wanted["name"])
    group = wanted["group"]
    identity = f"{wanted['name']}:{group['name']}"
    if world.store.get(CLOUD, account, region, NODE_GROUP, identity) is None:
        inputs = {"clusterName": wanted["name"], "nodeGroupName": group["name"], "subnetIds": subnets_of(there),
                  "nodeRoleArn": f"arn:aws:iam::{account}:role/{group['role']}", "instanceTypes": [group["machine"]],
                  "scalingConfig": {"desiredSize": group["nodes"], "minSize": group["nodes"],
                                    "maxSize": group["nodes"]}, "tagsAll": {}}  # fmt: skip
        control.create({"type": NODE_GROUP, "inputs": inputs, "account": account, "region": region})
    _owned_when_active(world, NODE_GROUP, account, region, identity)
    return {"name": cluster.id, "endpoint": cluster.outputs["endpoint"], "vpc": there["vpc"]["id"],
            "where": f"in {there['vpc']['id']}"}  # fmt: skip


def subnets_of(there: dict[str, Any]) -> list[str]:
    """The private subnets that were there already."""
    return [s["id"] for s in there["subnets"] if not s["public"]]


def _owned_when_active(world: World, kind: str, account: str, region: str, identity: str) -> Resource:
    """Waits until a seeded thing runs, and makes it the account's: no program's."""
    while True:
        found = world.store.get(CLOUD, account, region, kind, identity)
        if found is None or found.state not in ("creating", "active"):
            raise RuntimeError(f"{identity} did not start")
        if found.state == "active":
            found.owner = OWNER
            world.store.put(found)
            return found
        time.sleep(0.2)


__all__ = ["DATA", "Rules", "existing_cluster", "first_content"]
