"""Add-ons that the cloud puts into a cluster by itself: their objects, with real names, labels and images."""

from __future__ import annotations

import string
from importlib import resources

import yaml

from accelerator_fleet_sim.cluster.kube import ApiError, KubeClient
from accelerator_fleet_sim.cluster.model import ClusterError, Json

_PATHS = {
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts/{name}",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps/{name}",
    "Service": "/api/v1/namespaces/{namespace}/services/{name}",
    "DaemonSet": "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses/{name}",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}",
}
OWN = ("gke-", "amd-", "nvidia-", "ascend-")  # what EKS did not put there


def known() -> list[str]:
    folder = resources.files("accelerator_fleet_sim.cluster") / "data" / "addons"
    return sorted(f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml"))


def objects(addon: str, version: str, region: str) -> list[Json]:
    """The objects of an add-on; `$version` and `$region` in the data are replaced."""
    if addon not in known():
        raise ClusterError(f"add-on {addon!r} has no objects here; known: {', '.join(known())}")
    text = (resources.files("accelerator_fleet_sim.cluster") / "data" / "addons" / f"{addon}.yaml").read_text()
    filled = string.Template(text).substitute(version=version, region=region)
    return [item for item in yaml.safe_load_all(filled) if item]


def _path(item: Json) -> str:
    return _PATHS[item["kind"]].format(**item["metadata"])


def apply(client: KubeClient, addon: str, version: str, region: str) -> None:
    manager = addon if addon.startswith(OWN) else "eks"
    for item in objects(addon, version, region):
        try:
            client.apply(_path(item), item, manager=manager)
        except ApiError as error:
            raise ClusterError(f"add-on {addon}: {item['kind']} {item['metadata']['name']}: {error}") from error


def remove(client: KubeClient, addon: str) -> None:
    for item in reversed(objects(addon, "none", "none")):
        client.delete(_path(item), {"propagationPolicy": "Background"})
