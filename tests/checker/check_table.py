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
from typing import Any

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
        # A column that is aligned to the right ends with its word; cells hold no blanks, so splitting is safe.
        tables.append([dict(zip(words, row.split(), strict=True)) for row in rows])
    return tables


def resources() -> list[dict[str, Any]]:
    """All rows of the simulated cloud, straight from SQLite."""
    database = Path(os.environ["ACCELERATOR_FLEET_SIM"]) / "cloud.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute("SELECT * FROM resources")]


def outputs(row: dict[str, Any]) -> dict[str, Any]:
    """A row's outputs."""
    found: dict[str, Any] = json.loads(row["outputs"])
    return found


def get(cluster: dict[str, Any], region: str, path: str) -> Any:
    """GET on the cluster's API server."""
    got = subprocess.run(
        ["aws", "eks", "get-token", "--cluster-name", cluster["name"], "--region", region],
        capture_output=True,
        text=True,
        check=True,
    )
    token = json.loads(got.stdout)["status"]["token"]
    authority = cluster["certificateAuthority"]
    authority = authority[0] if isinstance(authority, list) else authority
    context = ssl.create_default_context(cadata=base64.b64decode(authority["data"]).decode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(cluster["endpoint"] + path, headers={"Authorization": f"Bearer {token}"})
    with opener.open(request, timeout=30) as answer:
        return json.load(answer)


def check_site(row: dict[str, str], clusters: dict[str, dict[str, Any]]) -> None:
    """One line of the first table."""
    real = clusters[row["cluster"]]
    out = outputs(real)
    parts = out["arn"].split(":")
    same(f"{row['site']} cluster", row["cluster"], out["name"])
    same(f"{row['site']} endpoint", row["endpoint"], out["endpoint"])
    same(f"{row['site']} account", row["account"], parts[4])
    same(f"{row['site']} region", row["region"], parts[3])
    same(f"{row['site']} kind", row["kind"], parts[2])
    same(f"{row['site']} site", row["site"], out["tagsAll"]["site"])
    version = get(out, parts[3], "/version")["gitVersion"]
    same(f"{row['site']} version", f"v{row['version']}", version.rpartition(".")[0])


def check_pool(
    row: dict[str, str], site: dict[str, str], clusters: dict[str, Any], groups: list[dict[str, Any]]
) -> None:
    """One line of the second table."""
    name = row["pool"]
    cluster = outputs(clusters[site["cluster"]])
    group = next(g for g in groups if g["labels"].get("accelerator-fleet.dev/pool") == name)
    everything = get(cluster, site["region"], "/api/v1/nodes")["items"]
    nodes = [
        n for n in everything if n["metadata"]["labels"].get("eks.amazonaws.com/nodegroup") == group["nodeGroupName"]
    ]
    ready = [n for n in nodes if any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"]["conditions"])]
    cards = sum(int(n["status"]["allocatable"].get("nvidia.com/gpu", 0)) for n in ready)
    same(f"{name} pool", name, group["tagsAll"]["accelerator-fleet.dev/pool"])
    same(f"{name} site", row["site"], site["site"])
    same(f"{name} nodes", row["nodes"], f"{len(ready)}/{group['scalingConfig']['desiredSize']}")
    same(f"{name} cards", row["cards"], f"{cards}/{8 * group['scalingConfig']['desiredSize']}")
    for node in nodes:
        labels = node["metadata"]["labels"]
        same(f"{name} machine", row["machine"], labels["node.kubernetes.io/instance-type"])
        same(f"{name} zone", row["zone"], labels["topology.kubernetes.io/zone"])
        same(f"{name} chip", row["chip"], labels["accelerator-fleet.dev/chip"])
    same(f"{name} machine", row["machine"], group["instanceTypes"][0])
    namespace, queue = row["queue"].split("/")
    kueue = "/apis/kueue.x-k8s.io/v1beta2"
    local = get(cluster, site["region"], f"{kueue}/namespaces/{namespace}/localqueues/{queue}")
    shared = get(cluster, site["region"], f"{kueue}/clusterqueues/{local['spec']['clusterQueue']}")
    flavors = {f["name"]: f for g in shared["spec"]["resourceGroups"] for f in g["flavors"]}
    same(f"{name} quota", row["quota"], flavors[name]["resources"][0]["nominalQuota"])


def main(env: str) -> int:
    """Checks every printed value; 1 when one is wrong."""
    printed = subprocess.run(["fleet", "status", "--env", env], capture_output=True, text=True, check=True).stdout
    sites, pools = table(printed)
    rows = resources()
    clusters = {outputs(r)["name"]: r for r in rows if r["type"] == "aws:eks/cluster:Cluster"}
    groups = [outputs(r) for r in rows if r["type"] == "aws:eks/nodeGroup:NodeGroup"]
    same("sites", len(sites), len(clusters))
    for row in sites:
        check_site(row, clusters)
    by_name = {row["site"]: row for row in sites}
    for row in pools:
        check_pool(row, by_name[row["site"]], clusters, groups)
    print(f"{checked} values checked, {wrong} wrong")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
