"""An embedded project behind Google's own APIs, asked through google-auth's AuthorizedSession."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.auth.transport.requests import AuthorizedSession
from google.oauth2.service_account import Credentials

from accelerator_fleet_engine.endpoints import CREDENTIALS, GOOGLE_ROOTS
from accelerator_fleet_sim.apis.google.access import Access
from accelerator_fleet_sim.apis.google.server import GoogleApi
from accelerator_fleet_sim.apis.listener import Listener
from tests.sim.project import LUSTRE, PROJECT, REGION, ZONE, Project, gpus, slice_of

Item = dict[str, Any]
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


class Asker:
    """One endpoint, asked with the credentials that it wrote."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.credentials = Credentials.from_service_account_file(str(folder / CREDENTIALS), scopes=SCOPES)
        self.session = AuthorizedSession(self.credentials)

    def raw(self, api: str, path: str, method: str = "GET", body: Any = None) -> tuple[int, Item]:
        """Status and answer."""
        url = f"{self.url}/{GOOGLE_ROOTS[api]}{path}"
        answer = self.session.request(method, url, json=body)
        return answer.status_code, answer.json()

    def __call__(self, api: str, path: str, method: str = "GET", body: Any = None) -> Item:
        """An answer that is no error."""
        status, answer = self.raw(api, path, method, body)
        assert status == 200, (path, answer)
        return answer

    def refused(self, api: str, path: str, method: str = "GET", body: Any = None) -> tuple[int, str]:
        """Status and message of an error."""
        status, answer = self.raw(api, path, method, body)
        assert status >= 400, (path, answer)
        return status, str(answer["error"]["message"])


@contextmanager
def asking(project: Project, folder: Path) -> Iterator[Asker]:
    """An endpoint for the project."""
    access = Access(folder, project.world)
    listener = Listener(0, GoogleApi(project.control, project.world, access).handle, print)
    url = f"http://127.0.0.1:{listener.port}"
    access.write(url)
    listener.start()
    yield Asker(url, folder)
    listener.close()


def world(project: Project) -> Item:
    """Everything of every type that the APIs show."""
    cluster = project.cluster(deletionProtection=True, loggingConfig={"enableComponents": ["SYSTEM_COMPONENTS"]},
                              resourceLabels={"fleet": "accel"}, masterAuthorizedNetworksConfig={
                                  "cidrBlocks": [{"cidrBlock": "10.0.0.0/8", "displayName": "in"}]},
                              maintenancePolicy={"maintenanceExclusions": [{
                                  "exclusionName": "gangs", "startTime": "2026-01-01T00:00:00Z",
                                  "exclusionOptions": {"scope": "NO_MINOR_OR_NODE_UPGRADES",
                                                       "endTimeBehavior": "UNTIL_END_OF_SUPPORT"}}]})  # fmt: skip
    network = f"projects/{PROJECT}/global/networks/net"
    project.pool(cluster, "h100", "a3-highgpu-8g", 1, nodeConfig={
        **gpus("nvidia-h100-80gb", 8), "loggingVariant": "DEFAULT", "reservationAffinity": {
            "consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name",
            "values": ["train-h100"]}})  # fmt: skip
    project.pool(cluster, "tpu", "ct5lp-hightpu-4t", 4, **slice_of("4x4"))
    project.create("Router", name="router", network=network, region=REGION)
    project.create("RouterNat", name="nat", router="router", region=REGION, natIpAllocateOption="AUTO_ONLY",
                   sourceSubnetworkIpRangesToNat="ALL_SUBNETWORKS_ALL_IP_RANGES",
                   logConfig={"enable": True, "filter": "ALL"})  # fmt: skip
    project.create("Firewall", name="inside", network=network, sourceRanges=["10.20.0.0/20"],
                   allows=[{"protocol": "tcp", "ports": ["1-65535"]}, {"protocol": "icmp"}])  # fmt: skip
    project.create("ResourcePolicy", name="compact", region=REGION, groupPlacementPolicy={"collocation": "COLLOCATED"})
    project.create("Reservation", name="own", zone=ZONE, specificReservation={
        "count": 2, "instanceProperties": {"machineType": "a3-highgpu-8g"}})  # fmt: skip
    project.create("GlobalAddress", name="range", purpose="VPC_PEERING", addressType="INTERNAL", network=network,
                   prefixLength=20, labels={"fleet": "accel"})  # fmt: skip
    project.create("Connection", network=network, service="servicenetworking.googleapis.com",
                   reservedPeeringRanges=["range"])  # fmt: skip
    account = project.create("Account", accountId="nodes", displayName="nodes")
    project.create("IAMMember", project=PROJECT, role="roles/viewer", member=account["member"])
    project.create("Instance", name="files", location=ZONE, tier="ZONAL", fileShares={"name": "data",
                   "capacityGb": 1024},
                   networks=[{"network": "net", "modes": ["MODE_IPV4"]}], labels={"fleet": "accel"})  # fmt: skip
    project.create(LUSTRE, instanceId="fast", location=ZONE, filesystem="data", capacityGib=18000, network=network,
                   perUnitStorageThroughput=1000)  # fmt: skip
    return {"email": account["email"], "cluster": cluster["id"]}
