"""A shared file system of a site: created where the cloud sells it, or given; never a child of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pulumi

from accelerator_fleet.plan.model import SitePlan, VolumePlan
from accelerator_fleet_components.cluster_access import ClusterAccess, EksAccess, GkeAccess
from accelerator_fleet_components.google_labels import google_labels
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_aws import ec2

Source = pulumi.Output[dict[str, Any]]  # what a PersistentVolume's spec names: {"csi": …} or {"nfs": …}
NFS: Final = ((2049, 2049),)
LUSTRE: Final = ((988, 988), (1018, 1023))
SHARE: Final = "data"  # Filestore's share and Lustre's file system name: at most 8 characters in some tiers


class Volume(pulumi.ComponentResource):
    """The file system behind a volume, with what is needed to mount it from the cluster's nodes.

    `source` is what a PersistentVolume says of it; None where a storage class of the cluster provides it.
    """

    source: Source | None

    def __init__(
        self,
        name: str,
        volume: VolumePlan,
        site: SitePlan,
        access: ClusterAccess | None,
        provider: pulumi.ProviderResource,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`access` None: an existing cluster. `after`: Google's peering, where the service needs it."""
        super().__init__(token("Volume"), name, None, opts)
        self._name = name
        self._volume = volume
        self._site = site
        self._provider = provider
        self._after = after
        self.source = self._source(access)
        self.register_outputs({"service": volume.service, "sizeGib": volume.size_gib})

    def _source(self, access: ClusterAccess | None) -> Source | None:
        match self._volume.service:
            case "efs" if isinstance(access, EksAccess):
                return self._efs(access)
            case "fsx-lustre" if isinstance(access, EksAccess):
                return self._fsx(access)
            case "filestore" if isinstance(access, GkeAccess):
                return self._filestore(access)
            case "gke-lustre" if isinstance(access, GkeAccess):
                return self._lustre(access)
            case "nfs":
                server, path = self._volume.nfs_server, self._volume.nfs_path
                return pulumi.Output.from_input({"nfs": {"server": server, "path": path}})
            case "csi":
                return None
            case other:
                raise AssertionError(f"{other} on a site of kind {self._site.kind}")

    def _opts(self, parent: pulumi.Resource | None = None, **more: object) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=parent or self, provider=self._provider, **more)  # type: ignore[arg-type]

    def _data(self, rules: list[pulumi.Resource] | None = None) -> pulumi.ResourceOptions:
        """For what holds the data: protected, and left in the cloud when the stack lets go of it.

        `rules`: of its security group, without which the cloud refuses to make it.
        """
        after = [*self._after, *(rules or [])]
        return self._opts(protect=self._volume.protect, retain_on_delete=self._volume.retain, depends_on=after or None)

    def _plain(self, parent: pulumi.Resource) -> pulumi.ResourceOptions:
        """For what can be made again: a child would inherit the protection of its parent."""
        return self._opts(parent, protect=False, retain_on_delete=False)

    def _efs(self, access: EksAccess) -> Source:
        from pulumi_aws import efs

        zone = self._volume.zone
        tags = {"Name": self._name}
        files = efs.FileSystem(
            self._name,
            availability_zone_name=zone,
            encrypted=True,
            throughput_mode="elastic",
            tags=tags,
            opts=self._data(),
        )
        group, _ = self._group(access, NFS)
        # A target in every zone of the network: pools come and go and no volume is touched.
        targets = [
            efs.MountTarget(
                f"{self._name}-{place}",
                file_system_id=files.id,
                subnet_id=subnet,
                security_groups=[group.id],
                opts=self._plain(files),
            )
            for place, subnet in sorted(access.private_subnets.items())
            if zone in {None, place}
        ]
        point = efs.AccessPoint(
            self._name,
            file_system_id=files.id,
            # Everyone may write and nobody may delete another's files, as in /tmp.
            root_directory={
                "path": "/data",
                "creation_info": {"owner_uid": 0, "owner_gid": 0, "permissions": "1777"},
            },
            tags=tags,
            opts=self._plain(files),
        )
        handle = pulumi.Output.all(files.id, point.id, *[t.id for t in targets]).apply(lambda i: f"{i[0]}::{i[1]}")
        return pulumi.Output.from_input({"csi": {"driver": "efs.csi.aws.com", "volumeHandle": handle}})

    def _fsx(self, access: EksAccess) -> Source:
        from pulumi_aws import fsx

        zone = self._volume.zone
        assert zone is not None
        group, rules = self._group(access, LUSTRE)
        files = fsx.LustreFileSystem(
            self._name,
            storage_capacity=self._volume.size_gib,
            subnet_ids=access.private_subnets[zone],
            security_group_ids=[group.id],
            deployment_type=self._volume.tier or "PERSISTENT_2",
            storage_type="SSD",
            per_unit_storage_throughput=self._volume.throughput,
            file_system_type_version="2.15",
            tags={"Name": self._name},
            # CreateFileSystem looks at the group: without port 988 among the servers it is refused.
            opts=self._data(rules),
        )
        attributes = {"dnsname": files.dns_name, "mountname": files.mount_name}
        csi = {"driver": "fsx.csi.aws.com", "volumeHandle": files.id, "volumeAttributes": attributes}
        return pulumi.Output.from_input({"csi": csi})

    def _group(
        self, access: EksAccess, ports: tuple[tuple[int, int], ...]
    ) -> tuple[ec2.SecurityGroup, list[pulumi.Resource]]:
        """Lets the cluster's nodes in, and for Lustre the file servers among themselves; the group and its rules."""
        from pulumi_aws import ec2, vpc

        group = ec2.SecurityGroup(
            self._name,
            description=f"File system of volume {self._volume.name}",
            vpc_id=access.vpc_id,
            tags={"Name": self._name},
            opts=self._opts(),
        )
        sources = {"nodes": access.security_group}
        if ports == LUSTRE:
            sources["self"] = group.id
        rules: list[pulumi.Resource] = [
            vpc.SecurityGroupIngressRule(
                f"{self._name}-{who}-{first}",
                security_group_id=group.id,
                referenced_security_group_id=source,
                ip_protocol="tcp",
                from_port=first,
                to_port=last,
                opts=self._opts(group),
            )
            for who, source in sources.items()
            for first, last in ports
        ]
        if ports == LUSTRE:
            out = vpc.SecurityGroupEgressRule(
                f"{self._name}-out",
                security_group_id=group.id,
                cidr_ipv4="0.0.0.0/0",
                ip_protocol="-1",
                opts=self._opts(group),
            )
            rules.append(out)
        return group, rules

    def _filestore(self, access: GkeAccess) -> Source:
        from pulumi_gcp import filestore

        volume = self._volume
        assert volume.tier is not None
        files = filestore.Instance(
            self._name,
            tier=volume.tier,
            location=volume.zone or self._site.region,
            file_shares={"name": SHARE, "capacity_gb": volume.size_gib},
            networks=[
                {
                    "network": access.network,
                    "modes": ["MODE_IPV4"],
                    "connect_mode": "DIRECT_PEERING",
                }
            ],
            labels=google_labels({"volume": volume.name}),
            deletion_protection_enabled=volume.protect,
            opts=self._data(),
        )
        place = volume.zone or self._site.region
        address = files.networks.apply(lambda all_: (all_[0].ip_addresses or [""])[0])
        csi = {
            "driver": "filestore.csi.storage.gke.io",
            "volumeHandle": files.name.apply(lambda n: f"modeInstance/{place}/{n}/{SHARE}"),
            "volumeAttributes": {"ip": address, "volume": SHARE},
        }
        return pulumi.Output.from_input({"csi": csi})

    def _lustre(self, access: GkeAccess) -> Source:
        from pulumi_gcp import lustre

        volume = self._volume
        assert volume.zone is not None
        files = lustre.Instance(
            self._name,
            instance_id=f"{self._site.cluster.name}-{volume.name}",
            location=volume.zone,
            filesystem=SHARE,
            capacity_gib=str(volume.size_gib),
            per_unit_storage_throughput=None if volume.throughput is None else str(volume.throughput),
            network=access.network,
            labels=google_labels({"volume": volume.name}),
            opts=self._data(),
        )
        address = files.mount_point.apply(lambda point: point.partition("@")[0])
        csi = {
            "driver": "lustre.csi.storage.gke.io",
            "volumeHandle": files.instance_id.apply(lambda i: f"{self._site.project}/{volume.zone}/{i}"),
            "volumeAttributes": {"ip": address, "filesystem": SHARE},
        }
        return pulumi.Output.from_input({"csi": csi})
