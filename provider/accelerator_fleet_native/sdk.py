"""The provider's classes for Python programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from accelerator_fleet_native import PACKAGE, QUEUED_RESOURCE, VERSION


class Provider(pulumi.ProviderResource):
    """One project's provider: nothing of it lands in another; `default_labels` are on every node."""

    def __init__(
        self,
        name: str,
        *,
        project: pulumi.Input[str],
        region: pulumi.Input[str] | None = None,
        default_labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props: dict[str, pulumi.Input[object]] = {"project": project, "region": region}
        # Settings of providers travel as text: maps as JSON.
        labels = None if default_labels is None else pulumi.Output.json_dumps(default_labels)
        mine = pulumi.ResourceOptions(version=VERSION)
        super().__init__(PACKAGE, name, {**props, "defaultLabels": labels}, pulumi.ResourceOptions.merge(mine, opts))


class QueuedResource(pulumi.CustomResource):
    """A Cloud TPU queued resource. Fields: fields.json; every one but those of UpdateNode replaces."""

    name: pulumi.Output[str]
    state: pulumi.Output[str]
    nodes: pulumi.Output[Sequence[str]]

    def __init__(
        self,
        resource_name: str,
        *,
        zone: pulumi.Input[str],
        accelerator_type: pulumi.Input[str],
        runtime_version: pulumi.Input[str],
        queued_resource_id: pulumi.Input[str] | None = None,
        project: pulumi.Input[str] | None = None,
        topology: pulumi.Input[str] | None = None,
        node_id: pulumi.Input[str] | None = None,
        node_count: pulumi.Input[int] | None = None,
        network: pulumi.Input[str] | None = None,
        subnetwork: pulumi.Input[str] | None = None,
        enable_external_ips: pulumi.Input[bool] | None = None,
        service_account: pulumi.Input[str] | None = None,
        provision: pulumi.Input[str] | None = None,
        reservation: pulumi.Input[str] | None = None,
        valid_until: pulumi.Input[str] | None = None,
        description: pulumi.Input[str] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        tags: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        metadata: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        wait: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props: dict[str, pulumi.Input[object] | None] = {
            "queuedResourceId": queued_resource_id, "project": project, "zone": zone, "topology": topology,
            "acceleratorType": accelerator_type, "runtimeVersion": runtime_version, "nodeId": node_id,
            "nodeCount": node_count, "network": network, "subnetwork": subnetwork,
            "enableExternalIps": enable_external_ips, "serviceAccount": service_account, "provision": provision,
            "reservation": reservation, "validUntil": valid_until, "description": description, "labels": labels,
            "tags": tags, "metadata": metadata, "wait": wait,
            "name": None, "state": None, "stateInitiator": None, "error": None, "createTime": None, "nodes": None,
        }  # fmt: skip
        mine = pulumi.ResourceOptions(version=VERSION)
        super().__init__(QUEUED_RESOURCE, resource_name, props, pulumi.ResourceOptions.merge(mine, opts))
