"""Everything of one Google provider of the stack, and which types that covers.

Labels tell clusters and file systems of a fleet. Networks, routers, accounts and pools have none: those whose names
begin as the program draws them are looked at, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

from accelerator_fleet_recover.google.session import Project, made, status
from accelerator_fleet_recover.model import Item, Wanted

NETWORK: Final = "gcp:compute/network:Network"
ROUTER: Final = "gcp:compute/router:Router"
NAT: Final = "gcp:compute/routerNat:RouterNat"
CONNECTION: Final = "gcp:servicenetworking/connection:Connection"
ACCOUNT: Final = "gcp:serviceaccount/account:Account"
MEMBER: Final = "gcp:projects/iAMMember:IAMMember"
CLUSTER: Final = "gcp:container/cluster:Cluster"
POOL: Final = "gcp:container/nodePool:NodePool"
FILESTORE: Final = "gcp:filestore/instance:Instance"
LUSTRE: Final = "gcp:lustre/instance:Instance"
# type -> (collection, whether it is regional)
COMPUTE: Final = {
    NETWORK: ("networks", False),
    "gcp:compute/subnetwork:Subnetwork": ("subnetworks", True),
    ROUTER: ("routers", True),
    "gcp:compute/firewall:Firewall": ("firewalls", False),
    "gcp:compute/globalAddress:GlobalAddress": ("addresses", False),
}
TYPES: Final = frozenset({*COMPUTE, NAT, CONNECTION, ACCOUNT, MEMBER, CLUSTER, POOL, FILESTORE, LUSTRE})
SERVICE: Final = "servicenetworking.googleapis.com"
CLUSTER_USD_AN_HOUR: Final = 0.10  # https://cloud.google.com/kubernetes-engine/pricing, one regional cluster


class Inventory:
    """One look at a project."""

    def __init__(self, project: Project, resources: Iterable[Wanted]) -> None:
        self._project = project
        self._given = [r for r in resources if r.provider == project.provider]
        self._types = {r.type for r in self._given}
        self._stems: dict[str, set[str]] = {}
        for one in self._given:
            stem = next(iter(one.drawn.values()), None) or str(one.inputs.get("name") or "")
            if stem:
                self._stems.setdefault(one.type, set()).add(stem)

    def items(self) -> Iterator[Item]:
        """The fleet's things."""
        networks = []
        for kind, (collection, regional) in COMPUTE.items():
            for item in self._compute(kind, collection, regional):
                networks += [item.name] if kind == NETWORK else []
                yield item
        if CONNECTION in self._types:
            for name in networks:
                yield from self._connections(name)
        yield from self._identities()
        yield from self._clusters()
        if FILESTORE in self._types:
            yield from self._files("file", "v1", FILESTORE)
        if LUSTRE in self._types:
            yield from self._files("lustre", "v1", LUSTRE)

    def _ours(self, kind: str, name: str) -> bool:
        return any(name.startswith(stem) for stem in self._stems.get(kind, ()))

    def _item(self, kind: str, imports: str, name: str, found: dict[str, Any], **more: Any) -> Item:
        made_at = made(found)
        return Item(kind, imports, name=name, created=made_at, provider=self._project.provider, **more)

    def _compute(self, kind: str, collection: str, regional: bool) -> Iterator[Item]:
        if kind not in self._types:
            return
        place = f"regions/{self._project.region}" if regional else "global"
        root = f"projects/{self._project.name}/{place}/{collection}"
        for found in self._project.pages("compute", root, "items"):
            name = str(found["name"])
            if not self._ours(kind, name):
                continue
            yield self._item(kind, f"{root}/{name}", name, found)
            for nat in found.get("nats") or [] if kind == ROUTER else []:
                identity = f"{self._project.name}/{self._project.region}/{name}/{nat['name']}"
                yield self._item(NAT, identity, str(nat["name"]), {}, keys={"router": name})

    def _connections(self, network: str) -> Iterator[Item]:
        path = f"projects/{self._project.name}/global/networks/{network}"
        listed = self._project.ask("servicenetworking", f"v1/services/{SERVICE}/connections", network=path)
        for found in listed.get("connections") or []:
            keys = {"network": path, "service": str(found["service"]).rpartition("/")[2]}
            # The provider's id has the network's path escaped.
            yield self._item(CONNECTION, f"{quote(path, safe='')}:{keys['service']}", "", {}, keys=keys,
                             id=f"{path}:{keys['service']}")  # fmt: skip

    def _identities(self) -> Iterator[Item]:
        if ACCOUNT not in self._types:
            return
        project, ours = self._project.name, set()
        for found in self._project.pages("iam", f"v1/projects/{project}/serviceAccounts", "accounts"):
            name = str(found["email"]).partition("@")[0]
            if self._ours_account(name):
                ours.add(f"serviceAccount:{found['email']}")
                yield self._item(ACCOUNT, f"projects/{project}/serviceAccounts/{found['email']}", name, found)
        policy = self._project.ask("cloudresourcemanager", f"v1/projects/{project}:getIamPolicy", "POST")
        for binding in policy.get("bindings") or []:
            for member in [m for m in binding.get("members") or [] if m in ours]:
                keys = {"role": str(binding["role"]), "member": str(member)}
                yield self._item(MEMBER, f"{project} {keys['role']} {member}", "", {}, keys=keys,
                                 id=f"{project}/{keys['role']}/{member}")  # fmt: skip

    def _ours_account(self, name: str) -> bool:
        given = [w for w in self._given if w.type == ACCOUNT]
        stems = {w.drawn.get("accountId") or str(w.inputs.get("accountId")) for w in given}
        return any(name.startswith(stem) for stem in stems)

    def _clusters(self) -> Iterator[Item]:
        if not self._types & {CLUSTER, POOL}:
            return
        project = self._project.name
        listed = self._project.ask("container", f"v1/projects/{project}/locations/-/clusters")
        for found in listed.get("clusters") or []:
            name, place = str(found["name"]), str(found["location"])
            ours = self._project.owns(found.get("resourceLabels"))
            if not ours and not any(w.inputs.get("cluster") == name for w in self._given):
                continue
            path = f"projects/{project}/locations/{place}/clusters/{name}"
            if ours:
                yield self._item(CLUSTER, path, name, found, tags=found.get("resourceLabels") or {},
                                 status=status(found), cost=CLUSTER_USD_AN_HOUR)  # fmt: skip
            for pool in found.get("nodePools") or []:
                if ours or self._ours(POOL, str(pool["name"])):
                    yield self._pool(path, name, pool)

    def _pool(self, path: str, cluster: str, pool: dict[str, Any]) -> Item:
        machine = str((pool.get("config") or {}).get("machineType") or "")
        zones = ", ".join(pool.get("locations") or [])
        return self._item(
            POOL, f"{path}/nodePools/{pool['name']}", str(pool["name"]), {}, keys={"cluster": cluster},
            status=status(pool), note=f"{machine} in {zones}",
        )  # fmt: skip

    def _files(self, api: str, version: str, kind: str) -> Iterator[Item]:
        project = self._project.name
        for found in self._project.pages(api, f"{version}/projects/{project}/locations/-/instances", "instances"):
            if self._project.owns(found.get("labels")):
                name = str(found["name"]).rpartition("/")[2]
                yield self._item(kind, str(found["name"]), name, found, tags=found["labels"], status=status(found),
                                 note="holds data")  # fmt: skip
