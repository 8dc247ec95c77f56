"""Kubernetes nodes of EKS instances: names, labels, taints and capacity as AWS's agents set them."""

from __future__ import annotations

import math
from typing import Any

from ..cluster.model import NodeShape, NodeSpec
from ..daemon.store import Resource
from .launch import efa_count, network_nodes
from .scope import Scope

EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}


def max_pods(figures: dict[str, Any]) -> int:
    """Pods per node as the VPC CNI sets it: ENIs × (addresses - 1) + 2, at most 110 below 30 vCPUs, else 250."""
    return int(min(figures["enis"] * (figures["ipv4"] - 1) + 2, 110 if figures["vcpu"] < 30 else 250))


def capacity(figures: dict[str, Any], disk_gib: int) -> dict[str, str]:
    """What kubelet reports by itself. The kernel keeps about 1.6 % of memory for itself (estimate)."""
    memory_kib = int(figures["mib"] * 1024 * 0.984)
    return {
        "cpu": str(figures["vcpu"]),
        "memory": f"{memory_kib}Ki",
        "pods": str(max_pods(figures)),
        "ephemeral-storage": f"{int(disk_gib * 1024 * 1024 * 0.9953)}Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }


def devices(figures: dict[str, Any], template: dict[str, Any]) -> dict[str, str]:
    """What device plugins may offer: cards of the machine, EFA interfaces of the launch template."""
    found: dict[str, str] = {}
    accelerator = figures.get("accelerator")
    if accelerator and accelerator.get("k8s_resource"):
        found[accelerator["k8s_resource"]] = str(accelerator["count"])
        if accelerator["k8s_resource"] == "aws.amazon.com/neuron" and accelerator.get("cores"):
            found["aws.amazon.com/neuroncore"] = str(accelerator["cores"])
    efa = efa_count(template)
    if efa:
        found["vpc.amazonaws.com/efa"] = str(efa)
    return found


def disk_of(group: Resource, template: dict[str, Any]) -> int:
    """The root disk in GiB."""
    for mapping in template.get("blockDeviceMappings") or []:
        size = (mapping.get("ebs") or {}).get("volumeSize")
        if size:
            return math.ceil(float(size))
    return int(group.outputs.get("diskSize") or 20)


def labels(scope: Scope, group: Resource, instance: Resource, arch: str) -> dict[str, str]:
    """Labels of EKS, of the cloud provider, and the group's own."""
    outputs, zone = group.outputs, instance.outputs["availabilityZone"]
    made = {
        "eks.amazonaws.com/nodegroup": outputs["nodeGroupName"],
        "eks.amazonaws.com/nodegroup-image": group.hidden["image"],
        "eks.amazonaws.com/capacityType": outputs["capacityType"],
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/instance-type": instance.outputs["instanceType"],
        "failure-domain.beta.kubernetes.io/region": scope.region,
        "failure-domain.beta.kubernetes.io/zone": zone,
        "kubernetes.io/arch": arch,
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": instance.outputs["privateDns"],
        "node.kubernetes.io/instance-type": instance.outputs["instanceType"],
        "topology.kubernetes.io/region": scope.region,
        "topology.kubernetes.io/zone": zone,
        "topology.k8s.aws/zone-id": scope.catalog.zones(scope.region)[zone],
        "k8s.io/cloud-provider-aws": group.hidden["cloud_provider"],
    }
    if instance.hidden.get("template_id"):
        made["eks.amazonaws.com/sourceLaunchTemplateId"] = instance.hidden["template_id"]
        made["eks.amazonaws.com/sourceLaunchTemplateVersion"] = instance.hidden["template_version"]
    layers = network_nodes(scope, instance.outputs["instanceType"], zone, instance.hidden["slot"])
    for number, name in enumerate(layers, 1):
        made[f"topology.k8s.aws/network-node-layer-{number}"] = name
    return made | dict(outputs.get("labels") or {})


def node_spec(scope: Scope, group: Resource, instance: Resource, template: dict[str, Any]) -> NodeSpec:
    """The node of one instance."""
    machine = instance.outputs["instanceType"]
    figures = scope.catalog.machines[machine]
    taints = [
        {"key": t["key"], "value": t.get("value") or "", "effect": EFFECTS[t["effect"]]}
        for t in group.outputs.get("taints") or []
    ]
    shape = NodeShape(
        labels=labels(scope, group, instance, figures["arch"]),
        taints=taints,
        capacity=capacity(figures, disk_of(group, template)),
        device_resources=devices(figures, template),
        arch=figures["arch"],
    )
    return NodeSpec(
        name=instance.outputs["privateDns"],
        provider_id=f"aws:///{instance.outputs['availabilityZone']}/{instance.id}",
        zone=instance.outputs["availabilityZone"],
        region=scope.region,
        instance_type=machine,
        internal_ip=instance.outputs["privateIp"],
        shape=shape,
    )
