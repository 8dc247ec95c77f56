"""The FleetPlan: what components, review, bill, CLI and docs read. Frozen, plain values only."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

FactStatus = Literal["verified", "derived", "estimate", "unknown"]
CapacityMode = Literal["on-demand", "spot", "reserved", "capacity-block"]
Layer = Literal["base", "pools", "cluster"]


class Frozen(BaseModel):
    """Base of every plan object: immutable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(Frozen):
    """One figure that the plan relied on, with where it is from."""

    subject: str  # "p5.48xlarge.efa_max"
    value: str | int | float | bool | None
    unit: str | None = None
    status: FactStatus
    source: str
    date: str


class Reason(Frozen):
    """Why the plan chose something: printed by `fleet plan --explain`."""

    path: str  # spec path: "pools[0].zone"
    choice: str
    why: str


class SubnetPlan(Frozen):
    """One subnet. `key` is stable (zone letter and role), never an index."""

    key: str  # "private-a"
    zone: str
    cidr: str
    public: bool


class NetworkPlan(Frozen):
    """A site's network: a VPC to create, or an existing one by id (then nothing in it is touched)."""

    cidr: str | None  # None: existing
    subnets: tuple[SubnetPlan, ...] = ()
    nat_zones: tuple[str, ...] = ()
    existing_vpc: str | None = None
    existing_subnets: tuple[tuple[str, str], ...] = ()  # (zone, subnet id), private


class SystemPoolPlan(Frozen):
    """The untainted CPU nodes of a cluster that the plan creates."""

    name: str
    machine: str
    nodes: int
    min_nodes: int
    max_nodes: int
    zones: tuple[str, ...]
    disk_gib: int
    ami_type: str
    labels: dict[str, str]


class AddonPlan(Frozen):
    """What lives in a cluster. `managed` is installed, `present` is relied on, `absent` is neither."""

    name: str  # "kueue", "nvidia-device-plugin", "efa-device-plugin"
    state: Literal["managed", "present", "absent"]
    version: str
    namespace: str
    chart: str | None = None  # OCI or repository reference of the vendor's chart; None: plain objects
    digest: str | None = None
    image: str | None = None


class ClusterPlan(Frozen):
    """An EKS cluster to create, or an existing one by name (then it is only read)."""

    name: str
    version: str | None  # "1.36"; None: existing, as found
    existing: bool = False
    endpoint_public: bool = True
    public_access_cidrs: tuple[str, ...] = ("0.0.0.0/0",)
    log_types: tuple[str, ...] = ()
    cloud_addons: tuple[str, ...] = ("vpc-cni", "kube-proxy", "coredns")
    deletion_protection: bool = False
    zones: tuple[str, ...] = ()  # zones whose private subnets the control plane gets; (): all of the network


class SitePlan(Frozen):
    """One cluster with its network."""

    name: str
    kind: Literal["eks"]
    account: str
    region: str
    network: NetworkPlan
    cluster: ClusterPlan
    system_pool: SystemPoolPlan | None
    addons: tuple[AddonPlan, ...]
    jobs_namespace: str
    topology_name: str | None  # Kueue Topology
    topology_levels: tuple[str, ...]
    queue: str  # the site's ClusterQueue
    protect: bool


class Taint(Frozen):
    """A Kubernetes taint; `effect` in Kubernetes' spelling (NoSchedule)."""

    key: str
    value: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NetworkInterfacePlan(Frozen):
    """One interface block of an EC2 launch template."""

    network_card: int
    device: int
    interface_type: Literal["interface", "efa", "efa-only"]


class PoolPlan(Frozen):
    """Nodes of one chip and shape in exactly one zone. Counts: cards, nodes."""

    name: str
    site: str
    zone: str
    chip: str  # the word as catalogued, "h100"
    machine: str  # "p5.48xlarge"
    runtime: str
    cards: int
    cards_per_node: int
    nodes: int
    min_nodes: int
    max_nodes: int
    scaling: Literal["fixed", "auto"]
    shape_key: str  # digest of chip, machine, topology, capacity, placement
    capacity_mode: CapacityMode
    reservation: str | None
    billing: str
    group_name_prefix: str  # cloud name prefix, carries the shape key
    resource: str  # "nvidia.com/gpu"
    efa_interfaces: int  # vpc.amazonaws.com/efa per node; 0: none
    interfaces: tuple[NetworkInterfacePlan, ...]
    placement_group: bool
    ami_type: str
    disk_gib: int
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    flavor: str  # ResourceFlavor
    local_queue: str  # the pool's name, kept when the pool moves
    topology: bool  # topology-aware placement
    protect: bool
    existing_placement_group: str | None = None  # the group that a reservation was made in: used, not created
    desired_nodes: int | None = None  # None: `nodes`; 0: a capacity block, whose scheduled start raises it
    tags: dict[str, str] = {}  # cloud tags of this pool beside the fleet's (owner overrides it)


class FleetPlan(Frozen):
    """Everything an environment is, before anything is touched."""

    env: str
    fleet: str
    tags: dict[str, str]
    sites: tuple[SitePlan, ...]
    pools: tuple[PoolPlan, ...]
    relied_on: tuple[Fact, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def cards(self) -> int:
        """Cards of all pools."""
        return sum(p.cards for p in self.pools)

    def site(self, name: str) -> SitePlan:
        """The site of that name; KeyError when there is none."""
        for s in self.sites:
            if s.name == name:
                return s
        raise KeyError(name)

    def pools_of(self, site: str) -> tuple[PoolPlan, ...]:
        """The pools of one site, in the spec's order."""
        return tuple(p for p in self.pools if p.site == site)
