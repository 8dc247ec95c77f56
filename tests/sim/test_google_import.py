"""What an import from Google Cloud knows: the importers' forms of ids, without the fields that no API returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.sim.project import PROJECT, REGION, Project


def imported(project: Project, kind: str, identity: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = project.control.read(
        {"type": Project.token(kind), "id": identity, "state": {}, "project": PROJECT, "region": REGION, "zone": "",
         "labels": {}, "attribution": True}
    )  # fmt: skip
    return found


def test_members_and_connections_have_forms_of_their_own(tmp_path: Path) -> None:
    project = Project(tmp_path)
    account = project.create("Account", accountId="nodes-abcdef")
    member = project.create("IAMMember", project=PROJECT, role="roles/artifactregistry.reader",
                            member=account["member"])  # fmt: skip
    found = imported(project, "IAMMember", f"{PROJECT} roles/artifactregistry.reader {account['member']}")
    assert found is not None
    assert found["id"] == member["id"]
    network = project.network()["vpc"]
    address = project.create("GlobalAddress", name="services", purpose="VPC_PEERING", addressType="INTERNAL",
                             prefixLength=20, network=network)  # fmt: skip
    service = "servicenetworking.googleapis.com"
    made = project.create("Connection", network=network, service=service, reservedPeeringRanges=[address["name"]])
    connection = imported(project, "Connection", f"{quote(network, safe='')}:{service}")
    assert connection is not None
    assert connection["id"] == made["id"]


def test_an_imported_cluster_does_not_know_what_only_the_provider_does(tmp_path: Path) -> None:
    project = Project(tmp_path)
    made = project.cluster()
    found = imported(project, "Cluster", made["id"])
    assert found is not None
    assert not {"removeDefaultNodePool", "deletionProtection", "minMasterVersion"} & found["outputs"].keys()
    assert made["removeDefaultNodePool"] is True
