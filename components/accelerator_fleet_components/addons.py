"""What a site's cluster runs for the fleet: device plugins and Kueue, by the vendors' charts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pulumi
import yaml

from accelerator_fleet.plan.model import AddonPlan, SitePlan
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s

# A folder with the same charts, where no chart registry is reached: an engine setting, no field of the spec.
CHARTS: Final = "ACCELERATOR_FLEET_CHARTS"
EFA_RESOURCE: Final = "vpc.amazonaws.com/efa"
# Quotas count cards. What else a pod asks for is the scheduler's business.
NOT_IN_QUOTA: Final = ("cpu", "memory", "ephemeral-storage", EFA_RESOURCE, "hugepages-")


class SiteAddons(pulumi.ComponentResource):
    """Managed add-ons of one cluster. `kueue` is what queues depend on; None when the cluster has its own."""

    kueue: pulumi.Resource | None

    def __init__(
        self,
        name: str,
        site: SitePlan,
        cluster: k8s.Provider,
        deleted_with: pulumi.Resource | None,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Only add-ons whose state is `managed` are installed; `present` and `absent` are left alone.

        `after`: nodes to run on.
        """
        super().__init__(token("SiteAddons"), name, None, opts)
        self._opts = pulumi.ResourceOptions(parent=self, provider=cluster, deleted_with=deleted_with, depends_on=after)
        self._name = name
        self.kueue = None
        for addon in site.addons:
            if addon.state != "managed":
                continue
            if addon.name == "kueue":
                self.kueue = self._chart(addon, kueue_values(addon))
            elif addon.name == "nvidia-device-plugin":
                self._chart(addon, {"nfd": {"enabled": False}, "gfd": {"enabled": False}})
            elif addon.name == "efa-device-plugin":
                self._efa(addon)
        self.register_outputs({})

    def _chart(self, addon: AddonPlan, values: dict[str, object]) -> k8s.helm.v3.Release:
        from pulumi_kubernetes.helm import v3 as helm

        where, version, repository = chart_source(addon)
        return helm.Release(
            f"{self._name}-{addon.name}",
            # The release's own name is fixed: a second Kueue in one cluster would fight with the first.
            name=addon.name,
            chart=where,
            version=version,
            repository_opts={"repo": repository} if repository else None,
            namespace=addon.namespace,
            create_namespace=addon.namespace != "kube-system",
            values=values,
            timeout=300,
            opts=self._opts,
        )

    def _efa(self, addon: AddonPlan) -> None:
        from pulumi_kubernetes import apps

        labels = {"app.kubernetes.io/name": "aws-efa-k8s-device-plugin"}
        plugins = "/var/lib/kubelet/device-plugins"
        container = {
            "name": "efa",
            "image": addon.image,
            "security_context": {"allow_privilege_escalation": False, "capabilities": {"drop": ["ALL"]}},
            "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
            "volume_mounts": [
                {"name": "device-plugin", "mount_path": plugins},
                {"name": "infiniband", "mount_path": "/dev/infiniband"},
            ],
        }
        apps.v1.DaemonSet(
            f"{self._name}-{addon.name}",
            metadata={"name": "aws-efa-k8s-device-plugin", "namespace": addon.namespace, "labels": labels},
            spec={
                "selector": {"match_labels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        # Every pool with EFA interfaces carries this label; it is in the plan.
                        "node_selector": {"accelerator-fleet.dev/efa": "true"},
                        "tolerations": [{"operator": "Exists"}],
                        "priority_class_name": "system-node-critical",
                        "host_network": True,
                        "containers": [container],
                        "volumes": [
                            {"name": "device-plugin", "host_path": {"path": plugins}},
                            {"name": "infiniband", "host_path": {"path": "/dev/infiniband"}},
                        ],
                    },
                },
            },
            opts=self._opts,
        )


def chart_source(addon: AddonPlan) -> tuple[str, str | None, str | None]:
    """(chart, version, repository) of a managed add-on: the local copy where one is given, else the vendor's."""
    local = os.environ.get(CHARTS)
    if local and (Path(local) / addon.name / "Chart.yaml").is_file():
        return str(Path(local) / addon.name), None, None
    assert addon.chart is not None
    if addon.chart.startswith("oci://"):
        return addon.chart, addon.version, None
    repository, _, chart = addon.chart.rpartition("/")
    return chart, addon.version, repository


def kueue_values(addon: AddonPlan) -> dict[str, object]:
    """The chart values of Kueue: its released image, and a configuration whose quotas count cards only."""
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True},
        "integrations": {"frameworks": ["batch/job"]},
        "resources": {"excludeResourcePrefixes": list(NOT_IN_QUOTA)},
    }
    return {
        "enableVisibilityAPF": False,
        "controllerManager": {
            "replicas": 1,
            "manager": {"image": {"repository": "registry.k8s.io/kueue/kueue", "tag": f"v{addon.version}"}},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(config, sort_keys=False)},
    }
