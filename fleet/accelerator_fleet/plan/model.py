"""The FleetPlan: what components, review, bill, CLI and docs read. Frozen, plain values only."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from accelerator_fleet.plan.team import TeamPlan

FactStatus = Literal["verified", "derived", "estimate", "unknown"]
CapacityMode = Literal[
    "on-demand", "spot", "reserved", "capacity-block", "flex-start", "queued-provisioning", "calendar", "existing",
    "queued-resource",
]  # fmt: skip  # existing: nodes that are there
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


class ExtraNetworkPlan(Frozen):
    """One further network interface of A3 and A4 nodes: a subnet, in a VPC of its own or in one with its peers."""

    name: str  # "gvnic-0", "rdma-b-3": stable, names the subnet and the Kubernetes Network
    cidr: str
    kind: Literal["gvnic", "rdma"]
    profile_zone: str | None = None  # rdma: the zone of the RoCE network profile, `<zone>-vpc-roce`
    vpc: str = ""  # "gvnic-0" (one VPC each), "rdma-b" (one VPC with eight subnets)


class GkeNetworkPlan(Frozen):
    """A GKE site's own VPC: one subnet for nodes with ranges for pods and services, and what A3 and A4 add."""

    nodes_cidr: str
    pods_cidr: str
    services_cidr: str
    nat: bool
    extra: tuple[ExtraNetworkPlan, ...] = ()
    peering_cidr: str | None = None  # for Google's own services (Filestore, Lustre); None: no volume needs it


class MaintenanceExclusionPlan(Frozen):
    """A time in which GKE upgrades nothing of `scope`. `end` None: until the version's end of support."""

    name: str
    start: str
    end: str | None
    scope: Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"]


class MaintenancePlan(Frozen):
    """When GKE may touch a cluster: a recurring window (RFC 3339 times, RFC 5545 rule), and exclusions."""

    start: str
    end: str
    recurrence: str
    exclusions: tuple[MaintenanceExclusionPlan, ...] = ()


class SystemPoolPlan(Frozen):
    """The untainted CPU nodes of a cluster that the plan creates.

    On GKE counts are per zone: `nodes` (and min, max) divide by the number of `zones`; `ami_type` is the image type.
    """

    name: str
    machine: str
    nodes: int
    min_nodes: int
    max_nodes: int
    zones: tuple[str, ...]
    disk_gib: int
    ami_type: str
    labels: dict[str, str]
    release: str | None = None  # eks: AMI release, gke: node version; None: not pinned
    kubernetes: str | None = None  # eks: of the nodes; None: as the cluster's


class AddonPlan(Frozen):
    """What lives in a cluster. `managed` is installed, `present` is relied on, `absent` is neither."""

    name: str  # "kueue", "nvidia-device-plugin", "efa-device-plugin"
    state: Literal["managed", "present", "absent"]
    version: str
    namespace: str
    chart: str | None = None  # OCI or repository reference of the vendor's chart; None: plain objects
    digest: str | None = None
    image: str | None = None
    configs: tuple[tuple[str, str], ...] = ()  # nvidia-device-plugin: (name, YAML); nodes choose one by a label


class ClusterPlan(Frozen):
    """An EKS or GKE cluster to create, or an existing one by name (then it is only read)."""

    name: str
    version: str | None  # "1.36"; None: existing, as found
    existing: bool = False
    endpoint_public: bool = True
    public_access_cidrs: tuple[str, ...] = ("0.0.0.0/0",)
    log_types: tuple[str, ...] = ()
    cloud_addons: tuple[str, ...] = ("vpc-cni", "kube-proxy", "coredns")
    deletion_protection: bool = False
    zones: tuple[str, ...] = ()  # eks: zones of the control plane's subnets, (): all; gke: node locations
    location: str | None = None  # gke: the region
    release_channel: str | None = None  # gke: RAPID, REGULAR, STABLE, EXTENDED
    maintenance: MaintenancePlan | None = None  # gke


