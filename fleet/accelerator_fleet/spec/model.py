"""The FleetSpec: what people write. Field descriptions here are the schema's and the manual's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, WithJsonSchema
from pydantic_core import PydanticCustomError

from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.spec.base import Count, Model
from accelerator_fleet.spec.capacity import CapacitySpec
from accelerator_fleet.spec.purchase import PurchaseSpec
from accelerator_fleet.spec.sharing import SharingSpec
from accelerator_fleet.spec.teams import TeamSpec

SITE_KINDS: Final = ("eks", "gke", "existing")
LATER_SITE_KINDS: Final = ("racks",)
MANDATORY_TAGS: Final = ("owner", "cost-center")

LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]
AddonState = Literal["managed", "present", "absent"]


def _kind(value: str) -> str:
    if value in SITE_KINDS:
        return value
    if value in LATER_SITE_KINDS:
        text = f"'{value}' sites are not yet available in this version; available: {', '.join(SITE_KINDS)}"
        raise PydanticCustomError("fleet", "{text}", {"text": text})
    text = unknown("site kind", value, (*SITE_KINDS, *LATER_SITE_KINDS))
    raise PydanticCustomError("fleet", "{text}", {"text": text})


def _names(value: object) -> object:
    return (value,) if isinstance(value, str) else value


SiteKind = Annotated[str, AfterValidator(_kind), WithJsonSchema({"type": "string", "enum": [*SITE_KINDS]})]
SiteNames = Annotated[
    tuple[str, ...],
    BeforeValidator(_names),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]


class SystemSpec(Model):
    """The CPU nodes for system pods of a cluster that the plan creates."""

    machine: str | None = Field(
        default=None, description="general-purpose machine of the cloud; default: m6i.large, e2-standard-4"
    )
    nodes: Count = Field(default=2, ge=1, description="nodes to start with")
    min: Count | None = Field(default=None, ge=1, description="fewest nodes; default: `nodes`")
    max: Count | None = Field(default=None, ge=1, description="most nodes; default: `nodes`")
    disk: Count = Field(default=50, ge=20, description="root disk, GiB")


class AddonSpec(Model):
    """One add-on of a site's cluster."""

    state: AddonState = Field(default="managed", description="managed: installed; present: relied on; absent: neither")
    version: str | None = Field(default=None, description="chart or image version; default: the catalogue's")


class Defaults(Model):
    """What sites and pools take when they say nothing themselves."""

    kubernetes: str = Field(default="1.36", description='Kubernetes version of created clusters, quoted: "1.36"')
    system: SystemSpec = Field(default_factory=SystemSpec, description="system CPU nodes of created clusters")
    runtime: str = Field(default="pytorch", description="runtime of pools")
    billing: Literal["hour", "day", "week", "month"] = Field(default="hour", description="billing granularity of pools")
    scaling: Literal["fixed", "auto"] = Field(
        default="fixed", description="who owns the count of pools: spec or autoscaler"
    )
    disk: Count = Field(default=500, ge=50, description="root disk of accelerator nodes, GiB")
    protect: bool | None = Field(default=None, description="refuse replace and delete; default: true except in `dev`")


class VpcSpec(Model):
    """An existing VPC: read, never changed."""

    id: str = Field(pattern=r"^vpc-[0-9a-f]{8,17}$", description="vpc-…")
    subnets: dict[str, str] = Field(description="zone -> id of the private subnet that nodes use there")


class NetworkSpec(Model):
    """How private nodes reach out."""

    nat: Literal["single", "per-zone"] = Field(default="single", description="one NAT gateway, or one in every zone")


class ExclusionSpec(Model):
    """A time without upgrades of a GKE cluster."""

    name: str = Field(description="short name")
    start: str = Field(description='RFC 3339, quoted: "2026-12-01T00:00:00Z"')
    end: str | None = Field(default=None, description="default: until the version's end of support")
    scope: Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"] = Field(
        default="NO_MINOR_OR_NODE_UPGRADES", description="what does not happen"
    )


class MaintenanceSpec(Model):
    """When GKE may touch a cluster."""

    start: str = Field(default="2026-01-03T00:00:00Z", description="first start of the window, RFC 3339, quoted")
    end: str = Field(default="2026-01-03T12:00:00Z", description="its end: the length of every window")
    recurrence: str = Field(default="FREQ=WEEKLY;BYDAY=SA,SU", description="RFC 5545 rule")
    exclusions: tuple[ExclusionSpec, ...] | None = Field(
        default=None, description="default: no upgrade of nodes or minor versions until end of support"
    )


class KubeconfigSpec(Model):
    """Where an existing cluster is reached."""

    context: str = Field(min_length=1, description="context of the kubeconfig (KUBECONFIG, ~/.kube/config)")


