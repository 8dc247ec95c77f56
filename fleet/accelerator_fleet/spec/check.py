"""Checks across fields that need no catalogue: names, references, accounts, address blocks, labels."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Final

from accelerator_fleet.errors import FleetError, nearest, raise_all, unknown
from accelerator_fleet.spec.kinds import pool_fields, queues, site_fields, team_queues, volumes
from accelerator_fleet.spec.model import MANDATORY_TAGS, FleetSpec, SiteSpec

Block = ipaddress.IPv4Network
NAME: Final = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
# Largest and smallest prefix of a site's block.
PREFIXES: Final = {"eks": (16, 20), "gke": (12, 18)}
# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
LABEL_KEY: Final = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
RESERVED_LABELS: Final = ("kubernetes.io/", "k8s.io/", "eks.amazonaws.com/", "accelerator-fleet.dev/", "nvidia.com/")


def check(spec: FleetSpec) -> None:
    """Raises FleetError, or FleetErrors with everything found."""
    raise_all([e for rule in RULES for e in rule(spec)])


def _names(spec: FleetSpec) -> Iterator[FleetError]:
    if not NAME.fullmatch(spec.env):
        text = f"the file's stem '{spec.env}' is the environment's name: small letters, digits and hyphens"
        yield spec.error("", text)
    named = [("fleet", spec.fleet)]
    named += [(f"sites[{i}].name", s.name) for i, s in enumerate(spec.sites)]
    named += [(f"pools[{i}].name", p.name) for i, p in enumerate(spec.pools)]
    named += [(f"pools[{i}].queue", p.queue) for i, p in enumerate(spec.pools) if p.queue is not None]
    named += [(f"volumes[{i}].name", v.name) for i, v in enumerate(spec.volumes)]
    named += [(f"purchases[{i}].name", p.name) for i, p in enumerate(spec.purchases)]
    named += [(f"teams[{i}].name", t.name) for i, t in enumerate(spec.teams)]
    for path, name in named:
        if not NAME.fullmatch(name):
            fixed = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")
            hint = f"; nearest: {fixed}" if fixed else ""
            text = f"'{name}' is no name: small letters, digits and hyphens, a letter first{hint}"
            yield spec.error(path, text)


def _unique(spec: FleetSpec) -> Iterator[FleetError]:
    named = {
        "sites": [s.name for s in spec.sites],
        "pools": [p.name for p in spec.pools],
        "volumes": [v.name for v in spec.volumes],
        "purchases": [p.name for p in spec.purchases],
        "teams": [t.name for t in spec.teams],
    }
    for kind, items in named.items():
        for i, name in enumerate(items):
            if name in items[:i]:
                text = f"'{name}' is already the name of {kind}[{items.index(name)}]; every {kind[:-1]} has its own"
                yield spec.error(f"{kind}[{i}].name", text)


def _tags(spec: FleetSpec) -> Iterator[FleetError]:
    for tag in MANDATORY_TAGS:
        if not spec.tags.get(tag):
            close = nearest(tag, (k for k in spec.tags if k not in MANDATORY_TAGS))
            hint = f"; nearest: {close[0]}" if close else ""
            yield spec.error("tags", f"the tag '{tag}' is mandatory{hint}")
    for key, value in spec.tags.items():
        # https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
        if len(key) > 128 or len(value) > 256 or key.lower().startswith("aws:"):
            text = "a tag has at most 128 characters in its key and 256 in its value, and no 'aws:' in front"
            yield spec.error(f"tags.{key}", text)


def _sites(spec: FleetSpec) -> Iterator[FleetError]:
    if not spec.sites:
        yield spec.error("sites", "there is no site; a fleet has one or more, each a cluster with its network")
    for i, site in enumerate(spec.sites):
        path = f"sites[{i}]"
        if site.kind != "eks":
            continue
        if site.account and not re.fullmatch(r"[0-9]{12}", site.account):
            text = f"'{site.account}' is no AWS account: 12 digits, quoted"
            yield spec.error(f"{path}.account", text)
        yield from _network_source(spec, path, site)


def _versions(spec: FleetSpec) -> Iterator[FleetError]:
    said = [("defaults.kubernetes", spec.defaults.kubernetes)]
    said += [(f"sites[{i}].kubernetes", s.kubernetes) for i, s in enumerate(spec.sites) if s.kubernetes is not None]
    for path, version in said:
        if not re.fullmatch(r"1\.[0-9]{2}", version):
            minor = re.match(r"v?(1\.[0-9]{2})", version)
            hint = f"; nearest: {minor.group(1)}" if minor else ""
            yield spec.error(path, f"'{version}' is no Kubernetes version of EKS or GKE, like 1.36{hint}")


def _access(spec: FleetSpec) -> Iterator[FleetError]:
    for i, site in enumerate(spec.sites):
        for j, cidr in enumerate(site.cluster.public_cidrs or ()):
            try:
                Block(cidr)
            except ValueError:
                yield spec.error(
                    f"sites[{i}].cluster.public_cidrs[{j}]", f"'{cidr}' is no IPv4 block; like 192.0.2.0/24"
                )


def _shared_clusters(spec: FleetSpec) -> Iterator[FleetError]:
    seen: dict[tuple[str, str, str], str] = {}
    for i, site in enumerate(spec.sites):
        if site.cluster.name is None:
            continue
        key = (site.account, site.region, site.cluster.name)
        if key in seen:
            yield spec.error(f"sites[{i}].cluster.name", f"'{site.cluster.name}' is already site {seen[key]}'s cluster")
        seen.setdefault(key, site.name)


def _network_source(spec: FleetSpec, path: str, site: SiteSpec) -> Iterator[FleetError]:
    if site.cidr is None and site.vpc is None:
        yield spec.error(path, "says no network: give `cidr` for a new VPC, or `vpc` with the id of an existing one")
    if site.cidr is not None and site.vpc is not None:
        text = "an existing VPC keeps its own blocks: take `cidr` away (`cidr: null` where it is inherited)"
        yield spec.error(f"{path}.vpc", text)
    if site.vpc is not None and "network" in site.model_fields_set:
        yield spec.error(f"{path}.network", "an existing VPC keeps its own gateways; leave this out")
    if site.cluster.name is not None:
        if site.vpc is None:
            text = "an existing cluster lies in an existing VPC: give its id and the nodes' subnets"
            yield spec.error(f"{path}.vpc", text)
        extra = [f for f in ("public", "public_cidrs", "logs") if f in site.cluster.model_fields_set]
        extra_site = [f for f in ("kubernetes", "system") if f in site.model_fields_set]
        for field in extra:
            yield spec.error(f"{path}.cluster.{field}", "an existing cluster keeps its own setting; leave this out")
        for field in extra_site:
            yield spec.error(f"{path}.{field}", "an existing cluster keeps its own setting; leave this out")
    for zone, subnet in (site.vpc.subnets if site.vpc else {}).items():
        if not re.fullmatch(r"subnet-[0-9a-f]{8,17}", subnet):
            yield spec.error(f"{path}.vpc.subnets.{zone}", f"'{subnet}' is no subnet id: subnet-…")


def _blocks(spec: FleetSpec) -> Iterator[FleetError]:
    taken: list[tuple[int, Block]] = []
    for i, site in enumerate(spec.sites):
        if site.cidr is None or site.kind not in PREFIXES:
            continue
        path = f"sites[{i}].cidr"
        largest, smallest = PREFIXES[site.kind]
        try:
            block = ipaddress.IPv4Network(site.cidr, strict=False)
        except ValueError:
            yield spec.error(path, f"'{site.cidr}' is no IPv4 block; like 10.16.0.0/16")
            continue
        if not largest <= block.prefixlen <= smallest:
            whose = "a site" if site.kind == "eks" else f"a {site.kind} site"
            text = f"/{block.prefixlen} does not fit: {whose} takes /{largest} to /{smallest}"
            near = min(max(block.prefixlen, largest), smallest)
            yield spec.error(path, f"{text}; nearest: {_resized(block, near)}")
            continue
        if str(block) != site.cidr:
            yield spec.error(path, f"'{site.cidr}' has bits after its prefix; nearest: {block}")
            continue
        if not (block.is_private or block.subnet_of(Block("100.64.0.0/10"))):
            yield spec.error(path, f"{block} is public address space; use a block of 10.0.0.0/8, like 10.16.0.0/16")
            continue
        for j, other in taken:
            if block.overlaps(other):
                free = _next_free(block, [b for _, b in taken])
                text = f"{block} overlaps {other} of site {spec.sites[j].name}"
                yield spec.error(path, f"{text}; nearest free: {free}")
                break
        taken.append((i, block))


def _resized(block: Block, prefix: int) -> Block:
    return Block((int(block.network_address) & ~((1 << (32 - prefix)) - 1), prefix))


def _next_free(block: Block, taken: list[Block]) -> Block | None:
    start = int(block.network_address)
    for step in range(1, 1 << 12):
        address = start + step * block.num_addresses
        if address >= 1 << 32:
            return None
        candidate = Block((address, block.prefixlen))
        if not any(candidate.overlaps(t) for t in taken):
            return candidate
    return None


def _pool_sites(spec: FleetSpec) -> Iterator[FleetError]:
    known = [s.name for s in spec.sites]
    for i, pool in enumerate(spec.pools):
        for j, name in enumerate(pool.site):
            # A single name is written without brackets, so its path has none.
            path = f"pools[{i}].site" if len(pool.site) == 1 else f"pools[{i}].site[{j}]"
            if known and name not in known:
                yield spec.error(path, unknown("site", name, known))
        if not pool.site:
            yield spec.error(f"pools[{i}].site", "names no site")


def _pool_counts(spec: FleetSpec) -> Iterator[FleetError]:
    for i, pool in enumerate(spec.pools):
        scaling = pool.scaling or spec.defaults.scaling
        for field in ("min_cards", "max_cards"):
            if scaling == "fixed" and getattr(pool, field) is not None:
                text = "the count of a `scaling: fixed` pool is `cards` alone; say `scaling: auto`, or leave this out"
                yield spec.error(f"pools[{i}].{field}", text)
        if scaling == "auto":
            if pool.cards is None:
                continue  # a TPU slice, whose count the topology says
            low, high = pool.min_cards or 0, pool.max_cards or pool.cards
            if not low <= pool.cards <= high:
                text = f"{pool.cards} lies outside min_cards {low} … max_cards {high}"
                yield spec.error(f"pools[{i}].cards", text)


def _pool_labels(spec: FleetSpec) -> Iterator[FleetError]:
    for i, pool in enumerate(spec.pools):
        for key, value in pool.labels.items():
            path = f"pools[{i}].labels.{key}"
            domain = key.partition("/")[0] + "/" if "/" in key else ""
            if any(domain == r or domain.endswith(f".{r}") for r in RESERVED_LABELS):
                yield spec.error(
                    path, f"labels of {domain[:-1]} are set by the cluster or the plan; use your own domain"
                )
            elif not LABEL_KEY.fullmatch(key):
                yield spec.error(path, f"'{key}' is no Kubernetes label key: [domain/]name, at most 63 characters")
            elif not LABEL_VALUE.fullmatch(value):
                yield spec.error(path, f"'{value}' is no label value: letters, digits, -_. and at most 63 characters")
        for j, taint in enumerate(pool.taints):
            if not LABEL_KEY.fullmatch(taint.key) or not LABEL_VALUE.fullmatch(taint.value):
                yield spec.error(f"pools[{i}].taints[{j}]", f"'{taint.key}={taint.value}' is no Kubernetes taint")


def _allowances(spec: FleetSpec) -> Iterator[FleetError]:
    names = [p.name for p in spec.pools]
    for name in spec.allow:
        if name not in names:
            yield spec.error(f"allow.{name}", unknown("pool", name, names))


def _volume_sites(spec: FleetSpec) -> Iterator[FleetError]:
    known = [s.name for s in spec.sites]
    for i, volume in enumerate(spec.volumes):
        if known and volume.site not in known:
            yield spec.error(f"volumes[{i}].site", unknown("site", volume.site, known))


RULES: Final[tuple[Callable[[FleetSpec], Iterator[FleetError]], ...]] = (
    _names,
    _unique,
    _tags,
    _sites,
    _versions,
    _access,
    _shared_clusters,
    _blocks,
    _pool_sites,
    _pool_counts,
    _pool_labels,
    _allowances,
    _volume_sites,
    site_fields,
    pool_fields,
    queues,
    team_queues,
    volumes,
)
