"""GKE node pools: their machines, quotas and stock; TPU slices come whole or not at all."""

from __future__ import annotations

import ipaddress
from http.client import HTTPException
from typing import Any

from ...cluster.model import ClusterError
from ...core.suppress import last
from ...daemon.faultkinds import CAPACITY
from ...daemon.store import Resource
from ...daemon.unreliable import target_of
from ..behaviour import Behaviour, over
from ..errors import GoogleError, Later, Unhealthy
from ..interfaces import further
from ..nodes import node_name, node_spec
from ..queued import nodes as queued_nodes
from ..scope import CLOUD, NODE_POOL, Scope
from .capacity import parts, reservation, reserved_nodes
from .clusters import bad, pods_capacity, pools_of
from .poolchecks import (
    check_accelerators,
    check_networks,
    check_references,
    check_reservation,
    check_tpu,
    figures_of,
    named_reservation,
    zones_of,
)
from .poolmodes import check_modes
from .versions import channel_of, node_version

STUCK = "NODES_NOT_REGISTERED"
NOT_REGISTERED = "Not all of the pool's nodes registered with the cluster."
ASK_AGAIN = 60.0  # simulated seconds between two tries of an instance group that lacks machines
ROLL = ("machineType", "diskSizeGb", "diskType", "imageType", "linuxNodeConfig", "kubeletConfig", "gvnic", "fastSocket",
        "gcfsConfig", "workloadMetadataConfig", "loggingVariant", "tags", "containerdConfig")  # fmt: skip


