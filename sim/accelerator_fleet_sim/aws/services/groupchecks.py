"""What EKS refuses about a node group before it launches anything."""

from __future__ import annotations

import re
from typing import Any

from ..errors import AwsError
from ..launch import check_template, reservation_named
from ..scope import Scope
from .eks import invalid
from .templates import PLACEMENT
from .vpc import GROUP, SUBNET

WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
LAST_AL2 = 32  # text: scylladb/scylla-cluster-tests#12524
RESERVED = ("kubernetes.io", "k8s.io", "eks.amazonaws.com")
# docs.aws.amazon.com/eks/latest/userguide/launch-templates.html: what a template for EKS must not hold
NOT_IN_TEMPLATE = {
    "iamInstanceProfile": "IAM instance profile",
    "instanceInitiatedShutdownBehavior": "instance-initiated shutdown behavior",
    "hibernationOptions": "hibernation options",
}


def check_scaling(scope: Scope, scaling: dict[str, Any]) -> None:
    """minimum <= desired <= maximum, and the quota of nodes."""
    low, wanted, high = int(scaling["minSize"]), int(scaling["desiredSize"]), int(scaling["maxSize"])
    if low > wanted:
        raise invalid(f"Minimum capacity {low} can't be greater than desired size {wanted}")
    if wanted > high:
        raise invalid(f"desired capacity {wanted} can't be greater than max size {high}")
    limit = scope.catalog.account["quotas"]["nodes_per_node_group"]["value"]
    if high > limit:
        raise AwsError(
            "ResourceLimitExceededException", f"max size {high} exceeds the limit of {limit} nodes per node group"
        )


def check_labels(inputs: dict[str, Any]) -> None:
    """Prefixes that belong to Kubernetes and to EKS; taints once each."""
    for key in inputs.get("labels") or {}:
        prefix = key.partition("/")[0] if "/" in key else ""
        if any(prefix == r or prefix.endswith("." + r) for r in RESERVED):
            raise invalid(
                f"Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/]: {key}"
            )
    # lengths: botocore eks labelKey, labelValue; characters: those of Kubernetes, aws-controllers-k8s/community#2208
    for key, value in (inputs.get("labels") or {}).items():
        if not 1 <= len(key) <= 63 or not 1 <= len(str(value)) <= 63:
            raise invalid(f"Label {key!r}: keys and values have 1 to 63 characters ({len(key)}, {len(str(value))})")
        _check_words(key, str(value))
    for taint in inputs.get("taints") or []:
        _check_words(taint["key"], str(taint.get("value") or ""))
    seen = set()
    for taint in inputs.get("taints") or []:
        mark = (taint["key"], taint["effect"])
        if mark in seen:
            raise invalid(f"Duplicate taint {taint['key']} with effect {taint['effect']}")
        seen.add(mark)


def _check_words(key: str, value: str) -> None:
    """A key with or without prefix, and a value, as Kubernetes has them."""
    prefix, _, name = key.rpartition("/")
    if not WORD.fullmatch(name) or (prefix and not DOMAIN.fullmatch(prefix)):
        raise invalid(f"Invalid key: {key}: alphanumeric characters, '-', '_' or '.', the first and the last one "
                      "alphanumeric, after an optional DNS subdomain and '/'")  # fmt: skip
    if value and not WORD.fullmatch(value):
        raise invalid(f"Invalid value: {value} : field must consist of alphanumeric characters, '-', '_' or '.', and "
                      "must start and end with an alphanumeric character")  # fmt: skip


def _not_fully_formed(message: str) -> AwsError:
    """What RunInstances says of a template, as EKS passes it on."""
    return AwsError("InvalidRequestException", f"You must use a valid fully-formed launch template. {message}")


def check_template_groups(scope: Scope, content: dict[str, Any], vpc: str) -> None:
    """Security groups of a template must be in the cluster's VPC (RunInstances: InvalidGroup.NotFound)."""
    blocks = content.get("networkInterfaces") or []
    named = [*(content.get("vpcSecurityGroupIds") or []), *(g for b in blocks for g in b.get("securityGroups") or [])]
    for identity in named:
        group = scope.find(GROUP, identity)
        if group is None or group.outputs["vpcId"] != vpc:
            raise _not_fully_formed(f"The security group '{identity}' does not exist in VPC '{vpc}'")


