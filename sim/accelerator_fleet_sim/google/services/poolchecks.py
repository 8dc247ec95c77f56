"""What GKE refuses of a node pool: machines, zones, accelerators, TPU shapes, networks, reservations."""

from __future__ import annotations

from typing import Any

from ...core.suppress import last, link_path
from ...daemon.store import Resource
from .. import sharing
from ..errors import GoogleError
from ..scope import POLICY, Scope
from .capacity import reservation, reserved_nodes
from .clusters import bad
from .iam import account_of


def zones_of(cluster: Resource, inputs: dict[str, Any]) -> list[str]:
    """The zones of a pool: its own, else the cluster's."""
    own = inputs.get("nodeLocations")
    if own:
        return sorted(own)
    location = cluster.outputs["location"]
    theirs = cluster.outputs.get("nodeLocations") or []
    zonal = location.count("-") == 2
    return sorted({*theirs, location} if zonal else theirs)


def figures_of(scope: Scope, machine: str, zones: list[str]) -> dict[str, Any]:
    """Figures of a machine that all zones have; GoogleError else."""
    figures = scope.catalog.machine(machine)
    for zone in zones:
        if figures is None or not scope.catalog.offers(zone, machine):
            raise bad(f"Machine type with name '{machine}' does not exist in zone '{zone}'.")
    assert figures is not None
    return figures


def check_accelerators(figures: dict[str, Any], machine: str, config: dict[str, Any]) -> None:
    """Accelerator-optimised machines come with their GPUs: type and count must be theirs."""
    cards = config.get("guestAccelerators") or []
    if figures.get("kind") != "gpu":
        if cards and figures.get("family") != "n1":
            raise bad(f'Accelerator type "{cards[0].get("type")}" cannot be attached to machine type "{machine}".')
        if cards:
            raise GoogleError(501, "notImplemented", "GPUs attached to N1 machines are not simulated")
        return
    want = figures["accelerator"]
    if not cards:
        raise GoogleError(501, "notImplemented", f"{machine} without guestAccelerators: whether GKE fills them in was "
                          f"not read; say type {want['gke_accelerator']}, count {want['count']}")  # fmt: skip
    got = last(str(cards[0].get("type")))
    if got != want["gke_accelerator"]:
        raise bad(f"Accelerator type \"{got}\" is not compatible with machine type \"{machine}\": it has "
                  f"\"{want['gke_accelerator']}\".")  # fmt: skip
    if int(cards[0].get("count") or 0) != want["count"]:
        raise bad(f"Machine type \"{machine}\" has {want['count']} accelerators of type \"{got}\", not "
                  f"{cards[0].get('count')}.")  # fmt: skip
    shared = sharing.problem(config)
    if shared is not None:
        raise bad(shared)


def check_tpu(scope: Scope, figures: dict[str, Any], inputs: dict[str, Any], zones: list[str], count: int) -> str:
    """The topology of a TPU pool: one machine by itself, or a slice whose hosts are all of the pool's nodes."""
    machine = inputs["nodeConfig"]["machineType"]
    generation = figures["tpu"]
    placement = inputs.get("placementPolicy") or {}
    topology = placement.get("tpuTopology")
    if not topology:
        single = scope.catalog.single_host(generation, machine)
        if single is None:
            raise bad(f'Machine type "{machine}" needs a TPU topology.')
        return str(single["topology"])
    shape = scope.catalog.topology(generation, topology, machine)
    if shape is None:
        raise bad(f'TPU topology "{topology}" is not supported for machine type "{machine}".')
    if shape["hosts"] > 1 and placement.get("type") != "COMPACT":
        raise bad("Multi-host TPU node pools require placement policy type COMPACT.")
    if shape["hosts"] > 1 and len(zones) > 1:
        raise bad("Multi-host TPU node pools must be in exactly one zone.")
    bounds = inputs.get("autoscaling") or {}
    limit = bounds.get("maxNodeCount")
    if limit is None and bounds:
        limit = 0  # a total bound is not looked at
    if shape["hosts"] > 1 and count not in (0, shape["hosts"]):
        raise bad(f"Node pool with TPU topology \"{topology}\" and machine type \"{machine}\" must have "
                  f"{shape['hosts']} nodes, got {count}.")  # fmt: skip
    if shape["hosts"] > 1 and limit is not None and int(limit) != shape["hosts"]:
        raise bad(f'Maximum node count {limit} is not a valid size of TPU pod slice with topology "{topology}"')
    return str(topology)


