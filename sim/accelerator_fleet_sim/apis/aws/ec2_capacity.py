"""EC2's machines and what shapes them: instances, launch templates, placement groups, reservations."""

from __future__ import annotations

from typing import Any

from ...aws.blocktimes import state, usable
from ...aws.errors import AwsError
from ...aws.launch import BLOCK, INSTANCE, RESERVATION
from ...aws.scope import Scope
from ...aws.services.blocks import available
from ...aws.services.nodegroups import NODE_GROUP
from ...aws.services.templates import PLACEMENT, TEMPLATE, UNVERSIONED, resolve
from ...daemon.store import Resource
from .calls import Call, moment, page, served, tag_list, tags_of
from .filters import NAMED, Kind, describe
from .shaped import shaped
from .wire import model

Item = dict[str, Any]
CODES = {"pending": 0, "running": 16}

# -- instances -------------------------------------------------------------------------------------------------------
INSTANCES = Kind(
    "InstanceId", "InstanceIds",
    {"instance-id": "InstanceId", "instance-type": "InstanceType", "instance-state-name": "State.Name",
     "vpc-id": "VpcId", "subnet-id": "SubnetId", "availability-zone": "Placement.AvailabilityZone",
     "placement-group-name": "Placement.GroupName", "private-dns-name": "PrivateDnsName", "owner-id": "OwnerId",
     "private-ip-address": "PrivateIpAddress", "capacity-reservation-id": "CapacityReservationId"},
    ("InvalidInstanceID.NotFound", "The instance ID '{ids}' does not exist"), "InvalidInstanceID.Malformed", "i",
)  # fmt: skip


def _machine_tags(scope: Scope, group: Resource) -> dict[str, str]:
    """What EKS and Auto Scaling tag nodes with, and the launch template's own (from memory of the user guides)."""
    cluster, name = group.hidden["cluster"], group.outputs["nodeGroupName"]
    made = {
        "eks:cluster-name": cluster, "eks:nodegroup-name": name, f"kubernetes.io/cluster/{cluster}": "owned",
        "k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        "aws:autoscaling:groupName": group.hidden["asg"], "aws:eks:cluster-name": cluster,
    }  # fmt: skip
    for row in group.hidden["content"].get("tagSpecifications") or []:
        if row.get("resourceType") == "instance":
            made |= {str(k): str(v) for k, v in (row.get("tags") or {}).items()}
    template = group.outputs.get("launchTemplate")
    if template:
        made |= {"aws:ec2launchtemplate:id": template["id"], "aws:ec2launchtemplate:version": template["version"]}
    return made


def instance(scope: Scope, resource: Resource, groups: dict[str, Resource], nets: dict[str, Resource]) -> Item:
    """A node's machine; `groups`: owner -> node group, `nets`: interface id -> interface."""
    out, group = resource.outputs, groups.get(resource.owner)
    interface = nets.get(out["primaryNetworkInterfaceId"])
    arch = scope.catalog.machines[out["instanceType"]]["arch"]
    return {
        "InstanceId": resource.id, "InstanceType": out["instanceType"], "LaunchTime": moment(resource.created),
        "State": {"Code": CODES[out["instanceState"]], "Name": out["instanceState"]}, "SubnetId": out["subnetId"],
        "ImageId": group.hidden["image"] if group else None, "PrivateDnsName": out["privateDns"],
        "PrivateIpAddress": out["privateIp"], "VpcId": interface.outputs["vpcId"] if interface else None,
        "Architecture": "arm64" if arch == "arm64" else "x86_64",
        "Placement": {"AvailabilityZone": out["availabilityZone"], "GroupName": out.get("placementGroup") or "",
                      "Tenancy": "default"},
        "CapacityReservationId": resource.hidden.get("reservation") or None,
        "InstanceLifecycle": {"spot": "spot", "capacity-block": "capacity-block"}.get(resource.hidden["market"]),
        "Tags": tag_list(_machine_tags(scope, group)) if group else [],
    }  # fmt: skip


@served("ec2", "DescribeInstances", "InstanceIds", *NAMED)
def describe_instances(call: Call) -> Item:
    scope = call.scope
    groups = {f"nodegroup:{scope.region}/{g.id}": g for g in scope.all(NODE_GROUP)}
    nets = {i.id: i for i in scope.interfaces()}
    found, more = describe(call, INSTANCES, [instance(scope, i, groups, nets) for i in scope.all(INSTANCE)])
    rows = [{"ReservationId": f"r-{i['InstanceId'][2:]}", "OwnerId": scope.account, "Groups": [],
             "Instances": [i]} for i in found]  # fmt: skip
    return {"Reservations": rows, **more}