def check_template_content(scope: Scope, inputs: dict[str, Any], content: dict[str, Any]) -> None:
    """What EKS refuses in or beside a launch template."""
    if not inputs.get("launchTemplate"):
        if inputs.get("capacityType") == "CAPACITY_BLOCK":
            raise AwsError("InvalidRequestException", "A capacity block needs a launch template with its reservation "
                           "id and the market type capacity-block.")  # fmt: skip
        return
    if content.get("instanceType") and inputs.get("instanceTypes"):
        # terraform-aws-modules/terraform-aws-eks#1386
        raise AwsError("InvalidRequestException", "Cannot specify instance types in launch template and API request")
    if content.get("instanceRequirements"):
        raise AwsError("UnsupportedOperation", "launch templates with instance requirements are not simulated for node "
                       "groups")  # fmt: skip
    if inputs.get("diskSize"):
        raise invalid("Disk size must be specified within the launch template.")
    if content.get("imageId") and inputs.get("amiType") not in (None, "CUSTOM"):
        raise invalid(
            "You cannot specify an AMI Type other than CUSTOM, when specifying an image id in your launch template."
        )
    image = str(content.get("imageId") or "")
    if image and (inputs.get("version") or inputs.get("releaseVersion")):  # botocore eks CreateNodegroup: version
        raise invalid("You cannot specify a Kubernetes version or a release version together with an image id in your "
                      "launch template.")  # fmt: skip
    if image and not re.fullmatch(r"ami-[0-9a-f]+", image):
        raise _not_fully_formed(f'Invalid id: "{image}" (expecting "ami-...")')
    if content.get("keyName"):  # no key pair can be made here; text: eksctl-io/eksctl#1989
        raise _not_fully_formed(f"The key pair '{content['keyName']}' does not exist")
    if inputs.get("amiType") == "CUSTOM" and not image:
        raise invalid("You must specify an image id in your launch template with the AMI type CUSTOM.")
    for key, words in NOT_IN_TEMPLATE.items():
        if content.get(key):
            raise AwsError("InvalidRequestException", f"Launch template must not contain {words}.")
    for block in content.get("networkInterfaces") or []:
        if block.get("subnetId"):
            raise AwsError("InvalidRequestException", "Launch template must not contain a subnet.")
        if block.get("networkInterfaceId"):
            raise AwsError("InvalidRequestException", "Launch template must not contain a network interface id.")
    market = (content.get("instanceMarketOptions") or {}).get("marketType")
    block_wanted = inputs.get("capacityType") == "CAPACITY_BLOCK"
    if market == "spot":
        raise AwsError("InvalidRequestException", "Spot requests belong to the node group's capacity type, not to the "
                       "launch template.")  # fmt: skip
    if (market == "capacity-block") != block_wanted:
        raise AwsError("InvalidRequestException", "The capacity type CAPACITY_BLOCK and the launch template's market "
                       "type capacity-block need each other.")  # fmt: skip
    target = (content.get("capacityReservationSpecification") or {}).get("capacityReservationTarget") or {}
    if target.get("capacityReservationId"):
        try:
            reservation_named(scope, target["capacityReservationId"])
        except AwsError as error:
            raise AwsError("InvalidRequestException", error.message) from error
        if inputs.get("capacityType") == "SPOT":  # EC2 user guide: spot instances cannot use capacity reservations
            raise AwsError("InvalidRequestException", "Spot Instances cannot run in a capacity reservation.")
    elif block_wanted:
        raise AwsError("InvalidRequestException", "A capacity block needs its reservation id in the launch template.")


