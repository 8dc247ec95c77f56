"""Re-reads every value of `fleet status` from the API server and the simulator's database.

Imports nothing of the project: it must not believe what it checks. Usage: check_table.py ENV, in a prepared shell.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

wrong = 0
checked = 0


def same(what: str, printed: object, real: object) -> None:
    """Counts one comparison, and says when it fails."""
    global wrong, checked
    checked += 1
    if str(printed) != str(real):
        wrong += 1
        print(f"wrong: {what}: printed {printed!r}, really {real!r}")


def table(text: str) -> list[list[dict[str, str]]]:
    """The printed tables: columns start where the header's words start."""
    tables = []
    for block in text.strip().split("\n\n"):
        head, *rows = block.splitlines()
        words = head.split()
        # Only the last cell may hold blanks ("context lab").
        tables.append([dict(zip(words, row.split(maxsplit=len(words) - 1), strict=True)) for row in rows])
    return tables


def resources() -> list[dict[str, Any]]:
    """All rows of the simulated cloud, straight from SQLite."""
    database = Path(os.environ["ACCELERATOR_FLEET_SIM"]) / "cloud.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute("SELECT * FROM resources")]


class Cluster(NamedTuple):
    """A cluster as its cloud (or the user's kubeconfig) tells of it, and the command that gives its token."""

    line: dict[str, str]  # what the first table has to say of it
    server: str
    ca: str  # base64
    token: list[str]  # a command whose ExecCredential holds it
    secret: str = ""  # or the token itself


def outputs(row: dict[str, Any]) -> dict[str, Any]:
    """A row's outputs."""
    found: dict[str, Any] = json.loads(row["outputs"])
    return found


def clouds_clusters(rows: list[dict[str, Any]]) -> dict[str, Cluster]:
    """Name -> cluster, of both clouds and of the kubeconfig."""
    found = {}
    for row in rows:
        out = outputs(row)
        if row["type"] == "aws:eks/cluster:Cluster":
            authority = out["certificateAuthority"]
            authority = authority[0] if isinstance(authority, list) else authority
            _, _, service, region, account, _ = out["arn"].split(":", 5)
            line = {"site": out["tagsAll"]["site"], "kind": service, "account": account, "region": region}
            line["endpoint"] = out["endpoint"]
            line["version"] = out["version"]
            token = ["aws", "eks", "get-token", "--cluster-name", out["name"], "--region", region]
            found[out["name"]] = Cluster(line, out["endpoint"], authority["data"], token)
        elif row["type"] == "gcp:container/cluster:Cluster":
            labels = out["effectiveLabels"]
            line = {"site": labels["site"], "kind": "gke", "account": out["project"], "region": out["location"]}
            line["endpoint"] = f"https://{out['endpoint']}"
            line["version"] = out["masterVersion"]
            ca = out["masterAuth"]["clusterCaCertificate"]
            found[out["name"]] = Cluster(line, line["endpoint"], ca, ["gke-gcloud-auth-plugin"])
    given = Path(os.environ.get("KUBECONFIG", "/nowhere"))
    if given.is_file():
        config = json.loads(given.read_text())
        users = {u["name"]: u["user"] for u in config["users"]}
        servers = {c["name"]: c["cluster"] for c in config["clusters"]}
        for context in config["contexts"]:
            one, user = servers[context["context"]["cluster"]], users[context["context"]["user"]]
            line = {"kind": "existing", "account": "-", "region": "-", "endpoint": f"context {context['name']}"}
            ca = one["certificate-authority-data"]
            found[context["name"]] = Cluster(line, one["server"], ca, [], user["token"])
    return found


def get(cluster: Cluster, path: str) -> Any:
    """GET on the cluster's API server."""
    token = cluster.secret
    if cluster.token:
        got = subprocess.run(cluster.token, capture_output=True, text=True, check=True)
        token = json.loads(got.stdout)["status"]["token"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster.ca).decode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(cluster.server + path, headers={"Authorization": f"Bearer {token}"})
    with opener.open(request, timeout=30) as answer:
        return json.load(answer)


def check_site(row: dict[str, str], cluster: Cluster) -> None:
    """One line of the first table."""
    for key, value in cluster.line.items():
        same(f"{row['site']} {key}", row[key], value)
    version = get(cluster, "/version")["gitVersion"]
    if row["version"] != "-":  # the API server here is upstream's: it shares the minor version with the cloud's build
        minor = [f"v{row['version']}".split("."), version.split(".")]
        same(f"{row['site']} minor version", minor[0][:2], minor[1][:2])


# How a pool's nodes are known when they are not known by the label that the toolkit gives: by the cards alone.
RESOURCES = {
    "h100": "nvidia.com/gpu",
    "trn1n": "aws.amazon.com/neuron",
    "tpu-v5e": "google.com/tpu",
    "mi300x": "amd.com/gpu",
}