class SitePlan(Frozen):
    """One cluster with its network."""

    name: str
    kind: Literal["eks", "gke", "existing"]
    account: str = ""  # eks
    region: str  # existing: ""
    network: NetworkPlan | None = None  # eks
    cluster: ClusterPlan
    system_pool: SystemPoolPlan | None
    addons: tuple[AddonPlan, ...]
    jobs_namespace: str
    topology_name: str | None  # Kueue Topology
    topology_levels: tuple[str, ...]
    queue: str  # the site's ClusterQueue
    protect: bool
    project: str | None = None  # gke
    gke_network: GkeNetworkPlan | None = None
    context: str | None = None  # existing: the kubeconfig's context


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


class DemandPlan(Frozen):
    """A GKE pool whose nodes come when jobs ask for them, and go: none until then, `max_nodes` at most."""

    flex_start: bool  # Dynamic Workload Scheduler finds the machines
    queued: bool  # nodes come by ProvisioningRequest only
    max_run_seconds: int | None  # longest life of a node; None: until a reservation's end
    auto_repair: bool
    no_reservation: bool  # GKE wants it said
    taints: tuple[Taint, ...] = ()  # that GKE sets itself


class SharingPlan(Frozen):
    """Every card of a pool is `parts` devices of the pool's resource; a pod takes one of them."""

    way: Literal["mig", "time_slicing", "mps"]
    parts: int  # per card
    profile: str | None = None  # mig: "1g.10gb"


class QuotaPlan(Frozen):
    """What pools take, all at their largest, of one quota of an account or project in one region."""

    account: str  # or the project
    region: str
    service: str  # "ec2", "compute.googleapis.com"
    name: str
    code: str  # "L-417A185B"; "": not known
    amount: int
    unit: str  # "vCPU", "cards", "chips", "-": nothing is counted
    status: FactStatus
    pools: tuple[str, ...]


class QueuedPlan(Frozen):
    """A Cloud TPU queued resource: a request for slices that stand beside the cluster, without Kubernetes."""

    id: str  # its name in the zone; carries the shape key: another request is another queued resource
    accelerator_type: str  # "v5litepod-16"
    runtime_version: str  # "v2-alpha-tpuv5-lite"
    provision: str  # on-demand, spot, reserved
    wait: str  # accepted, active: when `up` goes on
    valid_until: str | None = None  # RFC 3339, or a duration from its creation: "24h"


class PoolPlan(Frozen):
    """Nodes of one chip and shape in exactly one zone. Counts: cards, nodes (of all slices together).

    On a GKE site `machine` is the machine type, and interfaces, EFA and placement group are empty; a TPU pool is
    `slices` node pools, each with `hosts_per_slice` nodes that form one topology. On an existing
    site nothing is created: `zone`, `machine` and `ami_type` are "", nodes are found by `node_selector`.
    """

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
    efa_interfaces: int = 0  # vpc.amazonaws.com/efa per node; 0: none
    interfaces: tuple[NetworkInterfacePlan, ...] = ()
    placement_group: bool = False
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
    old_first: bool = False  # replaced in place: the reservation that both would draw on holds one of them only
    accelerator: str | None = None  # GKE's string: "nvidia-h100-80gb"; None for TPU, which the machine type says
    gpu_driver: Literal["DEFAULT", "LATEST"] | None = None  # GKE GPU pools
    topology_shape: str | None = None  # TPU: "4x4"
    slices: int = 1  # TPU: node pools of one topology each
    hosts_per_slice: int | None = None  # TPU
    placement_policy: bool = False  # GKE: COMPACT, with `topology_shape` as tpu_topology for TPU slices
    extra_networks: tuple[str, ...] = ()  # GkeNetworkPlan.extra by name, in the order of the interfaces
    node_selector: dict[str, str] = {}  # existing: labels that the nodes already bear; else empty
    volume_claims: tuple[str, ...] = ()  # claims of the site's volumes that jobs of this pool mount
    purchase: str | None = None  # `reservation` is purchase/NAME: its id is known once the block is bought
    starts: str | None = None  # of a capacity block, or a calendar reservation
    ends: str | None = None
    raised_at: str | None = None  # capacity block: the group is raised to `nodes` by a scheduled action
    drained_at: str | None = None  # capacity block: EKS scales the group to 0 by an action of its own
    kubernetes: str | None = None  # of the nodes: "1.36"; None: as the cluster's, or as found
    release: str | None = None  # eks: AMI release, "1.36.3-20260903"; gke: "1.36.4-gke.1391002"; None: not pinned
    demand: DemandPlan | None = None  # GKE: flex-start, queued-provisioning, calendar
    queued: QueuedPlan | None = None  # Cloud TPU queued resource: beside the cluster; flavour and queue are ""
    sharing: SharingPlan | None = None  # None: whole cards by request

    @property
    def devices_per_node(self) -> int:
        """What a node shows of `resource`: its cards, or their parts."""
        return self.cards_per_node * (self.sharing.parts if self.sharing else 1)


