"""One API call's surroundings: project, default region, the store, and what every behaviour asks of them."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..aws.scope import Clusters
from ..core.suppress import last, link_path
from ..daemon.clock import Clock
from ..daemon.faultrules import FaultRules
from ..daemon.faults import Faults
from ..daemon.store import Resource, Store
from .catalog import Catalog

CLOUD = "gcp"
COMPUTE = "https://www.googleapis.com/compute/v1/"
NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
NAT = "gcp:compute/routerNat:RouterNat"
FIREWALL = "gcp:compute/firewall:Firewall"
ADDRESS = "gcp:compute/globalAddress:GlobalAddress"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
RESERVATION = "gcp:compute/reservation:Reservation"
CONNECTION = "gcp:servicenetworking/connection:Connection"
CLUSTER = "gcp:container/cluster:Cluster"
NODE_POOL = "gcp:container/nodePool:NodePool"
ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"
FILESTORE = "gcp:filestore/instance:Instance"
LUSTRE = "gcp:lustre/instance:Instance"


@dataclass
class World:
    """What all calls share."""

    store: Store
    clock: Clock
    catalog: Catalog
    clusters: Clusters
    log: Callable[[str], None]

    def __post_init__(self) -> None:
        self.faults = Faults(self.store, self.clock)
        self.fault_rules = FaultRules(Path(__file__).parent / "data" / "faults.json")


@dataclass
class Scope:
    """One call. `settings` are the provider's: region, zone, labels, attribution."""

    world: World
    project: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The store."""
        return self.world.store

    @property
    def catalog(self) -> Catalog:
        """Machines, zones, quotas."""
        return self.world.catalog

    def iso(self) -> str:
        """The simulated time as Google prints it."""
        return datetime.fromtimestamp(self.world.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000-00:00")

    def zulu(self) -> str:
        """The simulated time as newer APIs print it."""
        return datetime.fromtimestamp(self.world.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    # -- resources --------------------------------------------------------------------------------------------------
    def find(self, kind: str, identity: str) -> Resource | None:
        """A resource of this project by its id."""
        return self.store.get(CLOUD, self.project, "", kind, identity)

    def all(self, kind: str, **outputs: Any) -> list[Resource]:
        """All of a type in this project whose outputs are as given."""
        found = self.store.resources(cloud=CLOUD, account=self.project, region="", type=kind)
        return [r for r in found if all(r.outputs.get(k) == v for k, v in outputs.items())]

    def network(self, reference: Any) -> Resource | None:
        """The network that a name or link means."""
        return self._named(NETWORK, reference, f"projects/{self.project}/global/networks/")

    def subnetwork(self, reference: Any, region: str) -> Resource | None:
        """The subnetwork that a name or link means; a bare name is looked up in the region."""
        return self._named(SUBNETWORK, reference, f"projects/{self.project}/regions/{region}/subnetworks/")

    def _named(self, kind: str, reference: Any, prefix: str) -> Resource | None:
        text = str(reference)
        return self.find(kind, link_path(text) if "/" in text else prefix + text)

    def cluster(self, reference: Any, location: str) -> Resource | None:
        """The cluster that a node pool names."""
        return self.find(CLUSTER, f"projects/{self.project}/locations/{location}/clusters/{last(str(reference))}")

    # -- identities -------------------------------------------------------------------------------------------------
    @staticmethod
    def number() -> str:
        """A numeric id as Google draws them: 19 digits."""
        return str(10**18 + secrets.randbelow(8 * 10**18))

    @staticmethod
    def fingerprint() -> str:
        """A fingerprint: eight bytes in base64."""
        return secrets.token_urlsafe(8)[:11] + "="

    def region_of(self, location: str) -> str:
        """The region of a zone, or the region itself."""
        return location.rpartition("-")[0] if self.catalog.is_zone(location) else location


def networks_of(subnet: Resource) -> list[ipaddress.IPv4Network]:
    """All ranges of a subnetwork, the primary first."""
    ranges = [subnet.outputs.get("ipCidrRange")]
    ranges += [r.get("ipCidrRange") for r in subnet.outputs.get("secondaryIpRanges") or []]
    return [ipaddress.IPv4Network(r) for r in ranges if r]


def range_named(subnet: Resource, name: str) -> str | None:
    """The CIDR of a secondary range."""
    for row in subnet.outputs.get("secondaryIpRanges") or []:
        if row.get("rangeName") == name:
            return str(row["ipCidrRange"])
    return None
