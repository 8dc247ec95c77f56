"""The services of which little is used: STS, KMS, CloudWatch Logs, Auto Scaling, FSx."""

from __future__ import annotations

from typing import Any

from ...aws.errors import AwsError
from ...aws.scope import Scope
from ...aws.services.eks import KEY
from ...aws.services.nodegroups import AUTOSCALING, NODE_GROUP, SCHEDULE
from ...aws.services.schedules import UNCHANGED, drain
from ...daemon.store import Resource
from .calls import Call, moment, page, served, tags_of

Item = dict[str, Any]
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"


@served("sts", "GetCallerIdentity")
def get_caller_identity(call: Call) -> Item:
    user = call.scope.catalog.account["user"]
    return {"UserId": user["userId"], "Account": call.scope.account, "Arn": user["arn"]}


# -- KMS -------------------------------------------------------------------------------------------------------------
def _key(call: Call) -> Resource:
    name = call.params["KeyId"]
    found = next((k for k in call.scope.all(KEY) if name in (k.id, k.outputs["arn"])), None)
    if found is None:
        arn = name if name.startswith("arn:") else call.scope.arn("kms", f"key/{name}")
        raise AwsError("NotFoundException", f"Key '{arn}' does not exist")
    return found


@served("kms", "ListKeys", "Limit", "Marker")
def list_keys(call: Call) -> Item:
    items = [{"KeyId": k.id, "KeyArn": k.outputs["arn"]} for k in call.scope.all(KEY)]
    found, after = page(items, call.params.get("Limit"), call.params.get("Marker"), 1000, lambda t: AwsError(
        "InvalidMarkerException", f"Invalid marker {t}"))  # fmt: skip
    return {"Keys": found, "Truncated": after is not None, **({"NextMarker": after} if after else {})}


@served("kms", "DescribeKey", "KeyId")
def describe_key(call: Call) -> Item:
    found = _key(call)
    out = found.outputs
    enabled = bool(out.get("isEnabled", True))
    spec = out.get("customerMasterKeySpec") or "SYMMETRIC_DEFAULT"
    if spec != "SYMMETRIC_DEFAULT":
        raise AwsError("NotServed", f"keys of spec {spec} are not described by the embedded datacentre", 501)
    return {"KeyMetadata": {
        "AWSAccountId": found.account, "KeyId": found.id, "Arn": out["arn"], "CreationDate": moment(found.created),
        "Enabled": enabled, "Description": out.get("description") or "", "KeyUsage": out.get("keyUsage") or
        "ENCRYPT_DECRYPT", "KeyState": "Enabled" if enabled else "Disabled", "Origin": "AWS_KMS",
        "KeyManager": "CUSTOMER", "CustomerMasterKeySpec": spec, "KeySpec": spec, "MultiRegion":
        bool(out.get("multiRegion")), "EncryptionAlgorithms": ["SYMMETRIC_DEFAULT"],
    }}  # fmt: skip


@served("kms", "ListResourceTags", "KeyId", "Limit", "Marker")
def list_resource_tags(call: Call) -> Item:
    tags = [{"TagKey": k, "TagValue": v} for k, v in sorted(tags_of(_key(call)).items())]
    found, after = page(tags, call.params.get("Limit"), call.params.get("Marker"), 50, lambda t: AwsError(
        "InvalidMarkerException", f"Invalid marker {t}"))  # fmt: skip
    return {"Tags": found, "Truncated": after is not None, **({"NextMarker": after} if after else {})}


# -- logs ------------------------------------------------------------------------------------------------------------
@served("logs", "DescribeLogGroups", "logGroupNamePrefix", "nextToken", "limit")
def describe_log_groups(call: Call) -> Item:
    prefix = call.params.get("logGroupNamePrefix") or ""
    items = [
        {"logGroupName": g.id, "arn": f"{g.outputs['arn']}:*", "logGroupArn": g.outputs["arn"], "storedBytes": 0,
         "creationTime": int(g.created * 1000), "metricFilterCount": 0,
         "retentionInDays": int(g.outputs.get("retentionInDays") or 0) or None,
         "kmsKeyId": g.outputs.get("kmsKeyId") or None, "logGroupClass": g.outputs["logGroupClass"]}
        for g in sorted(call.scope.all(LOG_GROUP), key=lambda g: g.id) if g.id.startswith(prefix)
    ]  # fmt: skip
    found, after = page(items, call.params.get("limit"), call.params.get("nextToken"), 50, lambda t: AwsError(
        "InvalidParameterException", f"The specified nextToken is invalid: {t}"))  # fmt: skip
    return {"logGroups": found, **({"nextToken": after} if after else {})}


@served("logs", "ListTagsForResource", "resourceArn")
def list_log_tags(call: Call) -> Item:
    arn = call.params["resourceArn"]
    found = next((g for g in call.scope.all(LOG_GROUP) if g.outputs["arn"] == arn), None)
    if found is None:
        raise AwsError("ResourceNotFoundException", "The specified log group does not exist.")
    return {"tags": tags_of(found)}