class PurchasePlan(Frozen):
    """A capacity block to buy, once: the offering is all that is asked for, the rest says what it is."""

    name: str
    site: str
    offering: str  # cb-…
    machine: str
    zone: str
    nodes: int
    starts: str
    ends: str
    price: float | None  # upfront, USD, as the spec says
    bought: str | None = None  # cr-…, by the last outputs


class VolumePlan(Frozen):
    """A shared file system of one site: created, protected and retained, or given (csi, nfs: only claimed)."""

    name: str
    site: str
    service: Literal["efs", "fsx-lustre", "filestore", "gke-lustre", "csi", "nfs"]
    zone: str | None  # of a zonal service; None: regional, or given
    size_gib: int  # as sold
    asked_gib: int
    tier: str | None = None  # filestore: "ZONAL"; fsx-lustre: "PERSISTENT_2"
    throughput: int | None = None  # MB/s per TiB, where the service sells it (fsx-lustre, gke-lustre)
    mount: str
    access: Literal["ReadWriteMany"] = "ReadWriteMany"
    protect: bool
    retain: bool
    claim: str  # the PersistentVolumeClaim in the site's jobs namespace
    nfs_server: str | None = None
    nfs_path: str | None = None
    storage_class: str | None = None  # csi


class GivenPrice(Frozen):
    """A price that the spec gives instead of the list price: USD per instance-hour."""

    machine: str
    region: str
    mode: Literal["on-demand", "spot", "capacity-block"]
    value: float
    source: str
    date: str


class FleetPlan(Frozen):
    """Everything an environment is, before anything is touched."""

    env: str
    fleet: str
    tags: dict[str, str]
    sites: tuple[SitePlan, ...]
    pools: tuple[PoolPlan, ...]
    relied_on: tuple[Fact, ...] = ()
    reasons: tuple[Reason, ...] = ()
    volumes: tuple[VolumePlan, ...] = ()
    purchases: tuple[PurchasePlan, ...] = ()
    prices: tuple[GivenPrice, ...] = ()
    quotas: tuple[QuotaPlan, ...] = ()  # what the pools take of accounts and projects
    teams: tuple[TeamPlan, ...] = ()
    warnings: tuple[Reason, ...] = ()  # to be shown in a preview: a pool that leaves its site and its volume

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

    def purchases_of(self, site: str) -> tuple[PurchasePlan, ...]:
        """The capacity blocks bought for one site, in the spec's order."""
        return tuple(p for p in self.purchases if p.site == site)

    def cluster_pools_of(self, site: str) -> tuple[PoolPlan, ...]:
        """The pools of one site whose nodes are the cluster's: queued resources have none there."""
        return tuple(p for p in self.pools_of(site) if p.queued is None)

    def volumes_of(self, site: str) -> tuple[VolumePlan, ...]:
        """The volumes of one site, in the spec's order."""
        return tuple(v for v in self.volumes if v.site == site)
