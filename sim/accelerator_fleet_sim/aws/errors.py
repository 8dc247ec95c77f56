"""Errors of the simulated AWS: the API's code and message, and the text that the provider makes of them."""

from __future__ import annotations

import uuid
from typing import Any

from ..daemon.operations import Later

__all__ = ["AwsError", "Later", "Unhealthy", "body"]

# Services whose errors the AWS SDK models as types print `Code: message`; EC2's are generic `api error Code: message`.
MODELLED = {"EKS", "IAM", "EFS", "FSx", "ECR", "KMS", "CloudWatch Logs", "S3"}


class AwsError(Exception):
    """What an API call answered. `doing` and `call` are filled in where the call is known."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


class Unhealthy(Exception):
    """Something was made that did not become healthy: it stays, in state `state`, and the wait for it failed."""

    def __init__(self, state: str, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.state, self.code, self.message = state, code, message
        self.doing = ""  # what the provider waits for, where that is not the operation itself


def body(error: AwsError, doing: str, service: str, operation: str, note: str = "") -> dict[str, Any]:
    """The error as the daemon answers it."""
    kind = f"{error.code}: " if service in MODELLED else f"api error {error.code}: "
    kind = kind if error.code else ""  # no answer at all
    text = (
        f"{doing}: operation error {service}: {operation}, {note}https response error StatusCode: {error.status}, "
        f"RequestID: {uuid.uuid4() if error.code else ''}, {kind}{error.message}"
    )
    return {"code": error.code, "message": error.message, "status": error.status, "text": text}
