"""A cluster comes up, knows who asks, and plays nodes and pods as a cloud would show them."""

from __future__ import annotations

import ssl
from dataclasses import replace

import pytest

from accelerator_fleet_sim.cluster.kube import ApiError, KubeClient
from tests.cluster.lab import H100, JOBS, SYSTEM, Lab, job, nodes, until


def test_a_control_plane_is_ready_within_15_seconds(lab: Lab) -> None:
    rows = {r["name"]: r for r in lab.runtime.summary()}
    print(
        f"ready after {lab.started_s:.1f} s, {rows['alpha']['rss'] >> 20} MiB, etcd {rows['(etcd)']['rss'] >> 20} MiB"
    )
    print({p["name"]: p["rss"] >> 20 for p in rows["alpha"]["processes"]})
    assert lab.started_s < 15
    assert rows["alpha"]["rss"] < 700 << 20
    assert len(rows["alpha"]["pids"]) == 4


def test_ensure_again_changes_nothing(lab: Lab) -> None:
    first = lab.runtime.ensure("alpha", version="1.36", cluster_id="alpha", authenticate=lambda c, t: None)
    again = lab.runtime.ensure("alpha", version="1.36", cluster_id="alpha", authenticate=_by_name)
    assert first == again
    assert again.endpoint.startswith("https://127.0.0.1:")
    assert "BEGIN CERTIFICATE" in again.ca_pem


def _by_name(cluster: str, token: str) -> dict[str, object] | None:
    known = token == f"k8s-aws-v1.{cluster}"
    return {"username": "arn:aws:iam::000000000000:user/platform", "groups": ["system:masters"]} if known else None


def test_a_token_is_known_by_the_authenticator_alone(lab: Lab) -> None:
    endpoint = lab.runtime.ensure("alpha", version="1.36", cluster_id="alpha", authenticate=_by_name)
    context = ssl.create_default_context(cadata=endpoint.ca_pem)
    port = int(endpoint.endpoint.rpartition(":")[2])
    good = KubeClient(port, context, token="k8s-aws-v1.alpha")
    assert len(good.list("/api/v1/nodes")) >= 4
    bad = KubeClient(port, context, token="k8s-aws-v1.other")
    status, _ = bad.raw("GET", "/api/v1/nodes")
    assert status == 401


def test_nodes_are_ready_and_show_what_their_machine_is(lab: Lab) -> None:
    def ready() -> list[str]:
        return [
            n["metadata"]["name"]
            for n in lab.runtime.nodes("alpha")
            if any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"].get("conditions", []))
            and not any(t["key"].startswith("node.kubernetes.io/") for t in n["spec"].get("taints", []))
        ]

    until("4 ready nodes", lambda: len(ready()) >= 4)
    node = lab.client.get("/api/v1/nodes/ip-10-16-1-1.us-east-2.compute.internal")
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    assert labels["topology.kubernetes.io/zone"] == "us-east-2c"
    assert node["spec"]["providerID"].startswith("aws:///us-east-2c/i-")
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    # 192 cores less 60 + 10 + 10 + 470 millicores, which the kubelet keeps
    assert node["status"]["allocatable"]["cpu"] == "191450m"
    assert node["status"]["capacity"]["cpu"] == "192"


def test_a_node_group_changes_labels_taints_and_size(lab: Lab) -> None:
    runtime = lab.runtime
    shape = replace(SYSTEM, labels={"pool": "extra", "team": "a"}, taints=[])
    runtime.set_nodes("alpha", "extra", nodes(shape, 1, 3, 7))
    name = "ip-10-16-7-1.us-east-2.compute.internal"
    lab.client.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"by-hand": "yes"}}})
    changed = replace(
        shape, labels={"pool": "extra", "team": "b"}, taints=[{"key": "k", "value": "v", "effect": "NoExecute"}]
    )
    runtime.set_nodes("alpha", "extra", nodes(changed, 1, 2, 7))
    found = [n for n in runtime.nodes("alpha") if n["metadata"]["labels"].get("pool") == "extra"]
    assert len(found) == 2
    first = next(n for n in found if n["metadata"]["name"] == name)
    assert first["metadata"]["labels"]["team"] == "b"
    assert first["metadata"]["labels"]["by-hand"] == "yes"
    assert {"key": "k", "value": "v", "effect": "NoExecute"} in first["spec"]["taints"]
    without = replace(changed, labels={"pool": "extra"}, taints=[])
    runtime.set_nodes("alpha", "extra", nodes(without, 1, 2, 7))
    first = lab.client.get(f"/api/v1/nodes/{name}")
    assert "team" not in first["metadata"]["labels"]
    assert all(t["key"] != "k" for t in first["spec"].get("taints", []))
    runtime.set_nodes("alpha", "extra", [])
    assert not [n for n in runtime.nodes("alpha") if n["metadata"]["labels"].get("pool") == "extra"]