# -- launch templates ------------------------------------------------------------------------------------------------
TEMPLATES = Kind(
    "LaunchTemplateId", "LaunchTemplateIds",
    {"launch-template-name": "LaunchTemplateName", "create-time": "CreateTime"},
    ("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID {ids}, does not exist."),
    "InvalidLaunchTemplateId.Malformed", "lt", most=200, least=1,
)  # fmt: skip
# properties of the provider -> members of ResponseLaunchTemplateData
RENAMED = {"vpcSecurityGroupIds": "SecurityGroupIds", "securityGroupNames": "SecurityGroups", "securityGroups":
           "Groups", "ramDiskId": "RamDiskId", "ipv4Addresses": "PrivateIpAddresses"}  # fmt: skip


@served("ec2", "DescribeLaunchTemplates", "LaunchTemplateIds", "LaunchTemplateNames", *NAMED)
def describe_launch_templates(call: Call) -> Item:
    creator = call.scope.catalog.account["user"]["arn"]
    items = [
        {"LaunchTemplateId": t.id, "LaunchTemplateName": t.outputs["name"], "CreateTime": moment(t.created),
         "CreatedBy": creator, "DefaultVersionNumber": int(t.outputs["defaultVersion"]),
         "LatestVersionNumber": int(t.outputs["latestVersion"]), "Tags": tag_list(tags_of(t))}
        for t in call.scope.all(TEMPLATE)
    ]  # fmt: skip
    names = call.params.get("LaunchTemplateNames") or []
    gone = [n for n in names if all(i["LaunchTemplateName"] != n for i in items)]
    if gone:
        raise AwsError("InvalidLaunchTemplateName.NotFoundException", f"The specified launch template, with template "
                       f"name {gone[0]}, does not exist.")  # fmt: skip
    found, more = describe(call, TEMPLATES, [i for i in items if not names or i["LaunchTemplateName"] in names])
    return {"LaunchTemplates": found, **more}


@served("ec2", "DescribeLaunchTemplateVersions", "LaunchTemplateId", "LaunchTemplateName", "Versions", "NextToken",
        "MaxResults")  # fmt: skip
def describe_launch_template_versions(call: Call) -> Item:
    params, scope = call.params, call.scope
    if not params.get("LaunchTemplateId") and not params.get("LaunchTemplateName"):
        raise AwsError("MissingParameter", "Either a launch template ID or a launch template name must be specified")
    named = {"id": params.get("LaunchTemplateId"), "name": params.get("LaunchTemplateName")}
    template = resolve(scope, named)[0]
    wanted = params.get("Versions") or sorted(template.hidden["versions"], key=int, reverse=True)
    shape = model("ec2").shape_for("ResponseLaunchTemplateData")
    items = []
    for asked in wanted:
        _, version, content = resolve(scope, {**named, "version": asked})
        kept = {k: v for k, v in content.items() if k not in UNVERSIONED and not k.startswith("__")}
        description = kept.pop("description", None)
        items.append({
            "LaunchTemplateId": template.id, "LaunchTemplateName": template.outputs["name"],
            "VersionNumber": int(version), "VersionDescription": description or None,
            "CreateTime": moment(template.created), "CreatedBy": scope.catalog.account["user"]["arn"],
            "DefaultVersion": int(version) == int(template.outputs["defaultVersion"]),
            "LaunchTemplateData": shaped(shape, kept, RENAMED),
        })  # fmt: skip
    found, after = page(items, params.get("MaxResults"), params.get("NextToken"), 200, lambda t: AwsError(
        "InvalidNextToken", f"The token '{t}' is invalid"))  # fmt: skip
    return {"LaunchTemplateVersions": found, **({"NextToken": after} if after else {})}


# -- placement groups and reservations -------------------------------------------------------------------------------
GROUPS = Kind(
    "GroupName", "GroupNames",
    {"group-name": "GroupName", "strategy": "Strategy", "state": "State", "spread-level": "SpreadLevel",
     "group-arn": "GroupArn"},
    ("InvalidPlacementGroup.Unknown", "The Placement Group '{ids}' is unknown."),
)  # fmt: skip


@served("ec2", "DescribePlacementGroups", "GroupNames", "GroupIds", "Filters")
def describe_placement_groups(call: Call) -> Item:
    items = [
        {"GroupName": g.outputs["name"], "GroupId": g.outputs["placementGroupId"], "Strategy": g.outputs["strategy"],
         "State": {"creating": "pending", "deleting": "deleting"}.get(g.state, "available"),
         "PartitionCount": int(g.outputs.get("partitionCount") or 0) or None, "GroupArn": g.outputs["arn"],
         "SpreadLevel": g.outputs.get("spreadLevel") or None, "Tags": tag_list(tags_of(g))}
        for g in call.scope.all(PLACEMENT)
    ]  # fmt: skip
    wanted = call.params.get("GroupIds") or []
    gone = [i for i in wanted if all(g["GroupId"] != i for g in items)]
    if gone:
        raise AwsError("InvalidPlacementGroupId.Unknown", f"The Placement Group Id '{gone[0]}' is unknown.")
    found, _ = describe(call, GROUPS, [g for g in items if not wanted or g["GroupId"] in wanted])
    return {"PlacementGroups": found}