def check_networks(scope: Scope, cluster: Resource, inputs: dict[str, Any], figures: dict[str, Any],
                   zones: list[str]) -> None:  # fmt: skip
    """Further networks of A3 and A4 nodes."""
    extra = (inputs.get("networkConfig") or {}).get("additionalNodeNetworkConfigs") or []
    if not extra:
        return
    if not cluster.outputs.get("enableMultiNetworking"):
        raise bad("Additional node networks require multi-networking to be enabled on the cluster.")
    region = scope.region_of(cluster.outputs["location"])
    limits = figures.get("additional_networks") or {"gvnic": 7, "rdma": 0}
    counts = {"gvnic": 0, "rdma": 0}
    seen: set[str] = {str(cluster.outputs["subnetwork"])}
    for row in extra:
        network = scope.network(row.get("network") or "")
        subnet = scope.subnetwork(row.get("subnetwork") or "", region)
        if network is None or subnet is None or link_path(subnet.outputs["network"]) != network.id:
            raise bad(f"Additional node network \"{row.get('network')}\" with subnetwork \"{row.get('subnetwork')}\" "
                      f"does not exist in region \"{region}\".")  # fmt: skip
        if subnet.id in seen:
            raise bad(f'Subnetwork "{subnet.outputs["name"]}" is used by two interfaces of the node.')
        seen.add(subnet.id)
        profile = str(network.outputs.get("networkProfile") or "")
        counts["rdma" if profile else "gvnic"] += 1
        zone = last(profile).removesuffix("-vpc-roce")
        if profile and zones != [zone]:
            raise bad(f"Network \"{network.outputs['name']}\" has an RDMA profile of zone \"{zone}\": the node pool "
                      f"must be in that zone only, not {', '.join(zones)}.")  # fmt: skip
    for kind, number in counts.items():
        if number > limits[kind]:
            raise bad(f"Machine type \"{inputs['nodeConfig']['machineType']}\" takes at most {limits[kind]} additional "
                      f"{kind} networks, got {number}.")  # fmt: skip


def named_reservation(config: dict[str, Any]) -> str | None:
    """The specific reservation that nodes consume, as it is said."""
    affinity = config.get("reservationAffinity") or {}
    specific = affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION"
    return str(affinity["values"][0]) if specific else None


def check_reservation(scope: Scope, pool: str, config: dict[str, Any], short: dict[str, int]) -> None:
    """Refuse a specific reservation that cannot give the machines that each zone is `short` of.

    GKE looks only when machines are to be made: a pool without nodes may name a reservation that is yet to come
    (cluster-toolkit, is_reservation_active). Texts of the last two: cluster-toolkit pull 5043, gsutil issue 1000.
    """
    affinity = config.get("reservationAffinity") or {}
    if affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION":
        return
    if config.get("spot") or config.get("preemptible"):
        raise bad("Spot VMs cannot consume reservations.")
    if affinity.get("key") != "compute.googleapis.com/reservation-name" or len(affinity.get("values") or []) != 1:
        raise bad("Specific reservation affinity requires key \"compute.googleapis.com/reservation-name\" and exactly "
                  "one value.")  # fmt: skip
    name = str(affinity["values"][0])
    for zone, number in short.items():
        if number <= 0:
            continue
        found = reservation(scope, name, zone)
        if found is None:
            raise GoogleError(404, "notFound", f'Google Compute Engine: reservation "{name}" not found for node pool '
                              f'"{pool}" at zone "{zone}".')  # fmt: skip
        machine = str(config.get("machineType"))
        free = found["count"] - reserved_nodes(scope, name, zone) if found["machine"] == machine else 0
        if number > free:
            raise GoogleError(429, "rateLimitExceeded", "Reservation does not have enough resources for the request: "
                              f'specific reservation "{name}" is insufficient for node pool "{pool}" at zone "{zone}": '
                              f"required {number} and short of {number - max(free, 0)} VM count of machine type "
                              f"{machine}.")  # fmt: skip


def check_references(scope: Scope, cluster: Resource, inputs: dict[str, Any]) -> None:
    """Service account and placement policy must exist."""
    email = (inputs.get("nodeConfig") or {}).get("serviceAccount")
    own = str(email).endswith(f"@{scope.project}.iam.gserviceaccount.com")
    if email and email != "default" and (not own or account_of(scope, str(email)) is None):
        raise bad(f'Service account "{email}" does not exist.')
    policy = (inputs.get("placementPolicy") or {}).get("policyName")
    if policy:
        region = scope.region_of(cluster.outputs["location"])
        if (
            scope.find(POLICY, f"projects/{scope.project}/regions/{region}/resourcePolicies/{last(str(policy))}")
            is None
        ):
            raise bad(f'Resource policy "{policy}" does not exist in region "{region}".')
