"""Between the inputs of the program and the messages of Cloud TPU's API."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, Final

from accelerator_fleet_native.check import until

NAME: Final = re.compile(r"projects/([^/]+)/locations/([^/]+)/queuedResources/([^/]+)")


def parent(inputs: dict[str, Any]) -> str:
    """Project and zone."""
    return f"projects/{inputs['project']}/locations/{inputs['zone']}"


def path(inputs: dict[str, Any]) -> str:
    """The queued resource's name in the API, which is its id here."""
    return f"{parent(inputs)}/queuedResources/{inputs['queuedResourceId']}"


def node(inputs: dict[str, Any]) -> Any:
    """The node of the request."""
    from google.cloud import tpu_v2

    made = tpu_v2.Node(
        accelerator_type=inputs["acceleratorType"], runtime_version=inputs["runtimeVersion"],
        description=inputs.get("description", ""), labels=inputs.get("labels", {}), tags=inputs.get("tags", []),
        metadata=inputs.get("metadata", {}),
        network_config=tpu_v2.NetworkConfig(
            network=inputs.get("network", ""), subnetwork=inputs.get("subnetwork", ""),
            enable_external_ips=inputs.get("enableExternalIps", False),
        ),
    )  # fmt: skip
    if inputs.get("serviceAccount"):
        made.service_account = tpu_v2.ServiceAccount(email=inputs["serviceAccount"])
    return made


def request(inputs: dict[str, Any]) -> Any:
    """The queued resource that is asked for."""
    from google.cloud import tpu_v2

    spec = tpu_v2.QueuedResource.Tpu.NodeSpec(parent=parent(inputs), node=node(inputs))
    if int(inputs.get("nodeCount", 1)) > 1:
        spec.multislice_params.node_count = int(inputs["nodeCount"])
        spec.multislice_params.node_id_prefix = inputs["nodeId"]
    else:
        spec.node_id = inputs["nodeId"]
    made = tpu_v2.QueuedResource(tpu=tpu_v2.QueuedResource.Tpu(node_spec=[spec]))
    if inputs.get("provision") == "spot":
        made.spot = tpu_v2.QueuedResource.Spot()
    elif inputs.get("provision") == "reserved":
        made.guaranteed = tpu_v2.QueuedResource.Guaranteed()
        made.reservation_name = reservation(inputs)
    if inputs.get("validUntil"):
        when = until(inputs["validUntil"])
        key = "valid_until_duration" if isinstance(when, timedelta) else "valid_until_time"
        made.queueing_policy = tpu_v2.QueuedResource.QueueingPolicy(**{key: when})
    return made


def reservation(inputs: dict[str, Any]) -> str:
    """The reservation's full name."""
    said = str(inputs["reservation"])
    if "/locations/" in said:
        return said
    match = re.fullmatch(r"projects/([^/]+)/reservations/([^/]+)", said)
    project, name = (match[1], match[2]) if match else (inputs["project"], said)
    return f"projects/{project}/locations/{inputs['zone']}/reservations/{name}"


def outputs(inputs: dict[str, Any], found: Any, nodes: list[Any]) -> dict[str, Any]:
    """The state of a queued resource: its inputs, and what the cloud says of it."""
    error = found.state.failed_data.error
    made = {k: v for k, v in inputs.items() if not k.startswith("__")}
    made |= {"name": found.name, "state": found.state.state.name, "nodes": [n.name for n in nodes]}
    made["createTime"] = found.create_time.strftime("%Y-%m-%dT%H:%M:%SZ") if found.create_time else None
    made["stateInitiator"] = found.state.state_initiator.name if int(found.state.state_initiator) else None
    made["error"] = (error.message or f"code {error.code}") if found.state.state.name == "FAILED" else None
    return made


def seen(inputs: dict[str, Any], found: Any, nodes: list[Any]) -> dict[str, Any]:
    """Inputs as the cloud has them: `inputs` of the program with every value that the API shows otherwise.

    What UpdateNode changes is read from a node; while there is none, it is the request's.
    """
    spec = found.tpu.node_spec[0]
    shown = nodes[0] if nodes else spec.node
    name = NAME.fullmatch(found.name)
    assert name is not None
    many = spec.multislice_params
    policy = found.queueing_policy
    facts: dict[str, Any] = {
        "project": name[1], "zone": name[2], "queuedResourceId": name[3],
        "acceleratorType": spec.node.accelerator_type, "runtimeVersion": spec.node.runtime_version,
        "nodeId": spec.node_id or many.node_id_prefix or name[3], "nodeCount": max(int(many.node_count), 1),
        "network": spec.node.network_config.network, "subnetwork": spec.node.network_config.subnetwork,
        "serviceAccount": spec.node.service_account.email, "description": shown.description,
        "enableExternalIps": bool(shown.network_config.enable_external_ips), "labels": dict(shown.labels),
        "tags": list(shown.tags), "metadata": dict(shown.metadata), "provision": _provision(found),
        "reservation": found.reservation_name,
    }  # fmt: skip
    made = {k: v for k, v in inputs.items() if not k.startswith("__")}
    for key, value in facts.items():
        if not _same(key, inputs, value):
            made[key] = value
            if value in ("", [], {}):
                del made[key]
    if "validUntil" not in inputs and policy.valid_until_time:
        made["validUntil"] = policy.valid_until_time.strftime("%Y-%m-%dT%H:%M:%SZ")
    made.setdefault("wait", "accepted")
    if "__defaults" in inputs:
        made["__defaults"] = inputs["__defaults"]
    return made


def _provision(found: Any) -> str:
    kind = type(found).pb(found).WhichOneof("tier")
    return "spot" if kind == "spot" else "reserved" if found.reservation_name else "on-demand"


def _same(key: str, inputs: dict[str, Any], value: Any) -> bool:
    """Whether the program's word is what the API shows, however it is written."""
    said = inputs.get(key)
    if said is None:
        return value in ("", [], {})
    if key == "reservation":
        return bool(value) and reservation(inputs) == value
    if key in ("network", "subnetwork"):
        return str(said).rpartition("/")[2] == str(value).rpartition("/")[2]
    return bool(said == value)
