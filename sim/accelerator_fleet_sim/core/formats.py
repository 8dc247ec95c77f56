"""Formats of strings that a provider checks before any call: each gives the reason against a value, or None."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_PARTITION = re.compile(r"aws(-[a-z]+)*")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d{1,2}")
_ACCOUNT = re.compile(r"aws|aws-managed|aws-marketplace|third-party|\d{12}|cw.{10}")


def arn(name: str, value: str) -> str | None:
    """An ARN with a partition, a region or none, an account or none, and a resource."""
    if value == "":
        return None
    start = f'"{name}" ({value}) is an invalid ARN'
    if not value.startswith("arn:"):
        return f"{start}: arn: invalid prefix"
    parts = value.split(":", 5)
    if len(parts) != 6:
        return f"{start}: arn: not enough sections"
    _, partition, _, region, account, resource = parts
    if not _PARTITION.fullmatch(partition):
        return f"{start}: invalid partition value (expecting to match regular expression: ^aws(-[a-z]+)*$)"
    if region and not _REGION.fullmatch(region):
        return f"{start}: invalid region value"
    if account and not _ACCOUNT.fullmatch(account):
        return f"{start}: invalid account ID value"
    return None if resource else f"{start}: missing resource value"


def _network(value: str, version: int | None) -> str | None:
    """A network address with its prefix length; a mask (`/255.255.0.0`) is none."""
    if not re.fullmatch(r"[^/]+/\d+", value):
        return f'"{value}" is not a valid CIDR block: invalid CIDR address: {value}'
    try:
        interface = ipaddress.ip_interface(value)
    except ValueError as error:
        return f'"{value}" is not a valid CIDR block: {error}'
    words = f"IPv{version} CIDR block" if version else "CIDR block"
    if version and interface.version != version:
        return f'"{value}" is not a valid {words}'
    if interface.ip != interface.network.network_address:
        return f'"{value}" is not a valid {words}; did you mean "{interface.network}"?'
    return None


def cidr4(name: str, value: str) -> str | None:
    """An IPv4 network."""
    return _network(value, 4)


def cidr6(name: str, value: str) -> str | None:
    """An IPv6 network."""
    return _network(value, 6)


def cidr(name: str, value: str) -> str | None:
    """A network of either version."""
    return _network(value, None)


def _address(name: str, value: str, version: int) -> str | None:
    try:
        if ipaddress.ip_address(value).version == version:
            return None
    except ValueError:
        pass
    return f"expected {name} to contain a valid IPv{version} address, got: {value}"


def boolean(name: str, value: str) -> str | None:
    """A string that holds a boolean or nothing (nullable.ValidateTypeStringNullableBool)."""
    known = value.lower() if value in ("True", "False") else value  # a boolean, in Python's words
    if known in ("", "true", "false"):
        return None
    return f"expected {name} to be one of '', 'true', or 'false', got '{value}'"


def time(name: str, value: str) -> str | None:
    """RFC 3339."""
    return None if _TIME.fullmatch(value) else f'expected "{name}" to be a valid RFC3339 date, got "{value}"'


def zulu(name: str, value: str) -> str | None:
    """Go's 2006-01-02T15:04:05Z: whole seconds of UTC (validScheduleTimestamp of aws_autoscaling_schedule)."""
    good = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value)
    return None if good else f'"{value}" cannot be parsed as iso8601 Timestamp Format'


def private_asn(name: str, value: str) -> str | None:
    """A private AS number of RFC 6996, or Google's own (verify.ValidateRFC6996Asn)."""
    number = int(float(value))
    if 64512 <= number <= 65534 or 4200000000 <= number <= 4294967294 or number == 16550:
        return None
    return (
        f'expected "{name}" to be a RFC6996-compliant Local ASN: must be either in the private ASN ranges: '
        f"[64512..65534], [4200000000..4294967294]; or be the value of [16550], got {number}"
    )


def iam_member(name: str, value: str) -> str | None:
    """A member of an IAM policy (validateIAMMember)."""
    if value.startswith("deleted"):
        return f"invalid value for {name} (Terraform does not support IAM members for deleted principals)"
    if re.search("(.+:.+|projectOwners|projectReaders|projectWriters|allUsers|allAuthenticatedUsers)", value):
        return None
    return f'invalid value "{value}" for {name} (IAM members are like serviceAccount:EMAIL, user:EMAIL, group:EMAIL)'


FORMATS: dict[str, Callable[[str, str], str | None]] = {
    "arn": arn,
    "cidr4": cidr4,
    "cidr6": cidr6,
    "cidr": cidr,
    "ipv4": lambda name, value: _address(name, value, 4),
    "ipv6": lambda name, value: _address(name, value, 6),
    "boolean": boolean,
    "time": time,
    "zulu": zulu,
    "private_asn": private_asn,
    "iam_member": iam_member,
}
