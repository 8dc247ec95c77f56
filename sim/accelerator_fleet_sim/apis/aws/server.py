"""AWS's endpoint: one for all services, told apart by the signature's scope."""

from __future__ import annotations

from typing import Any

from botocore.model import ServiceModel

from accelerator_fleet_engine.endpoints import ACCESS_KEY, SECRET_KEY

from ...aws.control import ControlPlane
from ...aws.errors import AwsError
from ...aws.functions import ACCOUNT
from ...aws.scope import World
from ..faults import AwsReads, hiding, struck, type_of
from ..listener import Answer, Request
from . import ec2, ec2_capacity, ec2_changes, ec2_network, efs, eks, signature, small, tagging, wire
from . import iam as iam_api
from .calls import Call, refuse_unknown
from .parse import Unclear, parse

# the name in a signature -> botocore's name of the service
SERVICES = {
    "ec2": "ec2", "eks": "eks", "iam": "iam", "sts": "sts", "elasticfilesystem": "efs", "kms": "kms", "logs": "logs",
    "tagging": "resourcegroupstaggingapi", "autoscaling": "autoscaling", "fsx": "fsx",
}  # fmt: skip
TITLES = {"logs": "CloudWatch Logs"}  # where the provider's name of a service is not its own in capitals
GLOBAL = {"iam"}
PARTS = (ec2, ec2_capacity, ec2_changes, ec2_network, efs, eks, iam_api, small, tagging)  # each enters its operations
# how each kind of bad signature is answered: (EC2, other services), code and status
REFUSALS = {
    "missing": (("AuthFailure", 401), ("MissingAuthenticationToken", 403)),
    "key": (("AuthFailure", 401), ("UnrecognizedClientException", 403)),
    "late": (("RequestExpired", 400), ("SignatureDoesNotMatch", 403)),
    "wrong": (("AuthFailure", 401), ("SignatureDoesNotMatch", 403)),
}


class AwsApi:
    """Answers requests; everything it knows it asks of the control plane's store."""

    def __init__(self, control: ControlPlane, world: World) -> None:
        self.control, self.world = control, world

    def handle(self, request: Request) -> Answer:
        """One request."""
        try:
            signer = signature.read(request)
        except signature.Unsigned as problem:
            return wire.refusal(wire.model("sts"), "MissingAuthenticationToken", problem.message, 403)
        if signer.service not in SERVICES:
            text = f"{signer.service} is not served by the embedded datacentre; it serves {', '.join(sorted(SERVICES))}"
            return wire.refusal(wire.model("eks"), "NotServed", text, 501)
        service = wire.model(SERVICES[signer.service])
        try:
            signature.check(request, ACCESS_KEY, SECRET_KEY)
        except signature.Unsigned as problem:
            return _unsigned(service, problem)
        try:
            operation, params = parse(service, request)
            answer = self._answer(service, operation.name, params, signer.region)
        except Unclear as problem:
            return wire.refusal(service, problem.code, problem.message, 400)
        except AwsError as error:
            return wire.refusal(service, error.code, error.message, error.status)
        return wire.serialize(operation, answer)

    def _answer(self, service: ServiceModel, operation: str, params: dict[str, Any], region: str) -> dict[str, Any]:
        name = service.service_name
        if name not in GLOBAL and not self.world.catalog.zones(region):
            raise AwsError("InvalidRegion", f"the embedded datacentre has no region {region}")
        handler = refuse_unknown(name, operation, params).handler
        self._weather(name, operation, params)
        scope = AwsReads(self.world, ACCOUNT, region, stale=hiding(self.world.faults, self.world.clock))
        return handler(Call(scope, params, self.control))

    def _weather(self, service: str, operation: str, params: dict[str, Any]) -> None:
        """Raises what a fault makes of the call."""
        title = TITLES.get(service, service.upper())
        tokens = [t for t, b in self.control.behaviours.items() if b.service == title]
        fault = struck(self.world.faults, "aws", type_of(tokens, operation, f"aws:{service}/"), params)
        if fault is not None:
            row = self.world.fault_rules.answer(fault, title)
            raise AwsError(row["code"], row["message"], row["status"])


def _unsigned(service: ServiceModel, problem: signature.Unsigned) -> Answer:
    mine, others = REFUSALS[problem.kind]
    code, status = mine if service.service_name == "ec2" else others
    if problem.kind == "key" and service.resolved_protocol == "query":
        code = "InvalidClientTokenId"
    text = problem.message
    if code == "AuthFailure":
        text = "AWS was not able to validate the provided access credentials"
    return wire.refusal(service, code, text, status)
