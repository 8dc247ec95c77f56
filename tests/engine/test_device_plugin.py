"""Cards appear because the device plugin runs on the node, and for no other reason."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.engine.project import Project, api

pytestmark = pytest.mark.engine

SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"
POOL = "/api/v1/nodes?labelSelector=accelerator-fleet.dev%2Fpool%3Dpretrain"


def until(what: Callable[[], object], seconds: float = 30) -> object:
    """Waits for something to become true; returns its last value."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.5)
    return found


def test_without_the_device_plugin_no_card_and_no_job(single: Project) -> None:
    site, shell = single.outputs()["sites"]["use2"], single.shell("single")

    def cards() -> list[str]:
        return [n["status"]["allocatable"].get("nvidia.com/gpu", "0") for n in single.kubectl("use2", POOL)["items"]]

    assert cards() == ["8", "8"]
    before = [d for d in single.kubectl("use2", SETS)["items"] if d["metadata"]["name"] == "nvidia-device-plugin"]
    assert len(before) == 1
    name = before[0]["metadata"]["name"]
    again = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {k: before[0]["metadata"][k] for k in ("name", "namespace", "labels", "annotations")},
        "spec": before[0]["spec"],
    }
    api(site, shell, "DELETE", f"{SETS}/{name}")
    try:
        assert until(lambda: cards() == ["0", "0"]), cards()
        said = ("--pool", "pretrain", "--name", "nocards", "--wait", "6", "--env", "single")
        done = single.fleet("job", "submit", "hello", *said)
        print(done.stdout)
        assert "waiting" in done.stdout
        pods = single.kubectl("use2", "/api/v1/namespaces/jobs/pods?labelSelector=job-name%3Dnocards")["items"]
        assert not [p for p in pods if p["spec"].get("nodeName")]
    finally:
        api(site, shell, "POST", SETS, again)
    assert until(lambda: cards() == ["8", "8"]), cards()

    def placed() -> bool:
        pods = single.kubectl("use2", "/api/v1/namespaces/jobs/pods?labelSelector=job-name%3Dnocards")["items"]
        return len([p for p in pods if p["spec"].get("nodeName")]) == 2

    assert until(placed, 60), "the job stays pending although the cards are back"
    single.fleet("job", "delete", "nocards", "--env", "single")
