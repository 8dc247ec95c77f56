"""Security groups and their rules."""

from __future__ import annotations

import re
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import Scope
from .vpc import GROUP

INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
SOURCES = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")


INLINE_SOURCES = ("cidrBlocks", "ipv6CidrBlocks", "prefixListIds", "securityGroups", "self")
GROUP_NAME = re.compile(r"[0-9A-Za-z ._:/()#,@\[\]+=&;{}!$*-]+")  # botocore ec2 CreateSecurityGroup


def check_ports(protocol: Any, low: int | None, high: int | None) -> None:
    """Protocol and ports as EC2 takes them (text of the first: terraform-provider-aws#1793)."""
    name = str(protocol).lower()
    if name not in ("-1", "all", "tcp", "udp", "icmp", "icmpv6") and not (name.isdigit() and int(name) <= 255):
        raise AwsError("InvalidParameterValue", f"Invalid value '{protocol}' for IP protocol. Unknown protocol.")
    if name in ("tcp", "udp", "6", "17"):
        if low is None or high is None:
            raise AwsError("InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.' "
                           "for portRange.")  # fmt: skip
        if low > high or low < 0:
            raise AwsError("InvalidParameterValue", f"Invalid TCP/UDP port range ({low}:{high})")
    if name in ("icmp", "icmpv6", "1", "58") and any(p is not None and p > 255 for p in (low, high)):
        raise AwsError("InvalidParameterValue", f"ICMP code ({high}) out of range")


class SecurityGroup(Behaviour):
    """A group; the provider takes away the egress rule that AWS gives every new one."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        if not inputs.get("vpcId"):
            raise AwsError("VPCIdNotSpecified", "No default VPC for this user")
        if not GROUP_NAME.fullmatch(str(inputs.get("name") or "")):
            raise AwsError("InvalidParameterValue", f"Value ({inputs.get('name')}) for parameter GroupName is invalid: "
                           "letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*")  # fmt: skip
        self._check_inline(inputs)

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self._check_inline(inputs)

    @staticmethod
    def _check_inline(inputs: dict[str, Any]) -> None:
        """Rules inside the group: the provider's own check of "all" (hashicorp/terraform#2131), then EC2's."""
        for rule in [*(inputs.get("ingress") or []), *(inputs.get("egress") or [])]:
            low, high = rule.get("fromPort"), rule.get("toPort")
            if str(rule["protocol"]) in ("-1", "all") and (low or high):
                raise AwsError("InvalidParameterValue", f"from_port ({low}) and to_port ({high}) must both be 0 to use "
                               "the 'ALL' \"-1\" protocol!")  # fmt: skip
            check_ports(rule["protocol"], low, high)
            if not any(rule.get(s) for s in INLINE_SOURCES):
                raise AwsError("MissingParameter", "A security group rule needs one of cidrBlocks, ipv6CidrBlocks, "
                               "prefixListIds, securityGroups and self")  # fmt: skip

    def check_references(self, scope: Scope, inputs: dict[str, Any]) -> None:
        super().check_references(scope, {k: v for k, v in inputs.items() if k not in ("ingress", "egress")})
        for block in ("ingress", "egress"):
            for rule in inputs.get(block) or []:
                for group in rule.get("securityGroups") or []:
                    self.reference(scope, "group", group)

    def validate_delete(self, scope: Scope, resource: Resource) -> None:
        if resource.owner.startswith("vpc:"):  # EC2 API error codes: CannotDelete
            raise AwsError("CannotDelete", f'the specified group: "{resource.id}" name: "default" cannot be deleted by '
                           "a user")  # fmt: skip

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for kind in (INGRESS, EGRESS):
            for rule in scope.all(kind, securityGroupId=resource.id):
                scope.store.remove(rule)


class SecurityGroupRule(Behaviour):
    """One rule; the same one cannot exist twice in a group."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        group = scope.find(GROUP, inputs["securityGroupId"])
        assert group is not None
        self._check(scope, group, inputs)
        rules = scope.all(self.token, securityGroupId=group.id)
        if len(rules) >= scope.catalog.account["quotas"]["rules_per_security_group"]["value"]:
            raise AwsError("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has "
                           "been reached.")  # fmt: skip
        self._refuse_duplicate(rules, inputs)

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        group = scope.find(GROUP, inputs["securityGroupId"])
        assert group is not None
        self._check(scope, group, inputs)
        others = [r for r in scope.all(self.token, securityGroupId=group.id) if r.id != resource.id]
        self._refuse_duplicate(others, inputs)

    @staticmethod
    def _refuse_duplicate(rules: list[Resource], inputs: dict[str, Any]) -> None:
        if any(_key(r.outputs) == _key(inputs) for r in rules):
            peer = next((inputs[s] for s in SOURCES if inputs.get(s)), "")
            raise AwsError(
                "InvalidPermission.Duplicate",
                f'the specified rule "peer: {peer}, {_protocol(inputs["ipProtocol"])}, ALLOW" already exists',
            )

    @staticmethod
    def _check(scope: Scope, group: Resource, inputs: dict[str, Any]) -> None:
        check_ports(inputs["ipProtocol"], inputs.get("fromPort"), inputs.get("toPort"))
        if not any(inputs.get(s) for s in SOURCES):
            raise AwsError("MissingParameter", f"A security group rule needs one of {', '.join(SOURCES)}")
        lists = {e.outputs.get("prefixListId") for e in scope.all("aws:ec2/vpcEndpoint:VpcEndpoint")}
        wanted = inputs.get("prefixListId")
        if wanted and wanted not in lists:
            raise AwsError("InvalidPrefixListID.NotFound", f"The prefix list ID '{wanted}' does not exist")
        peer = scope.find(GROUP, inputs.get("referencedSecurityGroupId") or "")
        if peer is not None and peer.outputs["vpcId"] != group.outputs["vpcId"]:  # ansible/ansible#45782
            raise AwsError(
                "InvalidGroup.NotFound", "You have specified two resources that belong to different networks."
            )

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs["arn"] = scope.arn("ec2", f"security-group-rule/{resource.id}")


def _protocol(value: Any) -> str:
    return "ALL" if str(value) in ("-1", "all") else str(value).upper()


def _key(rule: dict[str, Any]) -> tuple[Any, ...]:
    ports = (None, None) if str(rule["ipProtocol"]) in ("-1", "all") else (rule.get("fromPort"), rule.get("toPort"))
    return (_protocol(rule["ipProtocol"]), *ports, *(rule.get(s) or None for s in SOURCES))