def wanted_nodes(name: str, rows: list[dict[str, Any]]) -> int | None:
    """How many nodes the cloud was asked for in the pool's groups; None where no cloud was asked."""
    count = None
    for row in rows:
        out = outputs(row)
        if row["type"] == "aws:eks/nodeGroup:NodeGroup" and out["labels"].get(POOL) == name:
            count = (count or 0) + out["scalingConfig"]["desiredSize"]
        if row["type"] == "gcp:container/nodePool:NodePool" and out["nodeConfig"]["labels"].get(POOL) == name:
            count = (count or 0) + out["nodeCount"] * len(out["nodeLocations"])
    return count


POOL = "accelerator-fleet.dev/pool"


def check_pool(row: dict[str, str], site: dict[str, str], cluster: Cluster, rows: list[dict[str, Any]]) -> None:
    """One line of the second table."""
    name, resource = row["pool"], RESOURCES[row["chip"]]
    everything = get(cluster, "/api/v1/nodes")["items"]
    wanted = wanted_nodes(name, rows)
    if wanted is None:
        nodes = [n for n in everything if resource in n["status"]["capacity"]]
        wanted = len(nodes)
    else:
        nodes = [n for n in everything if n["metadata"]["labels"].get(POOL) == name]
    ready = [n for n in nodes if any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"]["conditions"])]
    cards = sum(int(n["status"]["allocatable"].get(resource, 0)) for n in ready)
    asked = sum(int(n["status"]["capacity"].get(resource, 0)) for n in nodes)
    same(f"{name} site", row["site"], site["site"])
    same(f"{name} nodes", row["nodes"], f"{len(ready)}/{wanted}")
    same(f"{name} cards", row["cards"], f"{cards}/{asked}")
    for node in nodes:
        labels = node["metadata"]["labels"]
        if row["machine"] != "-":
            same(f"{name} machine", row["machine"], labels["node.kubernetes.io/instance-type"])
            same(f"{name} zone", row["zone"], labels["topology.kubernetes.io/zone"])
            same(f"{name} chip", row["chip"], labels["accelerator-fleet.dev/chip"])
    namespace, queue = row["queue"].split("/")
    kueue = "/apis/kueue.x-k8s.io/v1beta2"
    local = get(cluster, f"{kueue}/namespaces/{namespace}/localqueues/{queue}")
    shared = get(cluster, f"{kueue}/clusterqueues/{local['spec']['clusterQueue']}")
    flavors = [f for g in shared["spec"]["resourceGroups"] for f in g["flavors"] if resource in str(f["resources"])]
    mine = [f for f in flavors if f["name"].startswith(name)]
    same(f"{name} flavours", len(mine), 1)
    same(f"{name} quota", row["quota"], mine[0]["resources"][0]["nominalQuota"])


SERVICES = {"aws:efs/fileSystem:FileSystem": "efs", "gcp:filestore/instance:Instance": "filestore"}


def check_volume(row: dict[str, str], cluster: Cluster, rows: list[dict[str, Any]]) -> None:
    """One line of the third table."""
    namespace, claim = row["claim"].split("/")
    real = get(cluster, f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
    same(f"{row['volume']} phase", row["phase"], real["status"]["phase"])
    same(f"{row['volume']} size", row["size"], real["status"]["capacity"]["storage"])
    disk = get(cluster, f"/api/v1/persistentvolumes/{real['spec']['volumeName']}")
    same(f"{row['volume']} stays", disk["spec"]["persistentVolumeReclaimPolicy"], "Retain")
    handle = disk["spec"]["nfs"]["server"] if "nfs" in disk["spec"] else disk["spec"]["csi"]["volumeHandle"]
    if row["service"] == "nfs":
        same(f"{row['volume']} is given", "nfs" in disk["spec"], True)
        return
    made = [r for r in rows if SERVICES.get(r["type"]) == row["service"]]
    known = [str(outputs(r)) + r["id"] for r in made]
    parts = [part for part in handle.replace(":", "/").split("/") if part]
    same(f"{row['volume']} is in the cloud", any(p in k for k in known for p in parts if len(p) > 8), True)


def main(env: str) -> int:
    """Checks every printed value; 1 when one is wrong."""
    printed = subprocess.run(["fleet", "status", "--env", env], capture_output=True, text=True, check=True).stdout
    tables = table(printed)
    sites, pools, volumes = (*tables, [])[:3]
    rows = resources()
    clusters = clouds_clusters(rows)
    same("sites", len(sites), len(clusters))
    for row in sites:
        check_site(row, clusters[row["cluster"]])
    by_name = {row["site"]: row for row in sites}
    for row in pools:
        site = by_name[row["site"]]
        check_pool(row, site, clusters[site["cluster"]], rows)
    for row in volumes:
        check_volume(row, clusters[by_name[row["site"]]["cluster"]], rows)
    print(f"{checked} values checked, {wrong} wrong")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
