"""Volumes: the file system of each service, what mounts it, and the claim that jobs name."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet.plan.model import VolumePlan
from tests.wiring.plans import eks_site, existing_site, fleet, gke_site, volume
from tests.wiring.recorder import Recorder, build

PV = "kubernetes:core/v1:PersistentVolume"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
ATTRIBUTES = "volumeAttributes"


def made_of(plan: VolumePlan) -> Recorder:
    return build(fleet((eks_site(), gke_site(), existing_site()), (), (plan,)))


@pytest.mark.parametrize(
    ("service", "kind", "source"),
    [
        (
            "efs",
            "aws:efs/fileSystem:FileSystem",
            {"csi": {"driver": "efs.csi.aws.com", "volumeHandle": "shared-id::shared-id"}},
        ),
        (
            "fsx-lustre",
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            {
                "csi": {
                    "driver": "fsx.csi.aws.com",
                    "volumeHandle": "shared-id",
                    ATTRIBUTES: {"dnsname": "fs.dns", "mountname": "abc"},
                }
            },
        ),
        (
            "filestore",
            "gcp:filestore/instance:Instance",
            {
                "csi": {
                    "driver": "filestore.csi.storage.gke.io",
                    "volumeHandle": "modeInstance/us-central1-b/shared/data",
                    ATTRIBUTES: {"ip": "10.1.0.2", "volume": "data"},
                }
            },
        ),
        (
            "gke-lustre",
            "gcp:lustre/instance:Instance",
            {
                "csi": {
                    "driver": "lustre.csi.storage.gke.io",
                    "volumeHandle": "embedded-research/us-central1-b/accel-dev-usc1-shared",
                    ATTRIBUTES: {"ip": "10.1.0.3", "filesystem": "data"},
                }
            },
        ),
        ("nfs", None, {"nfs": {"server": "10.0.0.9", "path": "/export"}}),
    ],
)
def test_a_volume_is_claimed_by_name(service: str, kind: str | None, source: dict[str, Any]) -> None:
    made = made_of(volume(service))
    if kind is not None:
        assert [a.name for a in made.of(kind)] == ["shared"]
    (persistent,) = made.of(PV)
    spec = persistent.inputs["spec"]
    assert {k: spec[k] for k in source} == source
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["claimRef"] == {"namespace": "jobs", "name": "shared"}
    (claim,) = made.of(CLAIM)
    assert claim.inputs["spec"]["volumeName"] == persistent.inputs["metadata"]["name"] == "jobs-shared"
    assert claim.inputs["spec"]["storageClassName"] == ""


def test_a_storage_class_makes_its_own_volume() -> None:
    made = made_of(volume("csi"))
    assert made.of(PV) == []
    (claim,) = made.of(CLAIM)
    assert claim.inputs["spec"]["storageClassName"] == "fast"
    assert "volumeName" not in claim.inputs["spec"]


def test_efs_is_reached_from_every_zone_of_the_network() -> None:
    made = made_of(volume("efs"))
    targets = {t.name: t.inputs["subnetId"] for t in made.of("aws:efs/mountTarget:MountTarget")}
    assert targets == {
        "shared-us-east-2a": "accel-dev-use2-private-a-id",
        "shared-us-east-2b": "accel-dev-use2-private-b-id",
    }
    (rule,) = [
        r
        for r in made.of("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
        if r.inputs["securityGroupId"] == "shared-id"
    ]
    assert (rule.inputs["fromPort"], rule.inputs["referencedSecurityGroupId"]) == (2049, "sg-cluster")


def test_lustre_is_made_once_its_servers_reach_each_other() -> None:
    """FSx refuses a file system whose group does not let port 988 in and out."""
    made = made_of(volume("fsx-lustre"))
    rules = {
        f"{kind}::{a.name}"
        for kind in (
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        )
        for a in made.of(kind)
        if a.inputs["securityGroupId"] == "shared-id"
    }
    assert len(rules) == 5
    assert rules <= made.after["aws:fsx/lustreFileSystem:LustreFileSystem", "shared"]


def test_one_zone_efs_has_one_target() -> None:
    made = made_of(volume("efs", zone="us-east-2b"))
    assert [t.name for t in made.of("aws:efs/mountTarget:MountTarget")] == ["shared-us-east-2b"]


@pytest.mark.parametrize(
    ("service", "addon"), [("efs", "aws-efs-csi-driver"), ("fsx-lustre", "aws-fsx-csi-driver"), ("filestore", None)]
)
def test_the_driver_comes_with_the_volume(service: str, addon: str | None) -> None:
    made = made_of(volume(service))
    drivers = [a.inputs["addonName"] for a in made.of("aws:eks/addon:Addon") if "csi" in a.inputs["addonName"]]
    assert drivers == ([] if addon is None else [addon])
    cluster = made.one("gcp:container/cluster:Cluster", "accel-dev-usc1").inputs
    assert cluster["addonsConfig"]["gcpFilestoreCsiDriverConfig"] == {"enabled": service == "filestore"}


def test_lustre_on_google_gets_a_range_of_its_own() -> None:
    made = made_of(volume("gke-lustre"))
    (address,) = made.of("gcp:compute/globalAddress:GlobalAddress")
    assert (address.inputs["address"], address.inputs["prefixLength"]) == ("10.22.128.0", 20)
    assert len(made.of("gcp:servicenetworking/connection:Connection")) == 1
    assert made_of(volume("filestore")).of("gcp:compute/globalAddress:GlobalAddress") == []
