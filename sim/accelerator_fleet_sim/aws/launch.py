"""Launching instances: what RunInstances refuses, quotas, reservations, stock, addresses and the network topology."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from ..daemon.faultkinds import CAPACITY
from ..daemon.faults import Target
from ..daemon.store import Resource
from .blocktimes import usable
from .errors import AwsError
from .scope import CLOUD, Scope

INSTANCE = "aws:ec2/instance:Instance"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
EFA = ("efa", "efa-only")


@dataclass(frozen=True)
class Launch:
    """One kind of instance to launch. `market` is on-demand, spot or capacity-block."""

    machine: str
    owner: str
    market: str = "on-demand"
    reservation: str | None = None
    placement: str | None = None
    groups: tuple[str, ...] = ()
    template_version: str = ""
    template_id: str = ""
    preference: str = "open"  # of capacity reservations


def interfaces_of(template: dict[str, Any]) -> list[dict[str, Any]]:
    """The interface blocks of a template's content."""
    return list(template.get("networkInterfaces") or [])


def efa_count(template: dict[str, Any]) -> int:
    """EFA interfaces that a template asks for."""
    return sum(1 for i in interfaces_of(template) if i.get("interfaceType") in EFA)


def check_template(scope: Scope, machine: str, template: dict[str, Any]) -> None:
    """What RunInstances refuses about a template on a machine."""
    figures = scope.catalog.machines[machine]
    blocks = interfaces_of(template)
    wanted = template.get("capacityReservationSpecification") or {}
    if wanted.get("capacityReservationTarget") and wanted.get("capacityReservationPreference") in ("open", "none"):
        raise AwsError(  # botocore ec2 CapacityReservationSpecification
            "InvalidParameterCombination",
            "You can only specify CapacityReservationPreference and CapacityReservationTarget if the "
            "CapacityReservationPreference is capacity-reservations-only",
        )
    if blocks and (template.get("vpcSecurityGroupIds") or template.get("securityGroupNames")):
        raise AwsError(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level security groups may not be specified on the same request",
        )
    if len(blocks) > 1 and any(str(b.get("associatePublicIpAddress")).lower() == "true" for b in blocks):
        raise AwsError(
            "InvalidParameterCombination",
            "The associatePublicIPAddress parameter cannot be specified when launching with multiple network "
            "interfaces.",
        )
    if len(blocks) > figures["enis"]:
        raise AwsError(
            "AttachmentLimitExceeded",
            f"Interface count {len(blocks)} exceeds the limit for {machine} ({figures['enis']})",
        )
    for block in blocks:
        _check_block(machine, figures, block)
    if blocks and all((b.get("networkCardIndex") or 0, b.get("deviceIndex") or 0) != (0, 0) for b in blocks):
        raise AwsError(
            "InvalidParameterCombination", "A primary network interface (network card 0, device 0) is required"
        )
    on_card = Counter(b.get("networkCardIndex") or 0 for b in blocks if b.get("interfaceType") in EFA)
    for card, number in on_card.items():
        if number > 1:
            raise AwsError("AttachmentLimitExceeded", f"At most one EFA interface on network card {card}, not {number}")
    efa = efa_count(template)
    if efa > figures.get("efa", 0):
        raise AwsError(
            "AttachmentLimitExceeded",
            f"EFA interface count {efa} exceeds allowed limit for {machine}: {figures.get('efa', 0)}",
        )


def _check_block(machine: str, figures: dict[str, Any], block: dict[str, Any]) -> None:
    card, device = block.get("networkCardIndex") or 0, block.get("deviceIndex") or 0
    kind = block.get("interfaceType") or "interface"
    if card >= figures["cards"]:
        raise AwsError(
            "InvalidParameterValue",
            f"Network card index {card} exceeds the number of network cards of {machine} ({figures['cards']})",
        )
    per_card = figures["per_card"]
    limit, efa = per_card[card] if len(per_card) > card else per_card[0]
    if device >= limit:
        # text as reported in aws/aws-k8s-tester#531
        raise AwsError(
            "InvalidParameterValue",
            f"The specified number '{device}' for the device index exceeds the maximum number of network interfaces "
            f"supported by the network card at network card index {card}. The maximum devices for this network card is "
            f"{limit}. Specify a number from 0 to {limit - 1}, and try again.",
        )
    if kind in EFA and not figures.get("efa"):
        raise AwsError("InvalidParameterCombination", f"The instance type {machine} does not support EFA interfaces")
    if kind in EFA and not efa:
        raise AwsError(
            "InvalidParameterCombination", f"Network card {card} of {machine} does not support EFA interfaces"
        )
    if (card, device) == (0, 0) and kind == "efa-only":
        raise AwsError("InvalidParameterCombination", "The primary network interface cannot be an EFA-only interface")


def running(scope: Scope) -> list[Resource]:
    """All instances of the region."""
    return scope.all(INSTANCE)