class ClusterSpec(Model):
    """The site's cluster: settings of one to create, or the name of an existing one."""

    name: str | None = Field(default=None, description="name of an existing cluster: read, never changed")
    public: bool | None = Field(default=None, description="API endpoint reachable from outside the VPC; default: true")
    public_cidrs: tuple[str, ...] | None = Field(default=None, description="who may reach it; default: everyone")
    logs: tuple[LogType, ...] = Field(default=(), description="control-plane logs: api, audit, authenticator, …")
    channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"] = Field(
        default="REGULAR", description="release channel (gke)"
    )


class SiteSpec(Model):
    """One cluster with its network."""

    name: str = Field(description="short name; part of cloud names")
    kind: SiteKind = Field(description="eks, gke, existing")
    account: str = Field(default="", description='AWS account, 12 digits, quoted: "000000000000" (eks)')
    project: str | None = Field(default=None, description="Google Cloud project (gke)")
    kubeconfig: KubeconfigSpec | None = Field(default=None, description="how the cluster is reached (existing)")
    region: str = Field(default="", description="region of the cloud: us-east-2, us-central1 (eks, gke)")
    cidr: str | None = Field(default=None, description="the VPC's own block: /16 to /20 (eks), /12 to /18 (gke)")
    vpc: VpcSpec | None = Field(default=None, description="an existing network instead of `cidr`")
    network: NetworkSpec = Field(default_factory=NetworkSpec, description="settings of the created network")
    cluster: ClusterSpec = Field(default_factory=ClusterSpec, description="settings, or an existing cluster")
    kubernetes: str | None = Field(default=None, description="overrides defaults.kubernetes")
    version: str | None = Field(
        default=None, description="pins the nodes of the site: AMI release (eks), node version (gke)"
    )
    system: SystemSpec | None = Field(default=None, description="overrides defaults.system as a whole")
    addons: dict[str, AddonSpec] = Field(default_factory=dict, description="add-on -> state and version")
    maintenance: MaintenanceSpec | None = Field(default=None, description="when the cluster may be touched (gke)")


class TaintSpec(Model):
    """A Kubernetes taint beside the accelerator's own."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class PoolSpec(Model):
    """Nodes of one chip and shape in one zone."""

    name: str = Field(description="the pool's and its queue's name")
    site: SiteNames = Field(description="a site's name, or several in order of preference")
    zone: str | None = Field(
        default=None, description="us-east-2a; default: the plan chooses; needed with a reservation"
    )
    chip: str = Field(description="h100, a100, trn1n, tpu-v5e, …: `fleet catalog chips`")
    topology: str | None = Field(default=None, description="TPU slice: 4x4, 2x2x4; default: from `cards`")
    variant: str | None = Field(default=None, description="narrows the chip: 80gb")
    machine: str | None = Field(default=None, description="narrows the machine: p5e.48xlarge")
    cards: Count | None = Field(
        default=None, ge=1, description="cards of the whole pool, whole nodes; of a TPU: chips, whole slices"
    )
    cards_per_node: Count | None = Field(default=None, ge=1, description="only where the catalogue is not sure of it")
    runtime: str | None = Field(default=None, description="pytorch, …; default: defaults.runtime")
    capacity: CapacitySpec = Field(default_factory=CapacitySpec, description="how the nodes are got")
    scaling: Literal["fixed", "auto"] | None = Field(
        default=None, description="fixed: this file owns the count; auto: an autoscaler"
    )
    min_cards: Count | None = Field(default=None, ge=0, description="scaling auto: fewest cards; default 0")
    max_cards: Count | None = Field(default=None, ge=1, description="scaling auto: most cards; default `cards`")
    billing: Literal["hour", "day", "week", "month"] | None = Field(
        default=None, description="default: defaults.billing"
    )
    labels: dict[str, str] = Field(default_factory=dict, description="node labels beside the pool's own")
    taints: tuple[TaintSpec, ...] = Field(default=(), description="taints beside the accelerator's own")
    disk: Count | None = Field(default=None, ge=50, description="root disk, GiB; default: defaults.disk")
    owner: str | None = Field(default=None, description="overrides tags.owner for this pool; a team's name: its pool")
    node_selector: dict[str, str] = Field(
        default_factory=dict,
        description="existing: labels that the pool's nodes bear; default: all nodes with the chip's resource",
    )
    queue: str | None = Field(default=None, description="LocalQueue that jobs name; default: the pool's name")
    sharing: SharingSpec | None = Field(default=None, description="parts of a card for jobs; default: whole cards")
    version: str | None = Field(
        default=None, description="pins the nodes: AMI release (eks), node version (gke), runtime version"
    )


class NfsSpec(Model):
    """A given NFS export."""

    server: str = Field(min_length=1, description="address or name")
    path: str = Field(pattern=r"^/.*$", description="/export")


class VolumeSpec(Model):
    """A shared file system of one site."""

    name: str = Field(description="the volume's and its claim's name")
    site: str = Field(description="a site's name")
    size: str = Field(description="least size: 10TiB, 1200GiB")
    mount: str = Field(default="/data/cloud_storage", pattern=r"^/.*$", description="where jobs see it")
    service: Literal["efs", "fsx-lustre", "filestore", "gke-lustre", "csi", "nfs"] | None = Field(
        default=None, description="efs, fsx-lustre (eks); filestore, gke-lustre (gke); csi, nfs (existing)"
    )
    tier: str | None = Field(default=None, description="of the service: ZONAL, PERSISTENT_2/250, …")
    zone: str | None = Field(default=None, description="of a zonal service; default: its pools'")
    nfs: NfsSpec | None = Field(default=None, description="existing: a given export")
    storage_class: str | None = Field(default=None, description="existing: a given StorageClass")


Day = Annotated[
    str, Field(default="", pattern=r"^([0-9]{4}-[0-9]{2}(-[0-9]{2})?)?$", description="a day or a month: 2026-11-30")
]


class GivenFigures(Model):
    """Figures that stand instead of the catalogue's, and who says so."""

    source: str = Field(min_length=1, description="who says so: a data sheet, a contract, a measurement")
    date: Day

    def figures(self) -> dict[str, object]:
        """What is given, without source and date."""
        return {k: v for k, v in self if k not in ("source", "date") and v is not None}


