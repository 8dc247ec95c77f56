"""A site's volumes inside its cluster: a PersistentVolume for each file system, and the claim that jobs name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet.plan.model import SitePlan, VolumePlan
from accelerator_fleet_components.tokens import token
from accelerator_fleet_components.volume import Source

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s


class VolumeClaims(pulumi.ComponentResource):
    """PersistentVolumes (kept when their claim goes) and claims in the site's jobs namespace."""

    def __init__(
        self,
        name: str,
        site: SitePlan,
        volumes: tuple[VolumePlan, ...],
        sources: Mapping[str, Source | None],
        cluster: k8s.Provider,
        deleted_with: pulumi.Resource | None,
        namespace: pulumi.Resource,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`sources`: volume -> what its PersistentVolume names; None where a storage class makes it."""
        super().__init__(token("VolumeClaims"), name, None, opts)
        self._cluster = cluster
        self._deleted_with = deleted_with
        self._site = site
        for volume in volumes:
            source = sources[volume.name]
            after = [namespace] if source is None else [namespace, self._volume(volume, source)]
            self._claim(volume, after)
        self.register_outputs({"claims": [v.claim for v in volumes]})

    def _opts(
        self, after: list[pulumi.Resource], deleted_with: pulumi.Resource | None, **more: object
    ) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=self,
            provider=self._cluster,
            deleted_with=deleted_with,
            depends_on=after,
            **more,  # type: ignore[arg-type]
        )

    def _pv_name(self, volume: VolumePlan) -> str:
        return f"{self._site.jobs_namespace}-{volume.claim}"  # PersistentVolumes have no namespace

    def _volume(self, volume: VolumePlan, source: Source) -> pulumi.Resource:
        from pulumi_kubernetes import core

        fixed = {
            "capacity": {"storage": f"{volume.size_gib}Gi"},
            "accessModes": [volume.access],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "volumeMode": "Filesystem",
            # Nobody else's claim may take it.
            "claimRef": {"namespace": self._site.jobs_namespace, "name": volume.claim},
        }
        made: pulumi.Resource = core.v1.PersistentVolume(
            volume.name,
            metadata={"name": self._pv_name(volume)},
            spec=source.apply(lambda s: {**fixed, **s}),
            opts=self._opts([], self._deleted_with),
        )
        return made

    def _claim(self, volume: VolumePlan, after: list[pulumi.Resource]) -> None:
        from pulumi_kubernetes import core

        given = volume.storage_class
        core.v1.PersistentVolumeClaim(
            volume.name,
            metadata={
                "name": volume.claim,
                "namespace": self._site.jobs_namespace,
                # A storage class may wait for the first pod that claims it.
                "annotations": {"pulumi.com/skipAwait": "true"} if given is not None else None,
            },
            spec={
                "accessModes": [volume.access],
                "storageClassName": given if given is not None else "",
                "volumeName": None if given is not None else self._pv_name(volume),
                "resources": {"requests": {"storage": f"{volume.size_gib}Gi"}},
            },
            # It goes with its namespace: alone it would wait for the jobs that use it, and they for the namespace.
            # Where the claim is all there is, the data goes with it: it is kept.
            opts=self._opts(
                after,
                after[0],
                protect=volume.protect and given is not None,
                retain_on_delete=volume.retain and given is not None,
            ),
        )
