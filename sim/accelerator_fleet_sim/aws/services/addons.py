"""EKS add-ons: names and versions that exist, health, and their objects in the cluster."""

from __future__ import annotations

import json
from typing import Any

import yaml

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError, Later, Unhealthy
from ..launch import INSTANCE
from ..scope import Scope
from .eks import active_cluster, addon_default, check_role, invalid
from .iam import role_of
from .nodegroups import NODE_GROUP

NEEDS_NODES = {"coredns", "metrics-server"}  # Deployments: DEGRADED while nothing can run them
PATIENCE = 900.0  # simulated seconds that EKS waits for replicas (estimate)


class Addon(Behaviour):
    """An add-on."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        cluster = active_cluster(scope, inputs["clusterName"])
        name = inputs["addonName"]
        known = {k: v for k, v in scope.catalog.account["addons"].items() if not k.startswith("_")}
        if name not in known:
            raise invalid(f"Addon {name} specified is not supported in {cluster.outputs['version']} kubernetes version")
        self._check_version(scope, name, inputs.get("addonVersion"), cluster)
        self._check_roles(scope, inputs)

    @staticmethod
    def _check_roles(scope: Scope, inputs: dict[str, Any]) -> None:
        """A service account's role trusts the cluster's OIDC provider, a pod identity's the service of pods."""
        arn = inputs.get("serviceAccountRoleArn")
        if arn and role_of(scope, arn) is None:
            raise invalid(f"The role {arn} does not exist")
        for association in inputs.get("podIdentityAssociations") or []:
            check_role(scope, association["roleArn"], "pods.eks.amazonaws.com", "roleArn")
        text = str(inputs.get("configurationValues") or "")
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError:
            document = text
        if document is not None and not isinstance(document, dict):
            raise invalid("ConfigurationValue provided in request is not supported: neither a JSON nor a YAML object")

    @staticmethod
    def _check_version(scope: Scope, name: str, version: str | None, cluster: Resource) -> None:
        row = scope.catalog.account["addons"][name]
        allowed = row.get("versions") or [addon_default(scope, name, cluster.outputs["version"])]
        if version and version not in allowed:
            raise invalid(f"Addon version specified is not supported: {version}; for Kubernetes "
                          f"{cluster.outputs['version']} there are {', '.join(allowed)}")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        cluster = active_cluster(scope, resource.inputs["clusterName"])
        name, now = resource.inputs["addonName"], scope.iso()
        resource.outputs |= {
            "addonVersion": resource.inputs.get("addonVersion")
            or addon_default(scope, name, cluster.outputs["version"]),
            "createdAt": now, "modifiedAt": now,
            "arn": scope.arn("eks", f"addon/{cluster.id}/{name}/{scope.uuid()}"),
        }  # fmt: skip

    def settle(self, scope: Scope, resource: Resource) -> None:
        cluster = active_cluster(scope, resource.inputs["clusterName"])
        name, version = resource.inputs["addonName"], resource.outputs["addonVersion"]
        self._conflicts(scope, resource, cluster)
        if name in NEEDS_NODES and not _can_run(scope, cluster.id):
            if scope.world.clock.now() - resource.created < PATIENCE:
                raise Later(10)
            raise Unhealthy(
                "DEGRADED", "InsufficientNumberOfReplicas",
                "unexpected state 'DEGRADED', wanted target 'ACTIVE'. last error: InsufficientNumberOfReplicas: The "
                "add-on is unhealthy because it doesn't have the desired number of replicas.",
            )  # fmt: skip
        if name in scope.world.clusters.known_addons():
            scope.world.clusters.apply_cloud_addon(cluster.hidden["runtime"], name, version)

    @staticmethod
    def _conflicts(scope: Scope, resource: Resource, cluster: Resource) -> None:
        name = resource.inputs["addonName"]
        if (
            name not in cluster.hidden.get("self_managed", [])
            or resource.inputs.get("resolveConflictsOnCreate") == "OVERWRITE"
        ):
            return
        if resource.outputs["addonVersion"] != addon_default(scope, name, cluster.outputs["version"]):
            raise Unhealthy(
                "CREATE_FAILED", "ConfigurationConflict",
                "unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: ConfigurationConflict: "
                "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode.",
            )  # fmt: skip

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        cluster = active_cluster(scope, inputs["clusterName"])
        self._check_version(scope, inputs["addonName"], inputs.get("addonVersion"), cluster)
        self._check_roles(scope, inputs)

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        resource.outputs["modifiedAt"] = scope.iso()

    def settle_update(self, scope: Scope, resource: Resource) -> None:
        cluster = active_cluster(scope, resource.inputs["clusterName"])
        name = resource.inputs["addonName"]
        if name in scope.world.clusters.known_addons():
            scope.world.clusters.apply_cloud_addon(cluster.hidden["runtime"], name, resource.outputs["addonVersion"])

    def deleted(self, scope: Scope, resource: Resource) -> None:
        name = resource.inputs["addonName"]
        try:
            cluster = active_cluster(scope, resource.inputs["clusterName"])
        except AwsError:
            return
        if not resource.outputs.get("preserve") and name in scope.world.clusters.known_addons():
            scope.world.clusters.remove_cloud_addon(cluster.hidden["runtime"], name)


def _can_run(scope: Scope, cluster: str) -> bool:
    """Whether a node without taints exists."""
    groups = {
        f"nodegroup:{scope.region}/{g.id}"
        for g in scope.all(NODE_GROUP, clusterName=cluster)
        if not g.outputs.get("taints")
    }
    return any(i.owner in groups for i in scope.all(INSTANCE))


def configuration(text: str | None) -> dict[str, Any]:
    """An add-on's values as an object; empty for none."""
    return dict(json.loads(text)) if text else {}