def _bucket_use(scope: Scope, bucket: str, market: str) -> int:
    """vCPUs in use of a quota; a reservation counts whole, used or not."""
    used = 0
    for instance in running(scope):
        machine = instance.outputs["instanceType"]
        spot = instance.hidden["market"] == "spot"
        if spot == (market == "spot") and scope.catalog.quota(machine, market)[0] == bucket:
            if market == "on-demand" and (
                instance.hidden.get("reservation") or instance.hidden["market"] != "on-demand"
            ):
                continue
            used += scope.catalog.machines[machine]["vcpu"]
    if market == "on-demand":
        for reservation in scope.all(RESERVATION):
            machine = reservation.outputs["instanceType"]
            if scope.catalog.quota(machine, market)[0] == bucket:
                used += scope.catalog.machines[machine]["vcpu"] * int(reservation.outputs["instanceCount"])
    return used


def quota_room(scope: Scope, machine: str, market: str) -> tuple[int, int]:
    """(instances of the machine that the vCPU quota still allows, the quota in vCPUs)."""
    bucket, limit = scope.catalog.quota(machine, market)
    free = limit - _bucket_use(scope, bucket, market)
    return max(0, free // scope.catalog.machines[machine]["vcpu"]), limit


def stock_room(scope: Scope, machine: str, zone: str) -> int | None:
    """Machines still free in a zone outside reservations; None: never runs out."""
    stock = scope.catalog.stock(scope.region, zone, machine)
    if stock is None:
        return None
    taken = sum(
        1
        for i in running(scope)
        if i.outputs["instanceType"] == machine
        and i.outputs["availabilityZone"] == zone
        and not i.hidden.get("reservation")
    )
    bought = sum(
        int(r.outputs["instanceCount"])
        for r in scope.all(RESERVATION)
        if r.owner == "program" and (r.outputs["instanceType"], r.outputs["availabilityZone"]) == (machine, zone)
    )
    return max(0, stock - taken - bought)


def reservation_named(scope: Scope, identity: str) -> Resource:
    """A reservation or capacity block by id."""
    found = scope.find(RESERVATION, identity) or scope.find(BLOCK, identity)
    if found is None:
        raise AwsError("InvalidCapacityReservationId.NotFound", f"The capacity reservation '{identity}' does not exist")
    return found


def _reservation_room(scope: Scope, launch: Launch, zone: str) -> int:
    found = reservation_named(scope, launch.reservation or "")
    if found.outputs["instanceType"] != launch.machine or found.outputs["availabilityZone"] != zone:
        raise AwsError(
            "ReservationCapacityExceeded",
            f"The requested configuration ({launch.machine} in {zone}) does not match capacity reservation {found.id} "
            f"({found.outputs['instanceType']} in {found.outputs['availabilityZone']})",
        )
    if found.type == BLOCK and not usable(scope, found):
        raise _reservation_full()  # nothing of it is available: before its start, and from 30 minutes before its end
    if launch.placement and found.outputs.get("placementGroupArn", "").rpartition("/")[2] != launch.placement:
        raise _insufficient(launch.machine, zone)
    used = sum(1 for i in running(scope) if i.hidden.get("reservation") == found.id)
    return max(0, int(found.outputs["instanceCount"]) - used)


def _insufficient(machine: str, zone: str) -> AwsError:
    return AwsError(
        "InsufficientInstanceCapacity",
        f"We currently do not have sufficient {machine} capacity in the Availability Zone you requested ({zone}). Our "
        "system will be working on provisioning additional capacity.",
    )


def _reservation_full() -> AwsError:
    return AwsError("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and "
                    "available capacity for this request.")  # fmt: skip


def _over_quota(limit: int) -> AwsError:
    return AwsError(
        "VcpuLimitExceeded",
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance "
        "bucket that the specified instance type belongs to. Please visit "
        "http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.",
    )


def _struck(scope: Scope, launch: Launch, zone: str) -> AwsError | None:
    """A fault of capacity or quota that somebody asked for; a node group that it struck stays struck."""
    group = launch.owner.rpartition("/")[2]
    target = Target(CLOUD, "aws:eks/nodeGroup:NodeGroup", (group, launch.machine), (zone,), group.partition(":")[0])
    faults = scope.world.faults
    if faults.strike(CAPACITY, target, key=launch.owner):
        return _insufficient(launch.machine, zone)
    if faults.strike("quota", target, key=launch.owner):
        return _over_quota(scope.catalog.quota(launch.machine, "spot" if launch.market == "spot" else "on-demand")[1])
    return None


def refusal(scope: Scope, launch: Launch, zone: str, count: int) -> tuple[int, AwsError | None]:
    """(how many of `count` instances start in a zone now, why not more)."""
    zones = scope.catalog.zones_of(scope.region, launch.machine)
    if zone not in zones:
        others = ", ".join(sorted(zones)) or "none in this region"
        return 0, AwsError(
            "Unsupported",
            f"Your requested instance type ({launch.machine}) is not supported in your requested Availability Zone "
            f"({zone}). Please retry your request by not specifying an Availability Zone or choosing {others}.",
        )
    if launch.market not in scope.catalog.machines[launch.machine]["usage"]:
        return 0, AwsError("InvalidParameterCombination", f"The instance type {launch.machine} cannot be bought as "
                           f"{launch.market}")  # fmt: skip
    if launch.reservation:
        try:
            room = _reservation_room(scope, launch, zone)
        except AwsError as error:
            return 0, error
        if room < count:
            return room, _reservation_full()
        return count, None
    struck = _struck(scope, launch, zone)
    if struck is not None:
        return 0, struck
    market = "spot" if launch.market == "spot" else "on-demand"
    room, limit = quota_room(scope, launch.machine, market)
    if room < count and market == "spot":
        return room, AwsError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
    if room < count:
        return room, _over_quota(limit)
    stock = stock_room(scope, launch.machine, zone)
    if stock is not None and stock < count:
        return stock, _insufficient(launch.machine, zone)
    return count, None


def launch_instances(
    scope: Scope, launch: Launch, subnet: Resource, count: int
) -> tuple[list[Resource], AwsError | None]:
    """Start as many as there is room for, in open reservations first; the error says why not all did."""
    zone = subnet.outputs["availabilityZone"]
    made: list[Resource] = []
    for reserved in _open_reservations(scope, launch, zone):
        room = min(_reservation_room(scope, reserved, zone), count - len(made))
        if room > 0:
            made += _start(scope, reserved, subnet, room)[0]
    if len(made) == count:
        return made, None
    able, error = refusal(scope, launch, zone, count - len(made))
    more, full = _start(scope, launch, subnet, able)
    return [*made, *more], full or error


def _open_reservations(scope: Scope, launch: Launch, zone: str) -> list[Launch]:
    """The launch inside each reservation that takes whoever fits, unless it names one or wants none."""
    if launch.reservation or launch.market != "on-demand" or launch.preference == "none":
        return []
    return [
        replace(launch, reservation=r.id)
        for r in scope.all(
            RESERVATION, instanceType=launch.machine, availabilityZone=zone, instanceMatchCriteria="open"
        )
        if not launch.placement or r.outputs.get("placementGroupArn", "").rpartition("/")[2] == launch.placement
    ]


def _start(scope: Scope, launch: Launch, subnet: Resource, count: int) -> tuple[list[Resource], AwsError | None]:
    zone = subnet.outputs["availabilityZone"]
    try:
        addresses = scope.free_addresses(subnet, count)
    except AwsError as full:
        return [], full
    made = []
    for address, slot in zip(addresses, _free_slots(scope, launch.machine, zone, count), strict=True):
        identity = scope.identity("i")
        interface = scope.add_interface(subnet, launch.owner, "", list(launch.groups), address)
        outputs = {
            "instanceType": launch.machine, "availabilityZone": zone, "subnetId": subnet.id, "privateIp": address,
            "privateDns": private_dns(scope.region, address), "instanceState": "running",
            "placementGroup": launch.placement or "", "primaryNetworkInterfaceId": interface.id,
        }  # fmt: skip
        hidden = {"market": launch.market, "reservation": launch.reservation, "slot": slot,
                  "template_version": launch.template_version, "template_id": launch.template_id}  # fmt: skip
        made.append(scope.new(INSTANCE, identity, launch.owner, outputs, **hidden))
    return made, None


def private_dns(region: str, address: str) -> str:
    """`ip-10-16-32-5.us-east-2.compute.internal`."""
    tail = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-{address.replace('.', '-')}.{tail}"


def terminate(scope: Scope, instance: Resource) -> None:
    """End an instance and its interface."""
    interface = next(
        iter(scope.interfaces(privateIp=instance.outputs["privateIp"], subnetId=instance.outputs["subnetId"])), None
    )
    if interface is not None:
        scope.store.remove(interface)
    scope.store.remove(instance)


def _free_slots(scope: Scope, machine: str, zone: str, count: int) -> list[int]:
    """Places in the zone's network, lowest first, so that what starts together is near."""
    taken = Counter(
        i.hidden["slot"]
        for i in running(scope)
        if i.outputs["instanceType"] == machine and i.outputs["availabilityZone"] == zone
    )
    found: list[int] = []
    slot = 0
    while len(found) < count:
        if slot not in taken:
            found.append(slot)
        slot += 1
    return found


def network_nodes(scope: Scope, machine: str, zone: str, slot: int) -> list[str]:
    """The instance's network nodes, top first (layers 1 to 3); empty for machines without topology."""
    topology = scope.catalog.account["topology"]
    if machine.partition(".")[0] not in topology["families"] or machine in topology["without"]:
        return []
    names = []
    for layer, size in enumerate(topology["nodes_per_layer"], 1):
        text = f"{scope.account}/{zone}/{machine}/{layer}/{slot // size}"
        names.append(f"nn-{hashlib.sha256(text.encode()).hexdigest()[:17]}")
    return names