class NodePool(Behaviour):
    """A node pool."""

    def located(self, scope: Scope, inputs: dict[str, Any]) -> dict[str, Any]:
        made = super().located(scope, inputs)
        full = str(made["cluster"]).split("/")
        if not made.get("location"):
            made["location"] = full[3] if len(full) > 5 else scope.settings.get("zone") or scope.settings.get("region")
        return made

    def exists(self, identity: str) -> GoogleError:
        return GoogleError(409, "alreadyExists", f"Already exists: {identity}.")

    # -- create -----------------------------------------------------------------------------------------------------
    def _cluster(self, scope: Scope, inputs: dict[str, Any]) -> Resource:
        found = scope.cluster(inputs["cluster"], inputs["location"])
        if found is None:
            path = f"projects/{scope.project}/locations/{inputs['location']}/clusters/{last(str(inputs['cluster']))}"
            raise GoogleError(404, "notFound", f"Not found: {path}.")
        if found.state not in ("active", "updating"):
            raise GoogleError(400, "failedPrecondition", f"Cluster {found.outputs['name']} is not running.")
        return found

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        cluster = self._cluster(scope, inputs)
        name = str(inputs.get("name") or "")
        if not 1 <= len(name) <= 40 or not name[0].isalpha() or name != name.lower():
            raise bad(f"Node pool name \"{name}\" must start with a lowercase letter and have at most 40 lowercase "
                      "letters, digits or hyphens.")  # fmt: skip
        self._check_version(scope, inputs, cluster, old)
        config = {"machineType": "e2-medium", **(inputs.get("nodeConfig") or {})}
        inputs = {**inputs, "nodeConfig": config}
        zones = zones_of(cluster, inputs)
        region = scope.region_of(cluster.outputs["location"])
        for zone in zones:
            if zone not in scope.catalog.zones(region):
                raise bad(f'Zone "{zone}" is not in region "{region}".')
        figures = figures_of(scope, config["machineType"], zones)
        check_accelerators(figures, config["machineType"], config)
        if figures.get("kind") == "tpu":
            silent = old is not None and old.hidden.get("topology")
            if silent:  # the provider sends no placement on update: what is there stays
                inputs = {**inputs, "placementPolicy": old.outputs.get("placementPolicy")} if old else inputs
            check_tpu(scope, figures, inputs, zones, self.count(inputs, old))
        check_networks(scope, cluster, inputs, figures, zones)
        check_modes(scope, cluster, inputs, figures, old is None)
        have = [n["zone"] for n in (old.hidden.get("nodes") or [] if old else [])]
        check_reservation(scope, name, config, {z: self.count(inputs, old) - have.count(z) for z in zones})
        check_references(scope, cluster, inputs)
        self._check_upgrades(cluster, inputs)
        bounds = inputs.get("autoscaling") or {}
        if bounds and int(bounds.get("minNodeCount") or 0) > int(bounds.get("maxNodeCount") or 10**6):
            raise bad("Node pool autoscaling: min_node_count must not exceed max_node_count.")
        limit = scope.catalog.account["quotas"]["node_pools_per_cluster"]
        if old is None and len(pools_of(scope, cluster)) >= limit:
            raise bad(f"Cluster has {limit} node pools, the maximum.")

    @staticmethod
    def _check_upgrades(cluster: Resource, inputs: dict[str, Any]) -> None:
        channel = (cluster.outputs.get("releaseChannel") or {}).get("channel")
        upgrade = (inputs.get("management") or {}).get("autoUpgrade", True)
        if upgrade is False and channel not in (None, "UNSPECIFIED"):
            raise bad("Auto_upgrade must be true when release_channel "
                      f"{channel} is set.")  # fmt: skip
        settings = inputs.get("upgradeSettings") or {}
        spare = (settings.get("maxSurge") or 0) + (settings.get("maxUnavailable") or 0)
        if settings and settings.get("strategy", "SURGE") == "SURGE" and not spare:
            raise bad("Node pool upgrade settings: max_surge and max_unavailable cannot both be 0.")

    @staticmethod
    def _check_version(scope: Scope, inputs: dict[str, Any], cluster: Resource, old: Resource | None) -> None:
        wanted = inputs.get("version")
        if wanted and (old is None or wanted != old.outputs.get("version")):
            node_version(scope, channel_of(cluster), str(wanted), cluster.outputs["masterVersion"])

    @staticmethod
    def count(inputs: dict[str, Any], old: Resource | None) -> int:
        """Nodes of a zone that are asked for."""
        for key in ("nodeCount", "initialNodeCount"):
            if inputs.get(key) is not None:
                return int(inputs[key])
        if old is not None:
            return int(old.outputs.get("nodeCount") or 0)
        return int((inputs.get("autoscaling") or {}).get("minNodeCount") or 0)

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        cluster = self._cluster(scope, out)
        private = (cluster.outputs.get("privateClusterConfig") or {}).get("enablePrivateNodes")
        config = out.get("nodeConfig") or {}
        tpu = (scope.catalog.machine(config.get("machineType") or "e2-medium") or {}).get("kind") == "tpu"
        zones = zones_of(cluster, out)
        count = self.count(resource.inputs, None)
        image = "COS_CONTAINERD"
        filled = {
            "nodeCount": count, "initialNodeCount": count, "nodeLocations": zones, "maxPodsPerNode": 110,
            "version": cluster.outputs["masterVersion"], "management": {"autoRepair": True, "autoUpgrade": True},
            "upgradeSettings": {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0},
            "networkConfig": {
                "podIpv4CidrBlock": cluster.outputs.get("clusterIpv4Cidr"), "createPodRange": False,
                "podRange": (cluster.outputs.get("ipAllocationPolicy") or {}).get("clusterSecondaryRangeName") or "",
                "enablePrivateNodes": bool(private),
                "subnetwork": cluster.outputs["subnetwork"],
            },
            "nodeConfig": {
                "machineType": "e2-medium", "diskSizeGb": 100, "diskType": "pd-balanced", "imageType": image,
                "serviceAccount": "default", "loggingVariant": "DEFAULT", "metadata": {
                    "disable-legacy-endpoints": "true"},
                "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
                "shieldedInstanceConfig": {"enableIntegrityMonitoring": True, "enableSecureBoot": False},
                "resourceLabels": {}, "localSsdCount": 0,
            },
        }  # fmt: skip
        for key, value in filled.items():
            out[key] = over(value, out.get(key))
        out["version"] = node_version(scope, channel_of(cluster), out["version"], cluster.outputs["masterVersion"])
        for card in out["nodeConfig"].get("guestAccelerators") or []:
            card.setdefault("gpuDriverInstallationConfig", {"gpuDriverVersion": "DEFAULT"})
        resource.hidden |= {"cluster": cluster.id, "runtime": cluster.hidden["runtime"], "nodes": [], "serial": 0,
                            "private": out["networkConfig"]["enablePrivateNodes"]}  # fmt: skip
        if tpu:
            figures = scope.catalog.machine(out["nodeConfig"]["machineType"]) or {}
            resource.hidden["topology"] = check_tpu(scope, figures, {**resource.inputs, **out}, zones, count)
        out["managedInstanceGroupUrls"] = out["instanceGroupUrls"] = [
            f"https://www.googleapis.com/compute/v1/projects/{scope.project}/zones/{z}/instanceGroupManagers/"
            f"{node_name(cluster.outputs['name'], out['name'], 0).rpartition('-')[0]}-grp" for z in zones
        ]  # fmt: skip

    def settle(self, scope: Scope, resource: Resource) -> None:
        error = self.scale(scope, resource) or self._stuck(scope, resource)
        if (error is None or error.code != STUCK) and not self._join(scope, resource):
            error = error or Unhealthy(STUCK, NOT_REGISTERED)
        if error is None:
            return
        if scope.world.clock.now() < resource.created + scope.world.fault_rules.give_up(NODE_POOL):
            raise Later(ASK_AGAIN)  # the instance groups go on asking for machines
        raise error

    @staticmethod
    def _stuck(scope: Scope, resource: Resource) -> Unhealthy | None:
        """A fault that keeps the pool's nodes from joining."""
        target = target_of(CLOUD, scope.store, NODE_POOL, resource.outputs, resource.id)
        if scope.world.faults.strike("stuck", target, key=resource.id) is None:
            return None
        return Unhealthy(STUCK, NOT_REGISTERED)

    def _join(self, scope: Scope, resource: Resource) -> bool:
        """Let the machines join; False while the cluster's API server is away."""
        try:
            self.push(scope, resource)
        except (OSError, HTTPException, ClusterError) as problem:
            scope.world.log(f"{resource.id}: nodes cannot join: {problem!r}")
            return False
        return True

    @staticmethod
    def _struck(scope: Scope, resource: Resource, zone: str) -> Unhealthy | None:
        """A fault of capacity or quota that somebody asked for; a pool that it struck stays struck."""
        target = target_of(CLOUD, scope.store, NODE_POOL, {**resource.outputs, "nodeLocations": [zone]}, resource.id)
        faults = scope.world.faults
        if faults.strike(CAPACITY, target, key=resource.id):
            return _stockout(scope, zone)
        if faults.strike("quota", target, key=resource.id):
            return Unhealthy("QUOTA_EXCEEDED", "[QUOTA_EXCEEDED]: Instance creation failed: Quota exceeded for the "
                             f"accelerators of region {scope.region_of(zone)}.")  # fmt: skip
        return None

    # -- machines ---------------------------------------------------------------------------------------------------
    def scale(self, scope: Scope, resource: Resource) -> Unhealthy | None:
        """Make the machines of each zone as many as asked for. A zone gets all that it lacks, or none."""
        with scope.store.transaction():
            out = resource.outputs
            config = out["nodeConfig"]
            nodes = [n for n in resource.hidden["nodes"] if n["zone"] in out["nodeLocations"]]
            problem: Unhealthy | None = None
            for zone in out["nodeLocations"]:
                have = [n for n in nodes if n["zone"] == zone]
                want = int(out["nodeCount"])
                for surplus in have[want:]:
                    nodes.remove(surplus)
                if len(have) < want and problem is None:
                    resource.hidden["nodes"] = nodes
                    scope.store.put(resource)
                    problem = self._launch(scope, resource, nodes, zone, want - len(have), config)
            resource.hidden["nodes"] = nodes
            scope.store.put(resource)
        return problem

    def _launch(self, scope: Scope, resource: Resource, nodes: list[dict[str, Any]], zone: str, number: int,
                config: dict[str, Any]) -> Unhealthy | None:  # fmt: skip
        machine = config["machineType"]
        said = named_reservation(config)
        owner, name, block = parts(scope, said) if said else (scope.project, None, None)
        all_nodes = [n for p in scope.all(NODE_POOL) for n in p.hidden.get("nodes") or []]
        problem = None if name else self._struck(scope, resource, zone)
        problem = problem or _short(scope, zone, machine, number, said, config, all_nodes)
        cluster = scope.find("gcp:container/cluster:Cluster", resource.hidden["cluster"])
        assert cluster is not None
        taken = sum(len(p.hidden.get("nodes") or []) for p in pools_of(scope, cluster))
        if problem is None and taken + number > pods_capacity(cluster):
            problem = Unhealthy("IP_SPACE_EXHAUSTED", "[IP_SPACE_EXHAUSTED]: Instance creation failed: IP space of the "
                                f"pod range is exhausted: room for {pods_capacity(cluster)} nodes.")  # fmt: skip
        if problem is not None:
            return problem
        subnet = scope.subnetwork(cluster.outputs["subnetwork"], "")
        network = (
            ipaddress.IPv4Network(subnet.outputs["ipCidrRange"]) if subnet else ipaddress.IPv4Network("10.128.0.0/20")
        )
        used = {n["ip"] for n in all_nodes} | {n["ip"] for n in nodes}
        free = (str(network[i]) for i in range(2, network.num_addresses - 2) if str(network[i]) not in used)
        slots = {n["slot"] for n in all_nodes if n["zone"] == zone} | {n["slot"] for n in nodes if n["zone"] == zone}
        for _ in range(number):
            address = next(free, None)
            if address is None:
                return Unhealthy("IP_SPACE_EXHAUSTED", f"[IP_SPACE_EXHAUSTED]: Instance creation failed: IP space of "
                                 f"'{cluster.outputs['subnetwork']}' is exhausted.")  # fmt: skip
            try:
                more = further(scope, resource, nodes)
            except Unhealthy as none_left:
                return none_left
            resource.hidden["serial"] += 1
            slot = next(i for i in range(10**6) if i not in slots)
            slots.add(slot)
            nodes.append({
                "name": node_name(cluster.outputs["name"], resource.outputs["name"], resource.hidden["serial"]),
                "zone": zone, "machine": machine, "ip": address, "slot": slot, "reservation": name,
                **({"owner": owner, "block": block} if name else {}),
                "spot": bool(config.get("spot")), "created": scope.world.clock.now(), "interfaces": more,
            })  # fmt: skip
        return None

    def push(self, scope: Scope, resource: Resource) -> None:
        """Make the cluster's nodes equal to the pool's machines."""
        specs = [node_spec(scope, resource, n) for n in resource.hidden["nodes"] if "away_until" not in n]
        scope.world.clusters.set_nodes(resource.hidden["runtime"], resource.outputs["name"], specs)

    # -- update and delete ------------------------------------------------------------------------------------------
    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        out = resource.outputs
        if out.get("nodeCount") is None:
            out["nodeCount"] = before["nodeCount"]
        bounds = out.get("autoscaling")
        if bounds and resource.inputs.get("nodeCount") is None:
            low, high = int(bounds.get("minNodeCount") or 0), int(bounds.get("maxNodeCount") or 10**6)
            out["nodeCount"] = min(max(int(out["nodeCount"]), low), high)
        wanted, cluster = resource.inputs.get("version"), self._cluster(scope, out)
        if wanted and wanted != before["version"]:
            out["version"] = node_version(scope, channel_of(cluster), str(wanted), cluster.outputs["masterVersion"])
        old, new = before["nodeConfig"], out["nodeConfig"]
        resource.hidden["roll"] = out["version"] != before["version"] or any(old.get(k) != new.get(k) for k in ROLL)
        if new["machineType"] != old["machineType"] and "topology" in resource.hidden:
            figures = scope.catalog.machine(new["machineType"]) or {}
            placed = {**out, "placementPolicy": out.get("placementPolicy")}
            if figures.get("kind") != "tpu":
                raise bad(f'Machine type of a TPU node pool cannot become "{new["machineType"]}".')
            check_tpu(scope, figures, placed, out["nodeLocations"], int(out["nodeCount"]))

    def seconds(self, scope: Scope, kind: str, resource: Resource, before: dict[str, Any] | None = None) -> float:
        if kind != "update" or before is None:
            return super().seconds(scope, kind, resource, before)
        out = resource.outputs
        if resource.hidden.get("roll"):
            return scope.catalog.seconds("node_pool_roll")
        if any(out.get(k) != before.get(k) for k in ("nodeCount", "nodeLocations")):
            return scope.catalog.seconds("node_pool_scale")
        if out == before:
            return 0.0
        return scope.catalog.seconds("node_pool_config")

    def settle_update(self, scope: Scope, resource: Resource) -> None:
        rolled = self._roll(scope, resource) if resource.hidden.pop("roll", False) else None
        error = rolled or self.scale(scope, resource) or self._stuck(scope, resource)
        if (error is None or error.code != STUCK) and not self._join(scope, resource):
            raise Later(ASK_AGAIN)
        if error is not None:
            raise error

    def _roll(self, scope: Scope, resource: Resource) -> Unhealthy | None:
        """Recycle the nodes: one after another, as `max_unavailable` 1 without surge says; a slice as a whole."""
        old = list(resource.hidden["nodes"])
        whole = bool((resource.outputs.get("placementPolicy") or {}).get("tpuTopology"))
        for group in [old] if whole else [[n] for n in old]:
            names = {n["name"] for n in group}
            resource.hidden["nodes"] = [n for n in resource.hidden["nodes"] if n["name"] not in names]
            self._join(scope, resource)
            problem = self.scale(scope, resource)
            if problem is not None:
                return problem
            self._join(scope, resource)
        return None

    def deleted(self, scope: Scope, resource: Resource) -> None:
        if scope.find("gcp:container/cluster:Cluster", resource.hidden["cluster"]) is not None:
            scope.world.clusters.set_nodes(resource.hidden["runtime"], resource.outputs["name"], [])