def check_machines(scope: Scope, inputs: dict[str, Any], content: dict[str, Any]) -> None:
    """Instance types exist, fit the AMI type, and RunInstances takes the template for them."""
    machines = inputs.get("instanceTypes") or [content.get("instanceType") or "t3.medium"]
    unknown = [m for m in machines if m not in scope.catalog.machines]
    if unknown:
        raise invalid(f"The following supplied instance types do not exist: [{', '.join(unknown)}]")
    if len(machines) > 1 and (inputs.get("capacityType") == "CAPACITY_BLOCK"):
        raise invalid("A capacity block has one instance type")
    ami = inputs.get("amiType") or default_ami(scope, content, inputs.get("instanceTypes") or [])
    for machine in machines:
        _check_ami(scope, machine, ami)
        try:
            check_template(scope, machine, content)
        except AwsError as error:
            raise _not_fully_formed(error.message) from error


def _check_ami(scope: Scope, machine: str, ami: str) -> None:
    if ami == "CUSTOM":
        return
    figures = scope.catalog.machines[machine]
    arm = "ARM" in ami
    kind = (figures.get("accelerator") or {}).get("k8s_resource")
    nvidia = "NVIDIA" in ami or ami == "AL2_x86_64_GPU"
    neuron = "NEURON" in ami or ami == "AL2_x86_64_GPU"
    wrong = (
        arm != (figures["arch"] == "arm64")
        or (kind == "nvidia.com/gpu" and not nvidia)
        or (kind == "aws.amazon.com/neuron" and not neuron)
        or (kind is None and (nvidia or neuron))
    )
    if wrong:
        raise invalid(f"[{machine}] is not a valid instance type for requested amiType {ami}")


def check_release(scope: Scope, ami: str, version: str, release: str | None) -> None:
    """Amazon Linux 2 ended with Kubernetes 1.32; a release belongs to one minor version, and was published.

    The text as quoted in eksctl-io/eksctl issue 7976 and cloudposse/terraform-aws-eks-node-group issue 209.
    """
    if ami.startswith("AL2_") and int(version.split(".")[1]) > LAST_AL2:
        raise invalid(f"AMI Type {ami} is only supported for kubernetes versions 1.{LAST_AL2} or earlier")
    if ami.startswith("WINDOWS"):
        raise AwsError("UnsupportedOperation", "Windows nodes are not simulated")
    if release and ami.startswith("AL2") and release not in scope.catalog.account["kubernetes"]["releases"][version]:
        raise invalid(f"Requested release version {release} is not valid for kubernetes version {version}.")


def check_placement(scope: Scope, inputs: dict[str, Any], content: dict[str, Any]) -> None:
    """A cluster placement group lies in one zone; not every machine can be in one."""
    name = (content.get("placement") or {}).get("groupName")
    if not name:
        return
    group = scope.find(PLACEMENT, name)
    if group is None:
        raise AwsError("InvalidRequestException", f"The Placement Group '{name}' is unknown.")
    strategy = group.outputs["strategy"]
    for machine in inputs.get("instanceTypes") or [content["instanceType"]]:
        if strategy not in scope.catalog.machines[machine]["placement"]:
            raise AwsError(
                "InvalidRequestException",
                f"You must use a valid fully-formed launch template. {strategy.capitalize()} placement groups are not "
                f"supported by the '{machine}' instance type. Specify a supported instance type or change the "
                "placement group strategy, and try again.",
            )
    zones = {s.outputs["availabilityZone"] for i in inputs["subnetIds"] if (s := scope.find(SUBNET, i)) is not None}
    if strategy == "cluster" and len(zones) > 1:
        raise AwsError(
            "InvalidRequestException",
            f"A cluster placement group ({name}) cannot be used with multiple Availability Zones: "
            f"{', '.join(sorted(zones))}",
        )


def default_ami(scope: Scope, content: dict[str, Any], machines: list[str]) -> str:
    """The AMI type that EKS takes when none is given."""
    if content.get("imageId"):
        return "CUSTOM"
    machine = (machines or [content.get("instanceType") or "t3.medium"])[0]
    figures = scope.catalog.machines.get(machine, {})
    kind = (figures.get("accelerator") or {}).get("k8s_resource")
    arch = "ARM_64" if figures.get("arch") == "arm64" else "x86_64"
    if kind == "nvidia.com/gpu":
        return f"AL2023_{arch}_NVIDIA"
    return "AL2023_x86_64_NEURON" if kind == "aws.amazon.com/neuron" else f"AL2023_{arch}_STANDARD"
