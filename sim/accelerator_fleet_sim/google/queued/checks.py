"""What Cloud TPU refuses of a request, before anything of it is there. Fields as the API's JSON has them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from ..scope import Scope
from ..services.capacity import reservation
from ..services.iam import account_of
from .slices import Slice, TpuError, rules, slice_of

NODE, QUEUED = "gcp:tpu/v2Vm:V2Vm", "gcp:tpu/v2QueuedResource:V2QueuedResource"
ID = re.compile(r"[A-Za-z0-9_.~+%-]+")
LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
RESERVED = re.compile(r"projects/([^/]+)/locations/([^/]+)/reservations/([^/]+)")
UPDATABLE = ("description", "tags", "labels", "metadata", "network_config.enable_external_ips")


def bad(message: str) -> TpuError:
    """INVALID_ARGUMENT in the service's usual words."""
    return TpuError("INVALID_ARGUMENT", f"Cloud TPU received a bad request. {message}")


def moment(text: str) -> float:
    """Seconds since 1970 of an RFC 3339 time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp()


def window(policy: dict[str, Any], now: float) -> tuple[float, float | None]:
    """From when on and until when the request may be granted."""
    since, until = now, None
    interval = policy.get("validInterval") or {}
    if policy.get("validUntilDuration"):
        until = now + float(policy["validUntilDuration"].rstrip("s"))
    if policy.get("validUntilTime") or interval.get("endTime"):
        until = moment(policy.get("validUntilTime") or interval["endTime"])
    if policy.get("validAfterDuration"):
        since = now + float(policy["validAfterDuration"].rstrip("s"))
    if policy.get("validAfterTime") or interval.get("startTime"):
        since = moment(policy.get("validAfterTime") or interval["startTime"])
    if until is not None and until <= max(now, since):
        raise bad("The queueing policy's end time must be in the future, and after its start time.")
    return since, until


def node_ids(request: dict[str, Any], identity: str) -> list[str]:
    """Names of the nodes: one, or those of a multislice request."""
    many = request.get("multisliceParams")
    if many is None:
        one = str(request.get("nodeId") or "")
        if not ID.fullmatch(one):
            raise bad(f"Node id '{one}' must match ^[A-Za-z0-9_.~+%-]+$; a multislice request has multislice_params.")
        return [one]
    count = int(many.get("nodeCount") or 0)
    if count <= 1:
        raise bad(f"multislice_params.node_count must be greater than 1, got {count}.")
    prefix = str(many.get("nodeIdPrefix") or identity)
    if not ID.fullmatch(prefix):
        raise bad(f"multislice_params.node_id_prefix '{prefix}' must match ^[A-Za-z0-9_.~+%-]+$.")
    return [f"{prefix}-{i}" for i in range(count)]


def check(scope: Scope, zone: str, identity: str, asked: dict[str, Any]) -> tuple[Slice, list[str]]:
    """The slice and the node ids of a request that the API takes; TpuError for all others."""
    if not ID.fullmatch(identity):
        raise bad(f"Queued resource id '{identity}' must match ^[A-Za-z0-9_.~+%-]+$.")
    specs = (asked.get("tpu") or {}).get("nodeSpec") or []
    if len(specs) != 1:
        raise bad(f"A queued resource must have exactly one node spec, got {len(specs)}.")
    spec = specs[0]
    parent = f"projects/{scope.project}/locations/{zone}"
    if spec.get("parent") != parent:
        raise bad(f"The node's parent '{spec.get('parent')}' must be the queued resource's: '{parent}'.")
    node = spec.get("node") or {}
    names = node_ids(spec, identity)
    found = slice_of(scope.catalog, node, zone)
    _tier(scope, zone, asked, node, found)
    _node(scope, zone, node, found)
    for name in names:
        if scope.find(NODE, f"{parent}/nodes/{name}") is not None:
            raise TpuError("ALREADY_EXISTS", f"Resource '{parent}/nodes/{name}' already exists")
    _quota(scope, zone, asked, found.count * len(names), found)
    return found, names


def _tier(scope: Scope, zone: str, asked: dict[str, Any], node: dict[str, Any], found: Slice) -> None:
    """Spot or guaranteed (or neither: on demand); a reservation is not spot's."""
    spot = "spot" in asked
    scheduling = node.get("schedulingConfig") or {}
    if spot and "guaranteed" in asked:
        raise bad("spot and guaranteed are mutually exclusive.")
    if any(scheduling.values()) and not (spot and {k for k, v in scheduling.items() if v} == {"spot"}):
        raise TpuError("UNIMPLEMENTED", "scheduling_config of a queued resource's node: what it does beside the "
                       "request's own tier was not read; say spot, guaranteed or reservation_name")  # fmt: skip
    name = asked.get("reservationName")
    if not name:
        return
    if spot:
        raise bad("Spot requests cannot name a reservation.")
    match = RESERVED.fullmatch(name)
    if match is None:
        raise bad(f"Reservation name '{name}' must be projects/{{project}}/locations/{{zone}}/reservations/{{name}}.")
    there = reservation(scope, match[3], zone) if match[2] == zone and match[1] == scope.project else None
    if there is None:
        raise TpuError("NOT_FOUND", f"Reservation '{name}' was not found in zone {zone}.")
    if there["machine"] != found.machine:
        raise bad(f"Reservation '{name}' is of {there['machine']}, and accelerator type {found.type} is not.")