def _short(scope: Scope, zone: str, machine: str, number: int, name: str | None, config: dict[str, Any],
           nodes: list[dict[str, Any]]) -> Unhealthy | None:  # fmt: skip
    """Why a zone cannot give machines: quota of the project, the reservation's size, or stock."""
    figures = scope.catalog.machine(machine) or {}
    table = scope.catalog.account
    here = [n for n in nodes if n["zone"].rpartition("-")[0] == zone.rpartition("-")[0]]
    metric, each = "CPUS", int(figures["vcpu"])
    kind = figures.get("gke_accelerator") or (figures.get("accelerator") or {}).get("gke_accelerator")
    if kind:
        metric = table["accelerator_quota"][kind]
        each = int(figures.get("chips_per_vm") or figures["accelerator"]["count"])
    same = sum(1 for n in here if n["machine"] == machine and not n.get("reservation"))
    general = sum(int((scope.catalog.machine(n["machine"]) or {})["vcpu"]) for n in here
                  if n["machine"] not in scope.catalog.machines)  # fmt: skip
    have, limit = (same * each if kind else general), int(table["quotas"][metric])
    # A reservation took its quota when it was made; the machines that fill it take none.
    if name is None and have + number * each > limit:
        short = have + number * each - limit
        return Unhealthy("QUOTA_EXCEEDED", f"Insufficient regional quota to satisfy request: resource \"{metric}\": "
                         f"request requires '{number * each}.0' and is short '{short}.0'. project has a quota of "
                         f"'{limit}.0' with '{limit - have}.0' available.")  # fmt: skip
    if name is not None:
        size = int((reservation(scope, name, zone) or {"count": 0})["count"])
        if reserved_nodes(scope, name, zone) + number > size:
            return Unhealthy("CONDITION_NOT_MET", "[CONDITION_NOT_MET]: Instance creation failed: Specified "
                             f"reservation '{name}' does not have available resources for the request.")  # fmt: skip
        return None
    stock = scope.catalog.stock(zone, machine)
    taken = sum(1 for n in nodes if n["zone"] == zone and n["machine"] == machine and not n.get("reservation"))
    if stock is not None and taken + queued_nodes.taken(scope, zone, machine) + number > stock:
        return _stockout(scope, zone)
    return None


