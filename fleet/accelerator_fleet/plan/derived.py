"""Names that are made from the spec's: whether they fit what takes them, and whether two of them are one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.model import PoolPlan, SitePlan, VolumePlan
from accelerator_fleet.spec.model import FleetSpec


class Rule(NamedTuple):
    """One name that components make: `{base}{suffix}`, to which Pulumi adds its own few characters."""

    what: str
    limit: str  # of limits.json
    suffix: str = ""
    automatic: bool = True  # Pulumi appends a hyphen and seven random characters


# The strictest of what is named after a cluster, a site, a volume. Existing clusters get a role for their nodes only.
CLUSTER: Final = {
    "eks": (Rule("an EKS cluster", "eks.cluster.name"), Rule("an IAM role", "iam.role.name", "-cluster")),
    "eks-existing": (
        Rule("an EKS cluster", "eks.cluster.name", automatic=False),
        Rule("an IAM role", "iam.role.name", "-nodes"),
    ),
    "gke": (
        Rule("a GKE cluster", "gke.cluster.name"),
        Rule("a GKE node pool", "gke.nodepool.name", "-system"),
    ),
}
SITE: Final = {"gke": (Rule("a service account", "gcp.account.id", "-nodes"),)}
VOLUME: Final = {
    "efs": (Rule("an EFS file system", "efs.creation-token"),),
    "filestore": (Rule("a Filestore instance", "filestore.name"),),
}
LABEL: Final = Rule("a Kubernetes label or volume", "kubernetes.label", automatic=False)


def length_errors(
    spec: FleetSpec, sites: tuple[SitePlan, ...], volumes: list[VolumePlan], catalog: Catalog
) -> Iterator[FleetError]:
    """Names over a limit, with how many characters fit."""
    for i, site in enumerate(sites):
        kind = f"{site.kind}-existing" if site.cluster.existing else site.kind
        where = f"sites[{i}].cluster.name" if site.cluster.existing else f"sites[{i}].name"
        # What people write is the last part of a created cluster's name.
        written = site.cluster.name if site.cluster.existing else site.name
        yield from _too_long(spec, where, site.cluster.name, written, CLUSTER.get(kind, ()), catalog)
        yield from _too_long(spec, f"sites[{i}].name", site.name, site.name, SITE.get(site.kind, ()), catalog)
    named = {s.name: s.cluster.name for s in sites}
    for i, volume in enumerate(volumes):
        path = f"volumes[{i}].name"
        rules = (LABEL, *VOLUME.get(volume.service, ()))
        yield from _too_long(spec, path, volume.name, volume.name, rules, catalog)
        if volume.service == "gke-lustre":
            rule = (Rule("a Lustre instance", "gke-lustre.name", automatic=False),)
            yield from _too_long(spec, path, f"{named[volume.site]}-{volume.name}", volume.name, rule, catalog)
    for i, pool in enumerate(spec.pools):
        field, queue = ("queue", pool.queue) if pool.queue else ("name", pool.name)
        yield from _too_long(spec, f"pools[{i}].{field}", queue, queue, (LABEL,), catalog)


def _too_long(
    spec: FleetSpec, path: str, name: str, written: str, rules: tuple[Rule, ...], catalog: Catalog
) -> Iterator[FleetError]:
    limits = catalog.limits.entries
    extra = limits["pulumi.name-suffix"].value
    rooms = [(limits[r.limit].value - len(r.suffix) - (extra if r.automatic else 0), r) for r in rules]
    room, rule = min(rooms, key=lambda r: r[0], default=(len(name), None))
    if rule is None or len(name) <= room:
        return
    fits = len(written) - (len(name) - room)
    advice = f"at most {fits} here" if fits > 0 else "shorten `fleet` too"
    made = f"{name}{rule.suffix}{'-…' if rule.automatic else ''}"
    length = len(name) + len(rule.suffix) + (extra if rule.automatic else 0)
    text = f"{rule.what} is named after it: '{made}' has {length} characters and {limits[rule.limit].value} fit"
    yield spec.error(path, f"{text}; {advice}")


class Derived(NamedTuple):
    """One name in one space of names; `path` is the field that would have to change, `owner` what it belongs to."""

    space: str
    name: str
    path: str
    owner: str


def names(sites: tuple[SitePlan, ...], pools: tuple[PoolPlan, ...]) -> Iterator[Derived]:
    """What components, Pulumi or Kubernetes need to be one of a kind. Logical names have no site in them."""
    for i, site in enumerate(sites):
        if site.kind != "existing":
            path = f"sites[{i}].{'cluster.name' if site.cluster.existing else 'name'}"
            yield Derived("cluster", site.cluster.name, path, f"site {site.name}")
        if site.gke_network is not None:
            yield Derived("network", site.cluster.name, f"sites[{i}].name", f"site {site.name}")
            for extra in sorted({e.vpc for e in site.gke_network.extra} | {e.name for e in site.gke_network.extra}):
                owner = f"the network {extra} of site {site.name}"
                yield Derived("network", f"{site.cluster.name}-{extra}", f"sites[{i}].name", owner)
    kinds = {s.name: s.kind for s in sites}
    for i, pool in enumerate(pools):
        path = f"pools[{i}].name"
        if pool.queued is not None:
            continue
        yield Derived(f"ResourceFlavor of {pool.site}", pool.flavor, path, f"pool {pool.name}")
        if kinds[pool.site] == "gke":
            yield Derived("GKE node pool", pool.name, path, f"pool {pool.name}")
            for n in range(1, pool.slices):
                yield Derived("GKE node pool", f"{pool.name}-{n}", path, f"slice {n} of pool {pool.name}")


def collisions(spec: FleetSpec, sites: tuple[SitePlan, ...], pools: tuple[PoolPlan, ...]) -> Iterator[FleetError]:
    """Two names that would be one, told where a name is written as it is: the other is made from an entry's."""
    seen: dict[tuple[str, str], Derived] = {}
    taken = list(names(sites, pools))
    for one in taken:
        other = seen.setdefault((one.space, one.name), one)
        if other is one:
            continue
        written, made = (one, other) if _written(spec, one) else (other, one)
        text = f"'{written.name}' is also the {made.space} of {made.owner}"
        if made.space == "cluster":
            text += "; what is made for a cluster is named after it: put one of the sites into a spec of its own"
            yield spec.error(written.path, text)
            continue
        used = {d.name for d in taken} | {p.name for p in spec.pools} | {s.name for s in spec.sites}
        said = _said(spec, written.path)
        free = next(n for c in "bcdefghijklmnopqrstuvwxyz" if (n := f"{said}{c}") not in used)
        yield spec.error(written.path, f"{text}; nearest free: {free}")


def _said(spec: FleetSpec, path: str) -> str:
    """The name in the spec at `pools[i].name` or `sites[i].name`."""
    kind, _, index = path.partition("]")[0].partition("[")
    return (spec.pools if kind == "pools" else spec.sites)[int(index)].name


def _written(spec: FleetSpec, one: Derived) -> bool:
    """Whether the name is the entry's own (or ends in it, as a cluster's does), not one made from it."""
    return one.name == _said(spec, one.path) or one.name.endswith(f"-{_said(spec, one.path)}")
