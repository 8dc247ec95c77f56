"""One API call's surroundings: account, region, the store, and what every behaviour asks of them."""

from __future__ import annotations

import ipaddress
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from ..daemon.clock import Clock
from ..daemon.faultrules import FaultRules
from ..daemon.faults import Faults
from ..daemon.store import Resource, Store
from .catalog import Catalog
from .errors import AwsError

CLOUD = "aws"
INTERFACE = "aws:ec2/networkInterface:NetworkInterface"


class Clusters(Protocol):
    """The control planes, as accelerator_fleet_sim.cluster.api.ClusterRuntime has them."""

    def ensure(self, name: str, *, version: str, cluster_id: str, authenticate: Any) -> Any: ...
    def delete(self, name: str) -> None: ...
    def set_nodes(self, name: str, group: str, nodes: list[Any]) -> None: ...
    def apply_cloud_addon(self, name: str, addon: str, version: str) -> None: ...
    def remove_cloud_addon(self, name: str, addon: str) -> None: ...
    def known_addons(self) -> list[str]: ...
    def client(self, name: str) -> Any: ...


@dataclass
class World:
    """What all calls share."""

    store: Store
    clock: Clock
    catalog: Catalog
    clusters: Clusters
    log: Callable[[str], None]

    def __post_init__(self) -> None:
        self.at: Callable[[Scope, float, Resource], None] | None = None  # the control plane's
        self.faults = Faults(self.store, self.clock)
        self.fault_rules = FaultRules(Path(__file__).parent / "data" / "faults.json")


@dataclass
class Scope:
    """One call."""

    world: World
    account: str
    region: str
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The store."""
        return self.world.store

    @property
    def catalog(self) -> Catalog:
        """Machines, zones, quotas."""
        return self.world.catalog

    def iso(self, when: float | None = None) -> str:
        """A simulated time as AWS prints it."""
        moment = self.world.clock.now() if when is None else when
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def at(self, when: float, resource: Resource) -> None:
        """Have the resource's behaviour look at it (`tick`) at a simulated time."""
        assert self.world.at is not None
        self.world.at(self, when, resource)

    # -- resources --------------------------------------------------------------------------------------------------
    def find(self, kind: str, identity: Any) -> Resource | None:
        """A resource of this region, or a global one."""
        region = "" if kind.startswith("aws:iam/") else self.region
        return self.store.get(CLOUD, self.account, region, kind, str(identity))

    def all(self, kind: str, **outputs: Any) -> list[Resource]:
        """All of a type in this region whose outputs are as given."""
        region = "" if kind.startswith("aws:iam/") else self.region
        found = self.store.resources(cloud=CLOUD, account=self.account, region=region, type=kind)
        return [r for r in found if all(r.outputs.get(k) == v for k, v in outputs.items())]

    def new(self, kind: str, identity: str, owner: str, outputs: dict[str, Any], **hidden: Any) -> Resource:
        """Make and store something that no program asked for by itself."""
        region = "" if kind.startswith("aws:iam/") else self.region
        made = Resource(CLOUD, self.account, region, kind, identity, owner, outputs=outputs, hidden=hidden,
                        created=self.world.clock.now())  # fmt: skip
        self.store.put(made)
        return made

    def owned(self, owner: str) -> list[Resource]:
        """What something made for itself."""
        return self.store.resources(cloud=CLOUD, account=self.account, owner=owner)

    # -- identities -------------------------------------------------------------------------------------------------
    @staticmethod
    def identity(prefix: str) -> str:
        """`vpc-0` and sixteen hexadecimal digits."""
        return f"{prefix}-0{secrets.token_hex(8)}"

    @staticmethod
    def unique(prefix: str) -> str:
        """An IAM unique id: `AROA` and seventeen capitals or digits."""
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
        return prefix + "".join(secrets.choice(alphabet) for _ in range(17))

    @staticmethod
    def uuid() -> str:
        """A random UUID."""
        return str(uuid.uuid4())

    def arn(self, service: str, rest: str) -> str:
        """`arn:aws:SERVICE:REGION:ACCOUNT:REST`."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{rest}"

    # -- networks ---------------------------------------------------------------------------------------------------
    def interfaces(self, **outputs: Any) -> list[Resource]:
        """Network interfaces."""
        return self.all(INTERFACE, **outputs)

    def free_addresses(self, subnet: Resource, count: int) -> list[str]:
        """The lowest free addresses of a subnet; the first four and the last belong to AWS."""
        network = ipaddress.ip_network(subnet.outputs["cidrBlock"])
        used = {i.outputs["privateIp"] for i in self.interfaces(subnetId=subnet.id)}
        used.update(subnet.hidden.get("spent", ()))  # of instances that ended: their nodes' names do not come again
        found: list[str] = []
        for number in range(4, network.num_addresses - 1):
            if len(found) == count:
                break
            address = str(network[number])
            if address not in used:
                found.append(address)
        if len(found) < count:
            raise AwsError(
                "InsufficientFreeAddressesInSubnet",
                f"The specified subnet does not have enough free addresses to satisfy the request. ({subnet.id})",
            )
        return found

    def add_interface(
        self, subnet: Resource, owner: str, description: str, groups: list[str], address: str | None = None
    ) -> Resource:
        """A network interface in a subnet."""
        ip = address or self.free_addresses(subnet, 1)[0]
        outputs = {
            "subnetId": subnet.id, "vpcId": subnet.outputs["vpcId"], "privateIp": ip, "description": description,
            "securityGroups": groups, "availabilityZone": subnet.outputs["availabilityZone"],
        }  # fmt: skip
        return self.new(INTERFACE, self.identity("eni"), owner, outputs)