def _stockout(scope: Scope, zone: str) -> Unhealthy:
    return Unhealthy("GCE_STOCKOUT", f"[GCE_STOCKOUT]: Instance creation failed: The zone "
                     f"'projects/{scope.project}/zones/{zone}' does not have enough resources available to fulfill "
                     "the request.  '(resource type:compute)'.")  # fmt: skip


def default_pool(scope: Scope, cluster: Resource) -> None:
    """The pool that GKE makes with a cluster; the provider removes it when it is told to."""
    from ...core.rules import Rules
    from ..control import DATA

    rules = Rules.load(DATA / "rules.json").get(NODE_POOL)
    assert rules is not None
    behaviour = NodePool(NODE_POOL, {"noun": "NodePool", "tf": ""}, rules)
    inputs = {"cluster": cluster.outputs["name"], "location": cluster.outputs["location"], "name": "default-pool",
              "nodeCount": int(cluster.inputs.get("initialNodeCount") or 1),
              "nodeConfig": cluster.inputs.get("nodeConfig") or {}}  # fmt: skip
    cluster.state = "active"
    scope.store.put(cluster)
    pool = behaviour.create(scope, inputs)
    pool.owner = f"cluster:{cluster.outputs['name']}"
    scope.store.put(pool)
    behaviour.settle(scope, pool)


__all__ = ["CLOUD", "NodePool", "default_pool"]
