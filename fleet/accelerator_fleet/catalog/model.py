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
    default_machine: dict[str, str]  # cloud -> machine
    machine_why: str
    aliases: tuple[str, ...]


class Machine(Entry):
    """One EC2 instance type. `cards_per_node` None: AWS's data does not say."""

    chip: str
    cards_per_node: int | None
    resource: str
    vcpu: int
    memory_gib: float
    card_memory_gib: float | None
    arch: str
    network_gbps: float
    network_cards: int
    efa_max: int
    efa_on_card_0: bool
    interfaces_max: int
    interfaces_per_card: tuple[int, ...]
    spans_nodes: bool  # pools of it get EFA on every card and a placement group
    network_node_layers: int  # layers that EC2's instance topology returns; 0: none
    nvme_gb: int | None
    usage: tuple[Literal["on-demand", "spot", "capacity-block"], ...]
    link: str | None


class Zone(Frozen):
    """What one availability zone offers: catalogued machines and general-purpose families."""

    machines: tuple[str, ...]
    general_purpose: tuple[str, ...]


class Region(Entry):
    """A region's zones by letter."""

    zones: dict[str, Zone]
    instance_topology: bool


class Limit(Entry):
    """A cloud's or Kubernetes' limit."""

    value: int
    unit: str


class CapacityRule(Entry):
    """What a capacity mode needs and forbids (field -> what to do), as data."""

    needs: dict[str, str]
    forbids: dict[str, str]
    usage: Literal["on-demand", "spot", "capacity-block"]
    new_placement_group: bool  # may a pool of this mode have a placement group of its own?


class Addon(Entry):
    """An add-on's version and where it comes from. `for_resource` None: every cluster wants it."""

    version: str
    namespace: str
    chart: str | None
    image: str | None
    for_resource: str | None


class Image(Entry):
    """EKS AMI type per accelerator resource; `resource` None: system nodes."""

    ami_type: str
    resource: str | None


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
