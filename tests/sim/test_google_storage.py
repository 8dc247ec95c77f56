"""What the simulated Filestore and managed Lustre say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.project import LUSTRE, PROJECT, ZONE, Project, Refusal


def filestore(net: dict[str, Any], **more: Any) -> dict[str, Any]:
    network = {"network": "net", "modes": ["MODE_IPV4"], "connectMode": "DIRECT_PEERING"}
    share = {"name": "data", "capacityGb": 1024}
    return {"name": "shared", "location": ZONE, "tier": "ZONAL", "fileShares": share, "networks": [network], **more}


def test_filestore(project: Project) -> None:
    made = project.create("Instance", **filestore(project.network()))
    assert made["id"] == f"projects/{PROJECT}/locations/{ZONE}/instances/shared"
    assert made["networks"][0]["ipAddresses"] == ["10.111.0.2"]
    assert made["effectiveLabels"] == {"goog-pulumi-provisioned": "true"}
    with pytest.raises(Refusal, match="is already being used by"):
        project.delete("Network", f"projects/{PROJECT}/global/networks/net")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"fileShares": {"name": "data", "capacityGb": 1000}}, "Invalid capacity 1000 GiB for tier ZONAL"),
        ({"fileShares": {"name": "data", "capacityGb": 1100}}, "steps of 256"),
        ({"location": "us-central1"}, "needs a zone"),
        ({"tier": "REGIONAL"}, "needs a region"),
        ({"networks": [{"network": "gone", "modes": ["MODE_IPV4"]}]}, "network 'gone' does not exist"),
        (
            {"networks": [{"network": "net", "modes": ["MODE_IPV4"], "connectMode": "PRIVATE_SERVICE_ACCESS"}]},
            "no private services access",
        ),
    ],
)
def test_what_filestore_refuses(project: Project, change: dict[str, Any], text: str) -> None:
    net = project.network()
    with pytest.raises(Refusal, match=text):
        project.create("Instance", **filestore(net, **change))


def test_lustre_needs_peering_and_sizes(project: Project) -> None:
    net = project.network()
    inputs = {"instanceId": "fast", "location": ZONE, "filesystem": "data", "capacityGib": 9000, "network": net["vpc"],
              "perUnitStorageThroughput": 1000}  # fmt: skip
    with pytest.raises(Refusal, match="no private services access connection"):
        project.create(LUSTRE, **inputs)
    project.create("GlobalAddress", name="range", purpose="VPC_PEERING", addressType="INTERNAL", address="10.30.0.0",
                   prefixLength=20, network=net["vpc"])  # fmt: skip
    service = "servicenetworking.googleapis.com"
    peering = project.create("Connection", network=net["vpc"], service=service, reservedPeeringRanges=["range"])
    with pytest.raises(Refusal, match="9000 to 954000 in steps of 9000"):
        project.create(LUSTRE, **{**inputs, "capacityGib": 10000})
    made = project.create(LUSTRE, **inputs)
    assert made["mountPoint"] == "10.30.15.238@tcp:/data"
    assert made["state"] == "ACTIVE"
    with pytest.raises(Refusal, match="Producer services"):
        project.delete("Connection", peering["id"])
    with pytest.raises(Refusal, match="already being used by"):
        project.delete("GlobalAddress", f"projects/{PROJECT}/global/addresses/range")
    assert project.update(LUSTRE, made["id"], **{**inputs, "capacityGib": 18000})["capacityGib"] == 18000
    with pytest.raises(Refusal, match="cannot be reduced"):
        project.update(LUSTRE, made["id"], **inputs)
