"""GKE clusters: what the API refuses, what it fills in, and a real control plane behind each."""

from __future__ import annotations

import base64
import ipaddress
import secrets
from typing import Any

from ...core.suppress import last, link_path
from ...daemon.store import Resource
from .. import tokens
from ..behaviour import Behaviour, over
from ..errors import GoogleError, Unhealthy
from ..scope import CLUSTER, NODE_POOL, Scope, range_named
from .versions import default, numbers, resolve, served

ADDONS = ("gke-system", "gke-devices", "gke-provisioning")
NETWORKS = "gke-networks"  # of clusters with multi-networking
KEYS = ("nodePools", "masterAuth", "masterAuthorizedNetworksConfig")


def bad(message: str) -> GoogleError:
    """GKE's usual refusal."""
    return GoogleError(400, "badRequest", message)


def runtime_name(scope: Scope, name: str, identity: str) -> str:
    """The cluster's name among all control planes of the datacentre; one of AWS may have the same."""
    taken = {r.hidden.get("runtime") for r in scope.store.resources() if r.hidden.get("runtime")}
    return name if name not in taken else f"{name}.{identity.split('/')[1]}.{identity.split('/')[3]}"


def version_of(scope: Scope, inputs: dict[str, Any]) -> str:
    """The full version that the API chooses for a wish; GoogleError when there is none."""
    channel = (inputs.get("releaseChannel") or {}).get("channel") or "REGULAR"
    wish = str(inputs.get("minMasterVersion") or "")
    if wish == "latest":
        return max((v for row in served(scope, channel).values() for v in row), key=numbers)
    if wish in ("", "-"):
        return default(scope, channel)
    full = resolve(scope, channel, wish)
    if full is None:
        raise bad(f'Master version "{wish}" is unsupported.')
    return full