class GivenChip(GivenFigures):
    """Of a chip's form as `fleet catalog chips` names it."""

    memory_gb: float | None = Field(default=None, gt=0, description="memory of a card, GB")
    dense_bf16_tflops: float | None = Field(default=None, gt=0, description="dense BF16, TFLOP/s")
    memory_bandwidth_gbs: float | None = Field(default=None, gt=0, description="memory bandwidth, GB/s")
    tdp_w: float | None = Field(default=None, gt=0, description="power of a card, W")
    cards_per_node: tuple[Annotated[Count, Field(ge=1)], ...] | None = Field(
        default=None, min_length=1, description="counts that nodes have"
    )


class GivenMachine(GivenFigures):
    """Of a machine as `fleet catalog machines` names it."""

    cards_per_node: Count | None = Field(default=None, ge=1, description="cards of a node")
    efa_max: Count | None = Field(default=None, ge=0, description="EFA interfaces (EC2)")
    network_gbps: float | None = Field(default=None, gt=0, description="network of a node, Gbit/s")
    memory_gib: float | None = Field(default=None, gt=0, description="memory of a node, GiB")


class PriceSpec(Model):
    """What a machine costs here, instead of the list price."""

    machine: str = Field(description="machine type")
    region: str = Field(description="region")
    mode: Literal["on-demand", "spot", "capacity-block"] = Field(default="on-demand", description="how it is billed")
    value: float = Field(ge=0, description="USD per instance-hour")
    source: str = Field(min_length=1, description="who says so: a contract, a quote")
    date: Day


class CatalogSpec(Model):
    """Figures of one's own instead of the catalogue's."""

    chips: dict[str, GivenChip] = Field(default_factory=dict, description="form of a chip -> figures")
    machines: dict[str, GivenMachine] = Field(default_factory=dict, description="machine -> figures")
    prices: tuple[PriceSpec, ...] = Field(default=(), description="prices")


@dataclass(frozen=True)
class Origin:
    """Where a value stands: file, line, and its path in that file (before merging)."""

    file: str
    line: int
    path: str


class FleetSpec(Model):
    """One environment: sites, pools and what they share. Read with `accelerator_fleet.spec.load`."""

    fleet: str = Field(description="name of the fleet; first part of cloud names")
    tags: dict[str, str] = Field(description="tags of everything; owner and cost-center are mandatory")
    defaults: Defaults = Field(default_factory=Defaults, description="what sites and pools take by default")
    sites: tuple[SiteSpec, ...] = Field(default=(), description="clusters with their networks")
    pools: tuple[PoolSpec, ...] = Field(default=(), description="accelerator nodes")
    volumes: tuple[VolumeSpec, ...] = Field(default=(), description="shared file systems")
    purchases: tuple[PurchaseSpec, ...] = Field(default=(), description="capacity blocks to buy (eks)")
    teams: tuple[TeamSpec, ...] = Field(default=(), description="who shares the cards: queues, quotas, borrowing")
    catalog: CatalogSpec = Field(default_factory=CatalogSpec, description="figures instead of the catalogue's")
    allow: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="pool -> change class -> digest printed by the review"
    )

    _env: str = PrivateAttr(default="dev")
    _origins: Mapping[str, Origin] = PrivateAttr(default_factory=dict)

    @property
    def env(self) -> str:
        """The environment: the stem of the file the spec came from, `dev` without a file."""
        return self._env

    def located(self, env: str, origins: Mapping[str, Origin]) -> FleetSpec:
        """This spec, knowing its environment and where each value stands."""
        self._env = env
        self._origins = origins
        return self

    def error(self, path: str, message: str) -> FleetError:
        """An error at `path` of the merged spec, told with the file, line and path where it was written."""
        probe = path
        while True:
            found = self._origins.get(probe)
            if found is not None:
                own = found.path + path[len(probe) :]
                return FleetError(own, message, file=found.file, line=found.line)
            if not probe:
                return FleetError(path, message)
            cut = max(probe.rfind("."), probe.rfind("["))
            probe = probe[:cut] if cut > 0 else ""