def test_cloud_addons_run_where_they_should(lab: Lab) -> None:
    for addon, version in (("vpc-cni", "v1.20.4-eksbuild.1"), ("kube-proxy", "v1.34.0"), ("coredns", "v1.12.4")):
        lab.runtime.apply_cloud_addon("alpha", addon, version, region="us-east-2")
    client = lab.client

    def running() -> bool:
        agent = client.get("/apis/apps/v1/namespaces/kube-system/daemonsets/aws-node")["status"]
        dns = client.get("/apis/apps/v1/namespaces/kube-system/deployments/coredns")["status"]
        return bool(agent.get("numberReady", 0) >= 4 and dns.get("readyReplicas") == 2)

    until("aws-node on every node and two coredns", running)
    pods = lab.pods("kube-system", "k8s-app%3Daws-node")
    image = "602401143452.dkr.ecr.us-east-2.amazonaws.com/amazon-k8s-cni:v1.20.4-eksbuild.1"
    assert {c["image"] for p in pods for c in p["spec"]["containers"]} == {image}
    lab.runtime.remove_cloud_addon("alpha", "coredns")
    assert client.find("/apis/apps/v1/namespaces/kube-system/deployments/coredns") is None


def test_pods_of_jobs_run_until_told_otherwise(lab: Lab) -> None:
    client = lab.client
    client.create(JOBS, job("stays", 1, 0))
    client.create(JOBS, job("ends", 1, 0, annotations={"accelerator-fleet.dev/run-seconds": "2"}))

    def phases(name: str) -> list[str]:
        return [p["status"]["phase"] for p in lab.pods(selector=f"job-name%3D{name}")]

    until("the job that asks for it to end", lambda: phases("ends") == ["Succeeded"])
    assert phases("stays") == ["Running"]
    client.delete(f"{JOBS}/stays", {"propagationPolicy": "Background"})
    until("pods of the deleted job to go", lambda: phases("stays") == [])


def test_logs_say_that_the_pod_is_simulated(lab: Lab) -> None:
    client = lab.client
    client.create(JOBS, job("talks", 1, 0))
    pod = until(
        "a running pod", lambda: [p for p in lab.pods(selector="job-name%3Dtalks") if p["status"]["phase"] == "Running"]
    )[0]
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/log"
    status, text = client.raw("GET", path)
    assert status == 200, text
    assert text.startswith(b"This pod is simulated by kwok")
    assert pod["spec"]["nodeName"].encode() in text
    client.delete(f"{JOBS}/talks", {"propagationPolicy": "Background"})


def test_scaling_down_drains_what_ran_there(lab: Lab) -> None:
    shape = replace(H100, labels={"pool": "shrink"}, taints=[])
    lab.runtime.set_nodes("alpha", "shrink", nodes(shape, 1, 1, 9))
    body = job("moved", 1, 0)
    body["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "shrink"}
    lab.client.create(JOBS, body)
    until(
        "a pod on the node",
        lambda: [p for p in lab.pods(selector="job-name%3Dmoved") if p["status"]["phase"] == "Running"],
    )
    lab.runtime.set_nodes("alpha", "shrink", [])
    pods = until(
        "a new pod that waits",
        lambda: [p for p in lab.pods(selector="job-name%3Dmoved") if not p["spec"].get("nodeName")],
    )
    assert pods[0]["status"]["phase"] == "Pending"
    lab.client.delete(f"{JOBS}/moved", {"propagationPolicy": "Background"})


def test_an_unknown_object_is_an_error_with_its_reason(lab: Lab) -> None:
    with pytest.raises(ApiError) as refused:
        lab.client.get("/api/v1/namespaces/default/pods/none")
    assert (refused.value.status, refused.value.reason) == (404, "NotFound")
