"""How pods of A3 and A4 nodes reach the further networks: GKE's own objects in the cluster, one pair for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import ExtraNetworkPlan, SitePlan
from accelerator_fleet_components.cluster_access import GkeAccess
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s

API: Final = "networking.gke.io/v1"
# https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom (RDMA), and
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx (gVNIC)
DEVICE_MODE: Final = {"gvnic": "NetDevice", "rdma": "RDMA"}


class GkeDeviceNetworks(pulumi.ComponentResource):
    """A `Network` and its `GKENetworkParamSet` for every further network of a GKE site.

    A pod names the `Network` in its annotation `networking.gke.io/interfaces`. A cluster with multi-networking has both
    kinds of object from its creation on.
    """

    def __init__(
        self,
        name: str,
        site: SitePlan,
        access: GkeAccess,
        cluster: k8s.Provider,
        deleted_with: pulumi.Resource | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`access.extra` has the names of each network's VPC and subnetwork."""
        super().__init__(token("GkeDeviceNetworks"), name, None, opts)
        assert site.gke_network is not None
        self._name = name
        for extra in site.gke_network.extra:
            options = pulumi.ResourceOptions(
                parent=self, provider=cluster, deleted_with=deleted_with, custom_timeouts=timeouts("kubernetes")
            )
            self._pair(extra, *access.extra[extra.name], options)
        self.register_outputs({})

    def _pair(
        self, extra: ExtraNetworkPlan, vpc: pulumi.Output[str], subnet: pulumi.Output[str], opts: pulumi.ResourceOptions
    ) -> None:
        from pulumi_kubernetes.apiextensions import CustomResource

        params = CustomResource(
            f"{self._name}-{extra.name}-params",
            api_version=API,
            kind="GKENetworkParamSet",
            metadata={"name": extra.name},
            spec={"vpc": vpc, "vpcSubnet": subnet, "deviceMode": DEVICE_MODE[extra.kind]},
            opts=opts,
        )
        reference = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": extra.name}
        CustomResource(
            f"{self._name}-{extra.name}",
            api_version=API,
            kind="Network",
            metadata={"name": extra.name},
            spec={"type": "Device", "parametersRef": reference},
            # It goes first: GKE keeps the parameters while a network refers to them.
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[params])),
        )