RESERVATIONS = Kind(
    "CapacityReservationId", "CapacityReservationIds",
    {"instance-type": "InstanceType", "owner-id": "OwnerId", "instance-platform": "InstancePlatform", "state": "State",
     "availability-zone": "AvailabilityZone", "tenancy": "Tenancy", "end-date-type": "EndDateType",
     "instance-match-criteria": "InstanceMatchCriteria", "placement-group-arn": "PlacementGroupArn"},
    ("InvalidCapacityReservationId.NotFound", "The capacity reservation '{ids}' does not exist"),
    "InvalidCapacityReservationId.Malformed", "cr", least=1,
)  # fmt: skip


def reservation(scope: Scope, resource: Resource) -> Item:
    """A capacity reservation or block."""
    out, total = resource.outputs, int(resource.outputs["instanceCount"])
    used = sum(1 for i in scope.all(INSTANCE) if i.hidden.get("reservation") == resource.id)
    zone = out["availabilityZone"]
    block = resource.type == BLOCK
    return {
        "CapacityReservationId": resource.id, "CapacityReservationArn": out["arn"], "OwnerId": resource.account,
        "InstanceType": out["instanceType"], "InstancePlatform": out.get("instancePlatform") or "Linux/UNIX",
        "AvailabilityZone": zone, "AvailabilityZoneId": scope.catalog.zones(scope.region)[zone],
        "Tenancy": out.get("tenancy") or "default", "TotalInstanceCount": total,
        "AvailableInstanceCount": total - used if not block or usable(scope, resource) else 0,
        "EbsOptimized": bool(out.get("ebsOptimized")), "EphemeralStorage": bool(out.get("ephemeralStorage")),
        "State": state(scope, resource) if block else "active",
        "EndDateType": "limited" if block else out.get("endDateType") or "unlimited",
        "StartDate": moment(out.get("startDate") or resource.created), "EndDate": moment(out.get("endDate")),
        "CreateDate": moment(out.get("createdDate") or resource.created), "Tags": tag_list(tags_of(resource)),
        "InstanceMatchCriteria": "targeted" if block else out.get("instanceMatchCriteria") or "open",
        "PlacementGroupArn": out.get("placementGroupArn") or None,
        "ReservationType": "capacity-block" if block else "default",
    }  # fmt: skip


@served("ec2", "DescribeCapacityReservations", "CapacityReservationIds", *NAMED)
def describe_capacity_reservations(call: Call) -> Item:
    both = [*call.scope.all(RESERVATION), *call.scope.all(BLOCK)]
    found, more = describe(call, RESERVATIONS, [reservation(call.scope, r) for r in both])
    return {"CapacityReservations": found, **more}


@served("ec2", "DescribeCapacityBlockOfferings", "InstanceType", "InstanceCount", "StartDateRange", "EndDateRange",
        "CapacityDurationHours", "NextToken", "MaxResults")  # fmt: skip
def describe_capacity_block_offerings(call: Call) -> Item:
    """What can still be bought; a duration is needed, as the API wants it."""
    params = call.params
    items = []
    for identity, offer in sorted(available(call.scope).items()):
        asked = {"instanceType": params.get("InstanceType"), "count": params.get("InstanceCount")}
        if offer["hours"] != params["CapacityDurationHours"] or any(v and offer[k] != v for k, v in asked.items()):
            continue
        start, end = moment(offer["start"]), moment(offer["end"])
        if ((low := params.get("StartDateRange")) and start < low) or (
            (high := params.get("EndDateRange")) and end > high
        ):
            continue
        items.append({
            "CapacityBlockOfferingId": identity, "InstanceType": offer["instanceType"], "InstanceCount": offer["count"],
            "AvailabilityZone": offer["zone"], "StartDate": start, "EndDate": end,
            "CapacityBlockDurationHours": offer["hours"], "UpfrontFee": str(offer["fee"]), "CurrencyCode": "USD",
            "Tenancy": "default",
        })  # fmt: skip
    found, after = page(items, params.get("MaxResults"), params.get("NextToken"), 1000, lambda t: AwsError(
        "InvalidNextToken", f"The token '{t}' is invalid"))  # fmt: skip
    return {"CapacityBlockOfferings": found, **({"NextToken": after} if after else {})}