# -- Auto Scaling ----------------------------------------------------------------------------------------------------
def scaling_group(scope: Scope, resource: Resource, owner: Resource) -> Item:
    """The Auto Scaling group of a node group."""
    out, size = owner.outputs, owner.outputs["scalingConfig"]
    members = [i for i in scope.all("aws:ec2/instance:Instance") if i.owner == resource.owner]
    cluster, name = owner.hidden["cluster"], out["nodeGroupName"]
    tags = {"eks:cluster-name": cluster, "eks:nodegroup-name": name, f"kubernetes.io/cluster/{cluster}": "owned",
            "k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{cluster}": "owned"}  # fmt: skip
    return {
        "AutoScalingGroupName": resource.id, "MinSize": int(size["minSize"]), "MaxSize": int(size["maxSize"]),
        "AutoScalingGroupARN": scope.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{resource.id}"),
        "DesiredCapacity": int(size["desiredSize"]), "DefaultCooldown": 300, "HealthCheckType": "EC2",
        "AvailabilityZones": sorted({i.outputs["availabilityZone"] for i in members}),
        "VPCZoneIdentifier": ",".join(out["subnetIds"]), "CreatedTime": moment(resource.created),
        "Instances": [
            {"InstanceId": i.id, "InstanceType": i.outputs["instanceType"], "LifecycleState": "InService",
             "AvailabilityZone": i.outputs["availabilityZone"], "HealthStatus": "Healthy",
             "ProtectedFromScaleIn": False}
            for i in members
        ],
        "Tags": [{"ResourceId": resource.id, "ResourceType": "auto-scaling-group", "Key": k, "Value": v,
                  "PropagateAtLaunch": True} for k, v in sorted(tags.items())],
    }  # fmt: skip


@served("autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroupNames", "NextToken", "MaxRecords")
def describe_auto_scaling_groups(call: Call) -> Item:
    scope, names = call.scope, call.params.get("AutoScalingGroupNames")
    owners = {f"nodegroup:{scope.region}/{g.id}": g for g in scope.all(NODE_GROUP)}
    found = [g for g in scope.all(AUTOSCALING) if g.owner in owners and (not names or g.id in names)]
    items = [scaling_group(scope, g, owners[g.owner]) for g in found]
    rows, after = page(items, call.params.get("MaxRecords"), call.params.get("NextToken"), 100, lambda t: AwsError(
        "InvalidNextToken", f"The token '{t}' is invalid."))  # fmt: skip
    return {"AutoScalingGroups": rows, **({"NextToken": after} if after else {})}


@served("autoscaling", "DescribeScheduledActions", "AutoScalingGroupName", "ScheduledActionNames", "StartTime",
        "EndTime", "NextToken", "MaxRecords")  # fmt: skip
def describe_scheduled_actions(call: Call) -> Item:
    """Actions that people made, and the one by which EKS drains a group before its block ends."""
    scope, params = call.scope, call.params
    items = []
    for action in scope.all(SCHEDULE):
        sizes = {"MinSize": "minSize", "MaxSize": "maxSize", "DesiredCapacity": "desiredCapacity"}
        out = action.outputs
        items.append({
            "AutoScalingGroupName": out["autoscalingGroupName"], "ScheduledActionName": action.id,
            "ScheduledActionARN": out["arn"], "StartTime": moment(out["startTime"]), "Time": moment(out["startTime"]),
            **{member: int(out[f]) for member, f in sizes.items() if int(out[f]) != UNCHANGED},
        })  # fmt: skip
    items += [d for g in scope.all(NODE_GROUP) if (d := drain(scope, g)) is not None]
    wanted, names = params.get("AutoScalingGroupName"), params.get("ScheduledActionNames")
    found = [i for i in items if (not wanted or i["AutoScalingGroupName"] == wanted)
             and (not names or i["ScheduledActionName"] in names)]  # fmt: skip
    rows, after = page(found, params.get("MaxRecords"), params.get("NextToken"), 100, lambda t: AwsError(
        "InvalidNextToken", f"The token '{t}' is invalid."))  # fmt: skip
    return {"ScheduledUpdateGroupActions": rows, **({"NextToken": after} if after else {})}


# -- FSx --------------------------------------------------------------------------------------------------------------
@served("fsx", "DescribeFileSystems", "FileSystemIds", "MaxResults", "NextToken")
def describe_fsx_file_systems(call: Call) -> Item:
    """None: creates of FSx are refused, so there is nothing to list and no id is right."""
    wanted = call.params.get("FileSystemIds")
    if wanted:
        raise AwsError("FileSystemNotFound", f"File system '{wanted[0]}' does not exist.")
    return {"FileSystems": []}
