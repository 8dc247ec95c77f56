"""Kubernetes quantities, and what a kubelet leaves to pods of what its machine has."""

from __future__ import annotations

import re

_SUFFIX = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
}  # fmt: skip
_MI = 2**20


def milli(quantity: str) -> int:
    """A quantity in thousandths: `"3920m"` -> 3920, `"8"` -> 8000."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(m|[kMGTP]|[KMGTP]i|)", quantity.strip())
    if match is None:
        raise ValueError(f"{quantity!r} is no quantity")
    number, suffix = float(match[1]), match[2]
    return round(number) if suffix == "m" else round(number * 1000 * _SUFFIX[suffix])


def allocatable(capacity: dict[str, str]) -> dict[str, str]:
    """What Amazon Linux 2023's kubelet leaves: capacity less what it reserves for itself and for eviction.

    memory: 255 MiB + 11 MiB per pod reserved, 100 MiB eviction threshold. cpu: 6 % of the first core, 1 % of the
    second, 0.5 % of the next two, 0.25 % of the rest. ephemeral storage: 1 GiB reserved, 10 % eviction threshold.
    Source: awslabs/amazon-eks-ami, nodeadm/internal/kubelet (AL2023).
    """
    left = dict(capacity)
    pods = int(capacity.get("pods", "110"))
    if "cpu" in capacity:
        cpu = milli(capacity["cpu"])
        left["cpu"] = f"{cpu - _cpu_reserved(cpu)}m"
    if "memory" in capacity:
        reserved = (255 + 11 * pods + 100) * _MI
        left["memory"] = f"{max(0, milli(capacity['memory']) // 1000 - reserved) // 1024}Ki"
    if "ephemeral-storage" in capacity:
        size = milli(capacity["ephemeral-storage"]) // 1000
        left["ephemeral-storage"] = str(max(0, size - size // 10 - 2**30))
    return left


def _cpu_reserved(cpu: int) -> int:
    """Millicores that the kubelet keeps of `cpu` millicores."""
    reserved, start = 0.0, 0
    for upto, share in ((1000, 0.06), (2000, 0.01), (4000, 0.005), (cpu, 0.0025)):
        reserved += max(0, min(cpu, upto) - start) * share
        start = max(start, upto)
    return int(reserved)
