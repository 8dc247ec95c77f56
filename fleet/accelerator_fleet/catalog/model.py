"""The catalogue's frozen models: every entry says where its figures are from and how sure they are."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from accelerator_fleet.plan.model import Fact, FactStatus

AcceleratorKind = Literal["gpu", "tpu", "neuron", "npu"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Frozen):
    """Where a figure was read; `date` is when it was true or read (ISO, day or month)."""

    text: str
    date: str


class Doubt(Frozen):
    """A field whose status or source differs from its entry's."""

    status: FactStatus
    source: str


class Entry(Frozen):
    """Base of every entry: a source and a status for all fields, and the fields that differ."""

    source: str
    status: FactStatus
    doubts: dict[str, Doubt]


class Chip(Entry):
    """One form of an accelerator. Descriptive figures may be unknown (None)."""

    vendor: str
    kind: AcceleratorKind
    resource: str  # Kubernetes extended resource
    memory_gb: float | None
    dense_bf16_tflops: float | None
    memory_bandwidth_gbs: float | None
    tdp_w: float | None
    interconnect: str | None
    cards_per_node: tuple[int, ...]
    year: int | None
    note: str | None


class Word(Entry):
    """A chip word of the spec: an alias with stated defaults. `default` None: the variant must be said."""

    variants: dict[str, str]  # variant -> chip
    default: str | None
    why: str
    machines: tuple[str, ...] | None  # None: every machine that carries the chip
    narrows: dict[str, tuple[str, ...]] = {}  # variant -> the machines it means, where it names no form of the chip
    default_machine: dict[str, str]  # cloud, or cloud/variant -> machine
    machine_why: str
    aliases: tuple[str, ...]


Usage = Literal["on-demand", "spot", "capacity-block", "flex-start"]  # flex-start: where it is on-demand's exception


class AnyMachine(Entry):
    """What machines of all clouds have. `cards_per_node` None: the cloud's data does not say."""

    chip: str
    cards_per_node: int | None
    resource: str
    vcpu: int
    memory_gib: float
    network_gbps: float | None
    spans_nodes: bool  # pools of it are placed close together, on EC2 with EFA on every card
    usage: tuple[Usage, ...]


class Machine(AnyMachine):
    """One EC2 instance type."""

    card_memory_gib: float | None
    arch: str
    network_cards: int
    efa_max: int
    efa_on_card_0: bool
    interfaces_max: int
    interfaces_per_card: tuple[int, ...]
    network_node_layers: int  # layers that EC2's instance topology returns; 0: none
    nvme_gb: int | None
    link: str | None


class GkeMachine(AnyMachine):
    """One Google machine type as GKE node pools take it."""

    accelerator: str  # GKE's string: guest accelerator type, or label value of a TPU
    gpu_driver: Literal["DEFAULT", "LATEST"] | None
    extra_gvnic: int  # further gVNIC interfaces, each in a VPC of its own
    extra_rdma: int  # RDMA interfaces, all in one VPC with the zone's RoCE network profile
    mtu: int | None
    gpudirect: Literal["tcpx", "tcpxo", "rdma"] | None
    local_ssds: int | None
    topology_labels: bool  # GKE labels its nodes with block, subblock and host


class TpuShapes(Entry):
    """The slices of one TPU generation: (topology, machine, hosts), one-host forms first."""

    dims: int
    accelerator: str
    shapes: tuple[tuple[str, str, int], ...]
    cube_limit: int | None  # 3-D: most cubes of 4x4x4 beyond the listed shapes; None: only listed ones
    sides_rise: bool  # 3-D: sides in non-decreasing order


class CloudTpu(Entry):
    """How the Cloud TPU API names a generation: an accelerator type is `prefix` and a count."""

    prefix: str  # "v5litepod-"
    per_chip: int  # what the count counts: chips (1) or TensorCores (2)
    runtime: str  # runtime version that a queued resource takes when it says none
    runtimes: tuple[str, ...]
    quota: str  # id of the quota, per zone, in what the count counts
    spot_quota: str


class Tier(Frozen):
    """A tier of a storage service. `sizes`: (lowest, highest or None, step) in GiB; (): elastic."""

    zonal: bool
    sizes: tuple[tuple[int, int | None, int], ...]
    throughput: int | None


class VolumeService(Entry):
    """A service that a shared volume can come from, by kind of site."""

    kinds: tuple[str, ...]
    tiers: dict[str, Tier]
    default_tier: str | None
    note: str


class Zone(Frozen):
    """What one zone offers: catalogued machines and general-purpose families."""

    machines: tuple[str, ...]
    general_purpose: tuple[str, ...]


class AnyRegion(Entry):
    """A region's zones by letter."""

    zones: dict[str, Zone]


class Region(AnyRegion):
    """An AWS region."""

    instance_topology: bool


class Limit(Entry):
    """A cloud's or Kubernetes' limit."""

    value: int
    unit: str


class CapacityRule(Entry):
    """What a capacity mode needs and forbids (field -> what to do), as data."""

    needs: dict[str, str]
    forbids: dict[str, str]
    usage: Usage
    new_placement_group: bool  # may a pool of this mode have a placement group of its own?
    takes: tuple[str, ...] = ()  # further fields of `capacity` that it may have
    start_minutes: int | None = None  # after a block's start: its pool's nodes are asked for
    drain_minutes: int | None = None  # before its end: they leave
    end_minutes: int | None = None  # before its end: the cloud ends what is left

    def sells(self, name: str, machine: AnyMachine) -> bool:
        """Whether the machine is had this way at all."""
        return self.usage in machine.usage


