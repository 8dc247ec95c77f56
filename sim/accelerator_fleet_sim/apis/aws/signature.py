"""Who signed a request, for which region and service: Signature Version 4, checked as AWS does."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from ..listener import Request

HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<date>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, *"
    r"SignedHeaders=(?P<headers>[^,]+), *Signature=(?P<signature>[0-9a-f]{64})"
)
SKEW = timedelta(minutes=15)


class Unsigned(Exception):
    """The request does not say who asks, or says it wrongly; `kind` is missing, key, wrong or late."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


@dataclass(frozen=True)
class Signer:
    """A signature's scope."""

    region: str
    service: str  # the name that services sign by, such as elasticfilesystem


def read(request: Request) -> Signer:
    """The scope that the request names, before anything is checked."""
    found = HEADER.fullmatch(request.headers.get("authorization", ""))
    if found is None:
        raise Unsigned("missing", "Request is missing Authentication Token")
    return Signer(found["region"], found["service"])


def check(request: Request, access_key: str, secret_key: str) -> None:
    """Raises Unsigned unless the key is the one of this account and the signature is right."""
    found = HEADER.fullmatch(request.headers.get("authorization", ""))
    assert found is not None, "read() comes first"
    if found["key"] != access_key:
        raise Unsigned("key", "The security token included in the request is invalid.")
    stamp = request.headers.get("x-amz-date", "")
    try:
        when = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise Unsigned("missing", "Request is missing Authentication Token") from None
    if abs(datetime.now(UTC) - when) > SKEW:
        raise Unsigned("late", f"Signature expired or not yet current: {stamp}")
    signed = {h: request.headers[h] for h in found["headers"].split(";") if h in request.headers}
    again = AWSRequest(request.method, f"http://{request.headers.get('host', '')}{request.target}", signed,
                       request.body)  # fmt: skip
    again.context["timestamp"] = stamp
    auth = SigV4Auth(Credentials(access_key, secret_key), found["service"], found["region"])
    right = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    if not hmac.compare_digest(right, found["signature"]):
        raise Unsigned("wrong", "The request signature we calculated does not match the signature you provided. Check "
                       "your AWS Secret Access Key and signing method.")  # fmt: skip
