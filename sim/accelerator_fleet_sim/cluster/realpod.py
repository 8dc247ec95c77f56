"""One pod behind which a real program runs: started with the pod's own rights, ready when the program says so."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from accelerator_fleet_sim.cluster import kueue, pki
from accelerator_fleet_sim.cluster.controlplane import kubeconfig
from accelerator_fleet_sim.cluster.images import real_program
from accelerator_fleet_sim.cluster.kube import STRATEGIC, ApiError, KubeClient
from accelerator_fleet_sim.cluster.model import Json, Log
from accelerator_fleet_sim.cluster.ports import Ports
from accelerator_fleet_sim.cluster.processes import Process, Supervisor
from accelerator_fleet_sim.cluster.volumes import Volumes

_TOKEN_S = 3600
_POLL_S = 0.5
_QUICK_REFRESH_S = 60.0  # right after a start secrets change at once (certificates); later as a kubelet does
_SLOW_REFRESH_S = 20.0
_MAX_BACKOFF_S = 60.0


@dataclass(frozen=True)
class Surroundings:
    """What every real pod of a cluster shares."""

    cluster: str
    endpoint: str
    ca_file: Path
    folder: Path
    client: KubeClient
    supervisor: Supervisor
    ports: Ports
    env: dict[str, str]
    find_program: Callable[[str], Path]
    log: Log


class RealPod:
    """Runs in a thread of its own until the pod is deleted or the cluster stops."""

    def __init__(self, around: Surroundings, pod: Json, pod_ip: str) -> None:
        meta = pod["metadata"]
        self.uid: str = meta["uid"]
        self.name: str = meta["name"]
        self.namespace: str = meta["namespace"]
        self.pod_ip = pod_ip
        self.ports: dict[int, int] = {}  # container port -> loopback port
        self.log_file = around.folder / self.uid / "container.log"
        self._around = around
        self._pod = pod
        self._container: Json = pod["spec"]["containers"][0]
        self._folder: Path = around.folder / self.uid
        self._volumes = Volumes(around.client, pod, self._container, self._folder / "volumes")
        self._process: Process | None = None
        self._token_until = 0.0
        statuses = pod.get("status", {}).get("containerStatuses", [])
        self._restarts = int(statuses[0]["restartCount"]) + 1 if statuses else 0
        self._started_at = _now()
        self._pod_started_at: str = pod.get("status", {}).get("startTime", self._started_at)
        self._shown: Json = {}
        self._ended = threading.Event()
        self._deleting = False
        self._thread = threading.Thread(target=self._run, name=f"pod {self.name}", daemon=True)
        self._thread.start()

    # -- from outside ----------------------------------------------------------------------------------------------

    def delete(self) -> None:
        """The pod was asked to go: end the program, then let the object go."""
        self._deleting = True
        self._ended.set()

    def stop(self) -> None:
        """The cluster stops; the pod stays and comes back with it."""
        self._ended.set()
        self._thread.join(30)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    # -- the life of the pod ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        backoff = 1.0
        try:
            while not self._ended.is_set():
                began = time.monotonic()
                try:
                    if not self._live_once():
                        self._ended.wait(_POLL_S)
                        continue
                except Exception as error:  # whatever it is (a program that is not built, too): the pod shows it
                    self._fail(str(error))
                backoff = 1.0 if time.monotonic() - began > 120 else min(_MAX_BACKOFF_S, backoff * 2)
                self._ended.wait(backoff)
        finally:
            self._finish()

    def _fail(self, message: str) -> None:
        self._around.log(f"{self._around.cluster}: pod {self.namespace}/{self.name}: {message}")
        with contextlib.suppress(OSError, http.client.HTTPException, ApiError):
            self._show(waiting="CreateContainerError", message=message)

    def _live_once(self) -> bool:
        """From the volumes to the end of the process; False: a volume is not there yet."""
        missing = self._volumes.refresh()
        if missing is not None:
            self._show(waiting="ContainerCreating", message=missing)
            return False
        program = self._around.find_program(real_program(self._pod) or "")
        argv = self._command(program)
        env = self._around.env | {"GOMEMLIMIT": "200MiB", "GOGC": "60"}
        key = f"{self._around.cluster}.pod-{self.uid}"
        self._started_at = _now()
        self._process = self._around.supervisor.start(
            key, argv, cwd=self._folder, log_file=self.log_file, env=env, restart=False
        )
        self._show(ready=False)
        try:
            self._attend()
        finally:
            code = self._process.exit_code
            self._around.supervisor.end(self._process, grace_s=10)
            self._process = None
            self._around.ports.give_back(*self.ports.values())
            self.ports = {}
        if not self._ended.is_set():
            self._restarts += 1
            self._show(waiting="CrashLoopBackOff", message=f"the process ended with code {code}")
        return True

    def _attend(self) -> None:
        """While the process runs: readiness, volumes, token."""
        assert self._process is not None
        began = refreshed = time.monotonic()
        while self._process.running and not self._ended.wait(_POLL_S):
            # An API server that is away for a moment is no reason to end the program.
            with contextlib.suppress(OSError, http.client.HTTPException, ApiError):
                self._show(ready=self._probe())
                now = time.monotonic()
                if now - began < _QUICK_REFRESH_S or now - refreshed > _SLOW_REFRESH_S:
                    self._volumes.refresh()
                    self._refresh_token()
                    refreshed = now

    def _command(self, program: Path) -> list[str]:
        """The container's own arguments with paths and ports of this machine."""
        args: list[str] = list(self._container.get("args", []))
        given = next((a.partition("=")[2] for a in args if a.startswith("--config=")), "")
        text = Path(self._volumes.host_path(given)).read_text()
        is_kueue = real_program(self._pod) == "kueue"
        local = kueue.localise(
            text,
            args,
            self.namespace,
            self._volumes.host_path,
            self._around.ports.take,
            visibility_server=is_kueue,
        )
        config = self._folder / "config.yaml"
        config.write_text(local.config)
        self.ports = local.ports
        flags = local.flags
        if is_kueue and not kueue.can_serve_visibility(program):
            self._around.log(
                f"{self._around.cluster}: this build of Kueue serves no visibility API here, see README.md"
            )
            flags = kueue.without_visibility(flags)
        return [str(program), f"--config={config}", f"--kubeconfig={self._own_kubeconfig()}", *flags]

    def _own_kubeconfig(self) -> Path:
        """The rights of the pod's service account, nothing more."""
        token_file = self._folder / "token"
        self._token_until = 0.0
        self._refresh_token()
        path = self._folder / "kubeconfig"
        text = kubeconfig(self._around.endpoint, self._around.ca_file, {"tokenFile": str(token_file)}, self.namespace)
        pki.write_private(path, text.encode())
        return path

    def _refresh_token(self) -> None:
        if time.monotonic() < self._token_until:
            return
        account = self._pod["spec"].get("serviceAccountName", "default")
        bound = {"apiVersion": "v1", "kind": "Pod", "name": self.name, "uid": self.uid}
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_S, "boundObjectRef": bound},
        }
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token"
        answer = self._around.client.create(path, body)
        pki.write_private(self._folder / "token", str(answer["status"]["token"]).encode())
        self._token_until = time.monotonic() + 0.7 * _TOKEN_S

    def _probe(self) -> bool:
        """The container's own readiness probe, asked at the loopback port."""
        probe = self._container.get("readinessProbe", {}).get("httpGet")
        if probe is None:
            return True
        port = self.ports.get(int(probe["port"]), 0)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            connection.request("GET", str(probe.get("path", "/")))
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    # -- what the pod shows ----------------------------------------------------------------------------------------

    def _show(self, *, ready: bool = False, waiting: str = "", message: str = "") -> None:
        state: Json = {"running": {"startedAt": self._started_at}}
        if waiting:
            state = {"waiting": {"reason": waiting, "message": message}}
        status: Json = {
            "phase": "Pending" if waiting == "ContainerCreating" else "Running",
            "podIP": self.pod_ip,
            "podIPs": [{"ip": self.pod_ip}],
            "containerStatuses": [
                {
                    "name": self._container["name"],
                    "image": self._container["image"],
                    "imageID": "",
                    "ready": ready,
                    "started": not waiting,
                    "restartCount": self._restarts,
                    "state": state,
                }
            ],
        }
        if status == self._shown:
            return
        moment = _now()
        conditions = [
            {"type": kind, "status": "True" if value else "False", "lastTransitionTime": moment}
            for kind, value in (
                ("PodReadyToStartContainers", waiting != "ContainerCreating"),
                ("Initialized", True),
                ("ContainersReady", ready),
                ("Ready", ready),
            )
        ]
        patch = {"status": status | {"conditions": conditions, "startTime": self._pod_started_at}}
        try:
            self._around.client.patch(f"{self._path}/status", patch, STRATEGIC)
        except ApiError as error:
            if error.status != 404:
                raise
        self._shown = status

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    def _finish(self) -> None:
        if not self._deleting:
            return
        try:
            self._around.client.delete(self._path, {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}})
        except ApiError as error:
            if error.status != 409:  # 409: the name belongs to another pod by now
                self._around.log(f"{self._around.cluster}: pod {self.namespace}/{self.name}: {error}")
        except (OSError, http.client.HTTPException) as error:
            self._around.log(f"{self._around.cluster}: pod {self.namespace}/{self.name}: {error}")
        shutil.rmtree(self._folder, ignore_errors=True)


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
