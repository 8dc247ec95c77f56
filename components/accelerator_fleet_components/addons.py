"""What a site's cluster runs for the fleet: device plugins and Kueue, by the vendors' charts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pulumi
import yaml

from accelerator_fleet.plan.model import AddonPlan, SitePlan
from accelerator_fleet_components.sharing import plugin_values
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s

# A folder with the same charts, where no chart registry is reached: an engine setting, no field of the spec.
CHARTS: Final = "ACCELERATOR_FLEET_CHARTS"
PLUGINS: Final = "/var/lib/kubelet/device-plugins"
# The machines with Neuron devices, as AWS's own manifest of the plugin lists them.
# https://github.com/aws-neuron/aws-neuron-sdk (src/k8/k8s-neuron-device-plugin.yml)
NEURON_MACHINES: Final = (
    *(f"inf1.{size}" for size in ("xlarge", "2xlarge", "6xlarge", "24xlarge")),
    *(f"inf2.{size}" for size in ("xlarge", "4xlarge", "8xlarge", "24xlarge", "48xlarge")),
    *("trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge"),
)
EFA_RESOURCE: Final = "vpc.amazonaws.com/efa"
# Quotas count cards. What else a pod asks for is the scheduler's business.
NOT_IN_QUOTA: Final = ("cpu", "memory", "ephemeral-storage", EFA_RESOURCE, "hugepages-")

# Kueue's own order: first such preemptions after which the one that takes has no larger share than the one that gives.
FAIR: Final = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


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
        *,
        fair: bool = False,
    ) -> None:
        """Only add-ons whose state is `managed` are installed; `present` and `absent` are left alone.

        `after`: nodes to run on. `fair`: idle cards are shared by the weights of teams.
        """
        super().__init__(token("SiteAddons"), name, None, opts)
        self._opts = pulumi.ResourceOptions(parent=self, provider=cluster, deleted_with=deleted_with, depends_on=after)
        self._name = name
        self.kueue = None
        for addon in site.addons:
            if addon.state != "managed":
                continue
            if addon.name == "kueue":
                self.kueue = self._chart(addon, kueue_values(addon, jobset=has_jobset(site), fair=fair))
            elif addon.name == "jobset":
                self._chart(addon, jobset_values(addon))
            elif addon.name == "nvidia-device-plugin":
                self._chart(addon, plugin_values(addon))
            elif addon.name == "efa-device-plugin":
                self._efa(addon)
            elif addon.name == "neuron-device-plugin":
                self._neuron(addon)
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
        container = {
            "name": "efa",
            "image": addon.image,
            "security_context": {"allow_privilege_escalation": False, "capabilities": {"drop": ["ALL"]}},
            "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
        }
        # Every pool with EFA interfaces carries this label; it is in the plan.
        placed = {"node_selector": {"accelerator-fleet.dev/efa": "true"}, "host_network": True}
        mounts = {"device-plugin": PLUGINS, "infiniband": "/dev/infiniband"}
        self._daemon(addon, "aws-efa-k8s-device-plugin", container, mounts, placed)

    def _neuron(self, addon: AddonPlan) -> None:
        from pulumi_kubernetes import core, rbac

        name = "neuron-device-plugin"
        metadata = {"name": name}
        account = core.v1.ServiceAccount(
            f"{self._name}-{addon.name}", metadata={**metadata, "namespace": addon.namespace}, opts=self._opts
        )
        # It reads its own node and annotates pods with the devices they got.
        rules = [
            {"api_groups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
            {"api_groups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
            {"api_groups": [""], "resources": ["pods"], "verbs": ["update", "patch", "get", "list", "watch"]},
            {"api_groups": [""], "resources": ["nodes/status"], "verbs": ["patch", "update"]},
        ]
        role = rbac.v1.ClusterRole(f"{self._name}-{addon.name}", metadata=metadata, rules=rules, opts=self._opts)
        rbac.v1.ClusterRoleBinding(
            f"{self._name}-{addon.name}",
            metadata=metadata,
            role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role.metadata.name},
            subjects=[
                {"kind": "ServiceAccount", "name": account.metadata.name, "namespace": account.metadata.namespace}
            ],
            opts=self._opts,
        )
        container = {
            "name": "neuron",
            "image": addon.image,
            "env": [{"name": "NODE_NAME", "value_from": {"field_ref": {"field_path": "spec.nodeName"}}}],
            "security_context": {"allow_privilege_escalation": False, "capabilities": {"drop": ["ALL"]}},
        }
        machines = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(NEURON_MACHINES)}
        term = {"node_selector_terms": [{"match_expressions": [machines]}]}
        placed = {
            "service_account_name": account.metadata.name,
            "affinity": {"node_affinity": {"required_during_scheduling_ignored_during_execution": term}},
        }
        self._daemon(addon, name, container, {"device-plugin": PLUGINS, "infa-map": "/run"}, placed)

    def _daemon(
        self,
        addon: AddonPlan,
        name: str,
        container: Mapping[str, object],
        mounts: dict[str, str],
        placed: Mapping[str, object],
    ) -> None:
        """A device plugin without a chart: one pod on every node that has the device, whatever its taints."""
        from pulumi_kubernetes import apps

        labels = {"app.kubernetes.io/name": name}
        apps.v1.DaemonSet(
            f"{self._name}-{addon.name}",
            metadata={"name": name, "namespace": addon.namespace, "labels": labels},
            spec={
                "selector": {"match_labels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        **placed,
                        "tolerations": [{"operator": "Exists"}],
                        "priority_class_name": "system-node-critical",
                        "containers": [
                            {
                                **container,
                                "volume_mounts": [{"name": v, "mount_path": path} for v, path in mounts.items()],
                            }
                        ],
                        "volumes": [{"name": v, "host_path": {"path": path}} for v, path in mounts.items()],
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


def has_jobset(site: SitePlan) -> bool:
    """Whether gangs can be JobSets here."""
    return any(a.name == "jobset" and a.state != "absent" for a in site.addons)


def jobset_values(addon: AddonPlan) -> dict[str, object]:
    """The chart values of JobSet: its released image; the chart names a staging one."""
    return {"image": {"repository": "registry.k8s.io/jobset/jobset", "tag": f"v{addon.version}"}}


def kueue_values(addon: AddonPlan, *, jobset: bool = False, fair: bool = False) -> dict[str, object]:
    """The chart values of Kueue: its released image, and a configuration whose quotas count cards only."""
    config: dict[str, object] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True},
        "integrations": {"frameworks": ["batch/job", *(["jobset.x-k8s.io/jobset"] if jobset else [])]},
        "resources": {"excludeResourcePrefixes": list(NOT_IN_QUOTA)},
    }
    if fair:
        config["fairSharing"] = {"preemptionStrategies": list(FAIR)}
    return {
        "enableVisibilityAPF": False,
        "controllerManager": {
            "replicas": 1,
            "manager": {"image": {"repository": "registry.k8s.io/kueue/kueue", "tag": f"v{addon.version}"}},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(config, sort_keys=False)},
    }
