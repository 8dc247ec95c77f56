"""Checks of what each kind of site, and of volume, needs and takes: no catalogue, only fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from accelerator_fleet.errors import FleetError
from accelerator_fleet.spec.model import FleetSpec, SiteSpec, VolumeSpec

# field -> what to write, where a kind needs it
NEEDS: Final = {
    "eks": {"account": "AWS account, 12 digits, quoted", "region": "AWS region, like us-east-2"},
    "gke": {
        "project": "Google Cloud project, like research-123",
        "region": "region of Google Cloud, like us-central1",
        "cidr": "the VPC's own block, like 10.20.0.0/14",
    },
    "existing": {"kubeconfig": "how the cluster is reached: {context: lab}"},
}
TAKES: Final = {
    "eks": {"account", "region", "cidr", "vpc", "network", "cluster", "kubernetes", "version", "system", "addons"},
    "gke": {
        "project",
        "region",
        "cidr",
        "network",
        "cluster",
        "kubernetes",
        "version",
        "system",
        "addons",
        "maintenance",
    },
    "existing": {"kubeconfig", "addons"},
}
CLUSTER_TAKES: Final = {"eks": {"name", "public", "public_cidrs", "logs"}, "gke": {"public", "public_cidrs", "channel"}}
# Of pools on an existing site: its nodes are there already, so nothing of how they are got can be said.
NODES_ARE_THERE: Final = ("zone", "machine", "disk", "topology", "version")
# https://cloud.google.com/resource-manager/docs/creating-managing-projects (6 to 30 characters)
PROJECT: Final = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
SIZE: Final = re.compile(r"([1-9][0-9]*)(GiB|TiB)")
TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
# https://cloud.google.com/resource-manager/docs/labels-overview: small letters, digits, - and _, at most 63
GOOGLE_LABEL: Final = re.compile(r"[a-z0-9_-]{0,63}")


def size_gib(text: str) -> int | None:
    """`10TiB` -> 10240; None when it is no size."""
    found = SIZE.fullmatch(text)
    return int(found.group(1)) * (1024 if found.group(2) == "TiB" else 1) if found else None


def site_fields(spec: FleetSpec) -> Iterator[FleetError]:
    """Fields that a kind needs and does not have, or has and cannot use."""
    for i, site in enumerate(spec.sites):
        path = f"sites[{i}]"
        for field, what in NEEDS[site.kind].items():
            if not getattr(site, field):
                yield spec.error(f"{path}.{field}", f"missing: {what}")
        for field in sorted(site.model_fields_set - TAKES[site.kind] - {"name", "kind"}):
            if getattr(site, field) is not None:
                kinds = " and ".join(k for k, t in TAKES.items() if field in t)
                yield spec.error(f"{path}.{field}", f"sites of kind {site.kind} have none; it is for {kinds}")
        if site.kind in CLUSTER_TAKES:
            for field in sorted(site.cluster.model_fields_set - CLUSTER_TAKES[site.kind]):
                text = f"clusters of {site.kind} sites have none; leave it out"
                if field == "name":
                    text = "name an existing cluster by a site of `kind: existing` and its kubeconfig's context"
                yield spec.error(f"{path}.cluster.{field}", text)
        if site.kind == "gke":
            yield from _google(spec, path, site)


def _google(spec: FleetSpec, path: str, site: SiteSpec) -> Iterator[FleetError]:
    if site.project and not PROJECT.fullmatch(site.project):
        text = f"'{site.project}' is no project id: 6 to 30 small letters, digits and hyphens, a letter first"
        yield spec.error(f"{path}.project", text)
    for key, value in spec.tags.items():
        if not GOOGLE_LABEL.fullmatch(value) or not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key):
            text = f"'{key}: {value}' is no label of Google Cloud: small letters, digits, - and _, at most 63"
            yield spec.error(f"tags.{key}", text)
    if site.maintenance is None:
        return
    said = [("start", site.maintenance.start), ("end", site.maintenance.end)]
    for j, exclusion in enumerate(site.maintenance.exclusions or ()):
        said += [
            (f"exclusions[{j}].start", exclusion.start),
            (f"exclusions[{j}].end", exclusion.end or exclusion.start),
        ]
    for field, value in said:
        if not TIME.fullmatch(value):
            text = f"'{value}' is no time in UTC, like \"2026-12-01T00:00:00Z\""
            yield spec.error(f"{path}.maintenance.{field}", text)


def pool_fields(spec: FleetSpec) -> Iterator[FleetError]:
    """Fields of pools that go together, or that no site of theirs can use."""
    kinds = {s.name: s.kind for s in spec.sites}
    for i, pool in enumerate(spec.pools):
        path = f"pools[{i}]"
        on = {kinds.get(name, "") for name in pool.site}
        if pool.cards is None and pool.topology is None:
            yield spec.error(f"{path}.cards", "missing: cards of the whole pool, whole nodes")
        if on == {"existing"}:
            fields = [f for f in NODES_ARE_THERE if getattr(pool, f) is not None]
            fields += ["capacity"] if "capacity" in pool.model_fields_set else []
            for field in fields:
                yield spec.error(
                    f"{path}.{field}", "the nodes of an existing cluster are there already; leave this out"
                )
        if pool.node_selector and "existing" not in on and "" not in on:
            text = "this finds the nodes of an existing cluster; the nodes of this pool are created"
            yield spec.error(f"{path}.node_selector", text)


def queues(spec: FleetSpec) -> Iterator[FleetError]:
    """One queue name, one pool, on every site."""
    seen: dict[tuple[str, str], str] = {}
    for i, pool in enumerate(spec.pools):
        for site in pool.site:
            key = (site, pool.queue or pool.name)
            if key in seen and (pool.queue or seen[key] != pool.name):
                text = f"'{key[1]}' is already the queue of pool {seen[key]}, which may be on {site} too"
                yield spec.error(f"pools[{i}].{'queue' if pool.queue else 'name'}", text)
                break
            seen[key] = pool.name


def team_queues(spec: FleetSpec) -> Iterator[FleetError]:
    """A team's queue has the team's name; `fleet` is the queue of all who have none."""
    taken = {pool.queue or pool.name: pool.name for pool in spec.pools}
    for i, team in enumerate(spec.teams):
        if team.name in taken:
            text = f"'{team.name}' is already the queue of pool {taken[team.name]}"
            yield spec.error(f"teams[{i}].name", f"{text}; nearest: team-{team.name}")
        if team.name == "fleet":
            yield spec.error(f"teams[{i}].name", "'fleet' is the queue of jobs without a team; nearest: team-fleet")


def volumes(spec: FleetSpec) -> Iterator[FleetError]:
    """Sizes, and how a given file system is named."""
    kinds = {s.name: s.kind for s in spec.sites}
    mounts: dict[tuple[str, str], str] = {}
    for i, volume in enumerate(spec.volumes):
        path = f"volumes[{i}]"
        if size_gib(volume.size) is None:
            number = re.match(r"[0-9]+", volume.size)
            hint = f"; nearest: {number.group()}TiB" if number else ""
            yield spec.error(f"{path}.size", f"'{volume.size}' is no size, like 10TiB or 1200GiB{hint}")
        key = (volume.site, volume.mount)
        if key in mounts:
            yield spec.error(f"{path}.mount", f"{volume.mount} is already where jobs see volume {mounts[key]}")
        mounts.setdefault(key, volume.name)
        if kinds.get(volume.site) == "existing":
            yield from _given(spec, path, volume)
        else:
            for field in ("nfs", "storage_class"):
                if getattr(volume, field) is not None:
                    text = "only an existing cluster is given a file system; this site's is created"
                    yield spec.error(f"{path}.{field}", text)


def _given(spec: FleetSpec, path: str, volume: VolumeSpec) -> Iterator[FleetError]:
    if (volume.nfs is None) == (volume.storage_class is None):
        text = "a volume of an existing cluster is given: say one of `nfs: {server, path}` and `storage_class`"
        yield spec.error(path, text)
    for field in ("tier", "zone"):
        if getattr(volume, field) is not None:
            yield spec.error(f"{path}.{field}", "a given file system has its own; leave this out")
