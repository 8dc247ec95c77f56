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


def allocatable(capacity: dict[str, str], system: str = "eks") -> dict[str, str]:
    """What the kubelet of EKS, of GKE or of a plain cluster leaves to pods."""
    return {"eks": _amazon, "gke": _google}.get(system, _plain)(capacity)


def _plain(capacity: dict[str, str]) -> dict[str, str]:
    """A kubelet without settings reserves nothing but 100 MiB before it evicts."""
    left = dict(capacity)
    if "memory" in capacity:
        left["memory"] = f"{milli(capacity['memory']) // 1000 // 1024 - 100 * 1024}Ki"
    return left


def _google(capacity: dict[str, str]) -> dict[str, str]:
    """memory: 25 % of the first 4 GiB, 20 % of the next 4, 10 % of 8, 6 % of 112, 2 % above, and 100 MiB for eviction.

    cpu as on EKS. ephemeral storage: 10 % eviction threshold and the least of 50 %, 6 GiB + 35 %, 100 GiB.
    Source: https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes, from memory.
    """
    left = dict(capacity)
    cpu = milli(capacity["cpu"])
    left["cpu"] = f"{cpu - _cpu_reserved(cpu)}m"
    memory, reserved, start = milli(capacity["memory"]) // 1000, 100.0 * _MI, 0
    for upto, share in ((4, 0.25), (8, 0.2), (16, 0.1), (128, 0.06), (10**6, 0.02)):
        reserved += max(0, min(memory, upto * 2**30) - start) * share
        start = max(start, upto * 2**30)
    left["memory"] = f"{int(memory - reserved) // 1024}Ki"
    size = milli(capacity["ephemeral-storage"]) // 1000
    own = min(size * 0.5, 6 * 2**30 + size * 0.35, 100 * 2**30)
    left["ephemeral-storage"] = str(int(size - size // 10 - own))
    return left


def _amazon(capacity: dict[str, str]) -> dict[str, str]:
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