class GkeCapacityRule(CapacityRule):
    """What GKE asks of a mode beyond fields: machines, zones, times, counts."""

    demand: bool = False  # nodes come when jobs ask for them: no count of one's own, fewest 0
    flex_start: bool = False
    queued: bool = False
    auto_repair: bool = True
    no_reservation: bool = False  # GKE wants `reservation affinity none` said
    sold: dict[str, tuple[str, ...]] | None = None  # machine -> its zones, (): all that have it; None: every machine
    slices_of: tuple[str, ...] | None = None  # TPU words whose slices of several hosts it makes; None: all
    compact: tuple[str, ...] | None = None  # GPU machines that it places close together; None: all that span nodes
    run_seconds: tuple[int, int] | None = None  # shortest and longest life of a node
    days: tuple[int, int] | None = None  # shortest and longest time of a reservation
    most_nodes: int | None = None  # GPU nodes of one request
    chips: dict[str, tuple[int, ...]] = {}  # TPU word -> chips of one request
    taints: tuple[str, ...] = ()  # keys of taints that GKE sets on such nodes, with the value "true"

    def sells(self, name: str, machine: AnyMachine) -> bool:
        had = self.usage in machine.usage or (self.flex_start and "flex-start" in machine.usage)
        return had and (self.sold is None or name in self.sold)


class EksVersion(Entry):
    """A Kubernetes version on EKS: AMI releases that were published for it (of every AL2023 variant), oldest first."""

    release: str  # what new node groups get
    releases: tuple[str, ...]


class GkeVersion(Entry):
    """A Kubernetes version on GKE: channel -> versions that it serves, the one that new clusters get first."""

    channels: dict[str, tuple[str, ...]]
    cos: int  # milestone of its nodes' Container-Optimized OS


class Change(Entry):
    """What a change of one field of a PoolPlan does to nodes that are up, by kind of site."""

    kind: Literal["eks", "gke"]
    field: str
    effect: Literal["replace", "roll", "live", "none"]  # worst first
    why: str


class Addon(Entry):
    """An add-on's version and where it comes from. `for_resource` None: every cluster wants it, or who asks for it."""

    version: str
    namespace: str
    chart: str | None
    image: str | None
    for_resource: str | None
    asked_for: bool = False  # only where a spec says it, or has teams
    minimum: str | None = None  # the least version that jobs and queues rely on


class Image(Entry):
    """EKS AMI type per accelerator resource; `resource` None: system nodes."""

    ami_type: str
    resource: str | None


class Quota(Entry):
    """A quota that a machine counts against. Keys: `aws/<family>/<usage>`, `gcp/<accelerator>/<usage>`, * any."""

    service: str  # of Service Quotas, or of the Cloud Quotas API
    name: str  # as the console shows it
    code: str  # what the API calls it; "": read nowhere
    counts: Literal["vcpu", "cards", "none"]
    unit: str


class MigProfiles(Entry):
    """How NVIDIA's MIG divides one chip: profile -> instances of it on one card, and the profiles that GKE takes."""

    profiles: dict[str, int]
    gke: tuple[str, ...]


class SharingRule(Entry):
    """A way of sharing on a kind of site, or a vendor's cards. `refuse` "": it can be had; `most` 0: no limit."""

    refuse: str
    most: int


class Runtime(Entry):
    """A runtime's name and the vendors whose accelerators it runs on."""

    stack: str
    vendors: tuple[str, ...]


E = TypeVar("E", bound=Entry)


class Table(Frozen, Generic[E]):
    """One data file."""

    kind: str
    cloud: str | None = None
    units: dict[str, str]
    sources: dict[str, Source]
    entries: dict[str, E]

    def fact(self, name: str, field: str) -> Fact:
        """One figure of an entry with unit, status, source and date."""
        entry = self.entries[name]
        doubt = entry.doubts.get(field)
        source = self.sources[doubt.source if doubt else entry.source]
        value = getattr(entry, field)
        if not (value is None or isinstance(value, (str, int, float, bool))):
            value = ", ".join(str(v) for v in value)
        unit = self.units.get(field) or (entry.unit if isinstance(entry, Limit) and field == "value" else None)
        status: FactStatus = doubt.status if doubt else entry.status
        return Fact(
            subject=f"{name}.{field}", value=value, unit=unit, status=status, source=source.text, date=source.date
        )


class SystemMachine(Entry):
    """A general-purpose machine for system nodes."""

    family: str
    vcpu: int
    memory_gib: float


class Price(Frozen):
    """A list price in USD per instance-hour."""

    machine: str
    region: str
    mode: Literal["on-demand", "spot", "capacity-block"]
    value: float
    status: FactStatus
    source: str
    date: str
    note: str | None = None


class Prices(Frozen):
    """The price file; read only when money is asked for."""

    kind: Literal["prices"]
    unit: str
    sources: dict[str, str]
    entries: tuple[Price, ...]


class Catalog(Frozen):
    """Everything a plan may rely on. Frozen; `accelerator_fleet.catalog.load()` reads it once."""

    chips: Table[Chip]
    words: Table[Word]
    machines: Table[Machine]
    zones: Table[Region]
    limits: Table[Limit]
    capacity: Table[CapacityRule]
    addons: Table[Addon]
    images: Table[Image]
    runtimes: Table[Runtime]
    system: Table[SystemMachine]
    gke_machines: Table[GkeMachine]
    gke_zones: Table[AnyRegion]
    gke_system: Table[SystemMachine]
    gke_capacity: Table[GkeCapacityRule]
    tpu: Table[TpuShapes]
    cloud_tpu: Table[CloudTpu]
    volumes: Table[VolumeService]
    eks_versions: Table[EksVersion]
    gke_versions: Table[GkeVersion]
    changes: Table[Change]
    quotas: Table[Quota]
    mig: Table[MigProfiles]
    sharing: Table[SharingRule]