def _node(scope: Scope, zone: str, node: dict[str, Any], found: Slice) -> None:
    runtimes = rules()["generations"][found.generation]["runtimes"]
    version = node.get("runtimeVersion")
    if not version:
        raise bad("The runtime version of the node must be specified.")
    if version not in runtimes:
        raise bad(f"The runtime version \"{version}\" is not known for accelerator type {found.type}; the embedded "
                  f"datacentre has: {', '.join(runtimes)}.")  # fmt: skip
    for field in ("dataDisks", "networkConfigs", "cidrBlock"):
        if node.get(field):
            raise TpuError("UNIMPLEMENTED", f"{field} of a node is not simulated; refused rather than guessed")
    check_editable(node)
    _network(scope, zone, node.get("networkConfig") or {})
    email = (node.get("serviceAccount") or {}).get("email")
    if email and account_of(scope, str(email)) is None:
        raise bad(f'Service account "{email}" does not exist.')


def check_editable(node: dict[str, Any]) -> None:
    """What a node may be called and labelled."""
    if len(node.get("description") or "") > 512:
        raise bad("The description has more than 512 characters.")
    labels = node.get("labels") or {}
    for key, value in labels.items():
        if not LABEL[0].fullmatch(key) or not LABEL[1].fullmatch(value):
            raise bad(f"Label '{key}: {value}' is not valid.")
    if len(labels) > 64:
        raise bad("More than 64 labels.")
    for tag in node.get("tags") or []:
        if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", tag):
            raise bad(f"Network tag '{tag}' is not valid.")


def _network(scope: Scope, zone: str, config: dict[str, Any]) -> None:
    """Network and subnetwork must be there; without any `default` is meant."""
    region = zone.rpartition("-")[0]
    network = str(config.get("network") or "default")
    subnet = config.get("subnetwork")
    if config.get("network") or not subnet:
        there = scope.network(network.removeprefix("https://www.googleapis.com/compute/v1/"))
        if there is None:
            raise TpuError("NOT_FOUND", f"The network '{network}' was not found in project {scope.project}.")
    if subnet and scope.subnetwork(subnet, region) is None:
        raise TpuError("NOT_FOUND", f"The subnetwork '{subnet}' was not found in region {region}.")


def _quota(scope: Scope, zone: str, asked: dict[str, Any], more: int, found: Slice) -> None:
    """Every queued resource that is there counts, a failed or suspended one too."""
    row = rules()["generations"][found.generation]
    spot = "spot" in asked
    used = sum(int(r.hidden["count"]) for r in scope.all(QUEUED, zone=zone)
               if r.hidden["generation"] == found.generation and ("spot" in r.outputs) == spot)  # fmt: skip
    metric, limit = (row["spot_quota"], row["spot_limit"]) if spot else (row["quota"], row["limit"])
    if used + more > limit:
        raise TpuError(
            "RESOURCE_EXHAUSTED", f"Quota limit '{metric}' has been exceeded. Limit: {limit} in zone {zone}."
        )