class Cluster(Behaviour):
    """A cluster."""

    def exists(self, identity: str) -> GoogleError:
        return GoogleError(409, "alreadyExists", f"Already exists: {identity}.")

    def located(self, scope: Scope, inputs: dict[str, Any]) -> dict[str, Any]:
        made = super().located(scope, inputs)
        if not made.get("location"):
            made["location"] = scope.settings.get("zone") or scope.settings.get("region")
        if not made.get("location"):
            raise GoogleError(400, "", "Cannot determine location: set location in this resource, or set "
                              "provider-level 'region' or 'zone'.")  # fmt: skip
        return made

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        location = inputs["location"]
        if not scope.catalog.is_zone(location) and not scope.catalog.zones(location):
            raise bad(f'Location "{location}" does not exist.')
        region = scope.region_of(location)
        for zone in inputs.get("nodeLocations") or []:
            if zone not in scope.catalog.zones(region):
                raise bad(f'Zone "{zone}" is not in region "{region}".')
            if zone == location:
                raise bad(f'nodeLocations must not contain the cluster\'s own zone "{zone}".')
        for what, words in (("Autopilot clusters", inputs.get("enableAutopilot")),
                            ("node pools inside the cluster resource", inputs.get("nodePools"))):  # fmt: skip
            if words:
                raise GoogleError(501, "notImplemented", f"{what} are not simulated")
        version_of(scope, inputs)
        if old is None:
            if not inputs.get("initialNodeCount"):
                raise bad("Cluster.initial_node_count must be greater than zero.")
            self._check_network(scope, inputs, region)
        else:
            self._check_version(scope, inputs, old)

    def _check_network(self, scope: Scope, inputs: dict[str, Any], region: str) -> None:
        network = scope.network(inputs.get("network") or "default")
        if network is None:
            raise bad(f'Network "{last(str(inputs.get("network") or "default"))}" does not exist.')
        if network.outputs.get("networkProfile"):
            raise bad(f'Network "{network.outputs["name"]}" has a network profile: it cannot be a cluster\'s network.')
        if not inputs.get("subnetwork"):
            raise bad(f'Network "{network.outputs["name"]}" requires specifying a subnetwork.')
        subnet = scope.subnetwork(inputs["subnetwork"], region)
        if subnet is None:
            raise bad(f'Subnetwork "{inputs["subnetwork"]}" does not exist in region "{region}".')
        if link_path(subnet.outputs["network"]) != network.id or subnet.outputs["region"] != region:
            raise bad(f"Subnetwork \"{subnet.outputs['name']}\" is not in network \"{network.outputs['name']}\" and "
                      f"region \"{region}\".")  # fmt: skip
        policy = inputs.get("ipAllocationPolicy") or {}
        names = [(k, policy.get(k)) for k in ("clusterSecondaryRangeName", "servicesSecondaryRangeName")]
        for key, name in names:
            if name and range_named(subnet, name) is None:
                raise bad(f'Secondary range "{name}" ({key}) does not exist in subnetwork "{subnet.outputs["name"]}".')
        if names[0][1] and names[0][1] == names[1][1]:
            raise bad("Pods and services must use different secondary ranges.")
        if inputs.get("enableMultiNetworking") and inputs.get("datapathProvider") != "ADVANCED_DATAPATH":
            raise bad("Multi-networking requires Dataplane V2 (datapathProvider ADVANCED_DATAPATH).")
        services = range_named(subnet, policy.get("servicesSecondaryRangeName") or "")
        for other in scope.all(CLUSTER):
            same = (other.outputs.get("ipAllocationPolicy") or {}).get("servicesSecondaryRangeName")
            here = link_path(str(other.outputs.get("subnetwork"))) == subnet.id
            if services and here and same == policy.get("servicesSecondaryRangeName"):
                raise bad(f'Services secondary range "{same}" is in use by cluster "{other.outputs["name"]}".')

    @staticmethod
    def _check_version(scope: Scope, inputs: dict[str, Any], old: Resource) -> None:
        if not inputs.get("minMasterVersion"):
            return
        new, now = version_of(scope, inputs), old.outputs["masterVersion"]
        if int(new.split(".")[1]) > int(now.split(".")[1]) + 1:
            raise bad(f"Master cannot be upgraded to \"{new}\": cannot upgrade the master by more than one minor "
                      f"version from \"{now}\".")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        out, region = resource.outputs, scope.region_of(resource.outputs["location"])
        network = scope.network(out.get("network") or "default")
        subnet = scope.subnetwork(out["subnetwork"], region)
        assert network is not None
        assert subnet is not None
        version = version_of(scope, resource.inputs)
        zones = scope.catalog.zones(region)
        zonal = scope.catalog.is_zone(out["location"])
        policy = out.get("ipAllocationPolicy") or {}
        pods = range_named(subnet, policy.get("clusterSecondaryRangeName") or "") or "10.92.0.0/14"
        services = range_named(subnet, policy.get("servicesSecondaryRangeName") or "") or "34.118.224.0/20"
        private = (out.get("privateClusterConfig") or {}).get("enablePrivateNodes")
        filled = {
            "network": network.id, "subnetwork": subnet.id, "masterVersion": version, "nodeVersion": version,
            "nodeLocations": [] if zonal else [z for z in zones if len(z.rpartition("-")[2]) == 1][:3],
            "datapathProvider": "LEGACY_DATAPATH", "networkingMode": "VPC_NATIVE", "defaultMaxPodsPerNode": 110,
            "clusterIpv4Cidr": pods, "servicesIpv4Cidr": services,
            "ipAllocationPolicy": {
                "clusterIpv4CidrBlock": pods, "servicesIpv4CidrBlock": services, "stackType": "IPV4",
                "podCidrOverprovisionConfig": {"disabled": False},
            },
            "loggingService": "logging.googleapis.com/kubernetes",
            "monitoringService": "monitoring.googleapis.com/kubernetes",
            "releaseChannel": {"channel": "REGULAR"}, "databaseEncryption": {"state": "DECRYPTED"},
            "privateClusterConfig": {"enablePrivateEndpoint": False, "enablePrivateNodes": bool(private)},
            "enableIntranodeVisibility": False, "enableL4IlbSubsetting": False, "enableTpu": False,
            "labelFingerprint": secrets.token_hex(4),
        }  # fmt: skip
        fixed = ("network", "subnetwork")
        for key, value in filled.items():
            if key in self.rules.outputs:
                out[key] = value if key in fixed else over(value, out.get(key) or None if key == "nodeLocations"
                                                           else out.get(key))  # fmt: skip
        resource.hidden |= {"runtime": runtime_name(scope, out["name"], resource.id), "issuer": secrets.token_hex(16)}

    def seconds(self, scope: Scope, kind: str, resource: Resource, before: dict[str, Any] | None = None) -> float:
        if kind == "update" and before is not None:
            if before["masterVersion"] != resource.outputs["masterVersion"]:
                return scope.catalog.seconds("cluster_version")
            watched = [k for k in self.rules.inputs if k not in ("deletionProtection", "deletionPolicy")]
            if all(before.get(k) == resource.outputs.get(k) for k in watched):
                return 0.0  # the provider's own switches: no call
        return super().seconds(scope, kind, resource, before)

    def settle(self, scope: Scope, resource: Resource) -> None:
        world, hidden = scope.world, resource.hidden
        minor = ".".join(resource.outputs["masterVersion"].split(".")[:2])
        try:
            endpoint = world.clusters.ensure(hidden["runtime"], version=minor, cluster_id=hidden["issuer"],
                                             authenticate=tokens.authenticator(world))  # fmt: skip
            known = set(world.clusters.known_addons())
            networks = (NETWORKS,) if resource.outputs.get("enableMultiNetworking") else ()
            for addon in (*ADDONS, *networks):
                if addon in known:
                    world.clusters.apply_cloud_addon(hidden["runtime"], addon, resource.outputs["masterVersion"])
        except Exception as problem:
            world.log(f"cluster {resource.id}: {problem!r}")
            raise Unhealthy("INTERNAL", f"the control plane did not start: {problem}") from problem
        pem = endpoint.ca_pem if isinstance(endpoint.ca_pem, str) else endpoint.ca_pem.decode()
        host = endpoint.endpoint.removeprefix("https://")
        resource.outputs |= {
            "endpoint": host,
            "masterAuth": {
                "clusterCaCertificate": base64.b64encode(pem.encode()).decode(), "clientCertificate": "",
                "clientKey": "", "clientCertificateConfig": {"issueClientCertificate": False},
            },
        }  # fmt: skip
        private = resource.outputs.get("privateClusterConfig")
        if isinstance(private, dict):
            private |= {"publicEndpoint": host, "privateEndpoint": "172.16.0.2", "peeringName": ""}
        from .nodepools import default_pool

        if not resource.inputs.get("removeDefaultNodePool"):
            default_pool(scope, resource)

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        out = resource.outputs
        for key in ("network", "subnetwork", "clusterIpv4Cidr", "servicesIpv4Cidr", "masterAuth", "endpoint"):
            if before.get(key) is not None:
                out[key] = before[key]
        # The provider asks for a version when the property changes, and only upwards.
        if resource.inputs.get("minMasterVersion") and out.get("minMasterVersion") != before.get("minMasterVersion"):
            wanted = version_of(scope, resource.inputs)
            if numbers(wanted) > numbers(before["masterVersion"]):
                out["masterVersion"] = wanted

    def validate_delete(self, scope: Scope, resource: Resource, state: dict[str, Any]) -> None:
        if state.get("deletionProtection", resource.outputs.get("deletionProtection")) is True:
            raise GoogleError(400, "", "Cannot destroy cluster because deletion_protection is set to true. Set it to "
                              "false to proceed with cluster deletion.")  # fmt: skip

    def deleted(self, scope: Scope, resource: Resource) -> None:
        scope.world.clusters.delete(resource.hidden["runtime"])
        with scope.store.transaction():
            for pool in pools_of(scope, resource):
                scope.store.remove(pool)


def pools_of(scope: Scope, cluster: Resource) -> list[Resource]:
    """The node pools of a cluster."""
    return [p for p in scope.all(NODE_POOL) if p.hidden.get("cluster") == cluster.id]


def pods_capacity(cluster: Resource) -> int:
    """Nodes for which the pod range has room: a /24 each with 110 pods."""
    text = (cluster.outputs.get("ipAllocationPolicy") or {}).get("clusterIpv4CidrBlock")
    pods = int(cluster.outputs.get("defaultMaxPodsPerNode") or 110)
    each = 32 - max(5, (2 * pods - 1).bit_length())
    prefix = ipaddress.IPv4Network(text).prefixlen if text else 14
    return int(2 ** max(0, each - prefix))
