"""Security groups and their rules."""

from __future__ import annotations

from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import Scope
from .vpc import GROUP

INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
SOURCES = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")


class SecurityGroup(Behaviour):
    """A group; the provider takes away the egress rule that AWS gives every new one."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        if not inputs.get("vpcId"):
            raise AwsError("VPCIdNotSpecified", "No default VPC for this user")

    def check_references(self, scope: Scope, inputs: dict[str, Any]) -> None:
        super().check_references(scope, {k: v for k, v in inputs.items() if k not in ("ingress", "egress")})
        for block in ("ingress", "egress"):
            for rule in inputs.get(block) or []:
                for group in rule.get("securityGroups") or []:
                    self.reference(scope, "group", group)

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for kind in (INGRESS, EGRESS):
            for rule in scope.all(kind, securityGroupId=resource.id):
                scope.store.remove(rule)


class SecurityGroupRule(Behaviour):
    """One rule; the same one cannot exist twice in a group."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        group = scope.find(GROUP, inputs["securityGroupId"])
        assert group is not None
        self._check_ports(inputs)
        rules = scope.all(self.token, securityGroupId=group.id)
        if len(rules) >= scope.catalog.account["quotas"]["rules_per_security_group"]["value"]:
            raise AwsError("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has "
                           "been reached.")  # fmt: skip
        if any(_key(r.outputs) == _key(inputs) for r in rules):
            peer = next((inputs[s] for s in SOURCES if inputs.get(s)), "")
            raise AwsError(
                "InvalidPermission.Duplicate",
                f'the specified rule "peer: {peer}, {_protocol(inputs["ipProtocol"])}, ALLOW" already exists',
            )

    @staticmethod
    def _check_ports(inputs: dict[str, Any]) -> None:
        low, high = inputs.get("fromPort"), inputs.get("toPort")
        protocol = str(inputs["ipProtocol"]).lower()
        if protocol in ("tcp", "udp", "6", "17"):
            if low is None or high is None:
                raise AwsError("InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/"
                               "UDP.' for portRange.")  # fmt: skip
            if low > high:
                raise AwsError("InvalidParameterValue", f"Invalid TCP/UDP port range ({low}:{high})")

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs["arn"] = scope.arn("ec2", f"security-group-rule/{resource.id}")


def _protocol(value: Any) -> str:
    return "ALL" if str(value) in ("-1", "all") else str(value).upper()


def _key(rule: dict[str, Any]) -> tuple[Any, ...]:
    ports = (None, None) if str(rule["ipProtocol"]) in ("-1", "all") else (rule.get("fromPort"), rule.get("toPort"))
    return (_protocol(rule["ipProtocol"]), *ports, *(rule.get(s) or None for s in SOURCES))
