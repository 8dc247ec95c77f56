"""The one etcd that all clusters of a datacentre share, each under its own prefix."""

from __future__ import annotations

import base64
import http.client
import json
import time
from pathlib import Path

from accelerator_fleet_sim.cluster import pki
from accelerator_fleet_sim.cluster.model import ClusterError
from accelerator_fleet_sim.cluster.ports import Ports
from accelerator_fleet_sim.cluster.processes import Process, Supervisor

_READY_S = 30.0


class Etcd:
    """Durable against the death of any process, not against the loss of power (it does not wait for the disk)."""

    def __init__(self, folder: Path, ports: Ports, supervisor: Supervisor, program: Path, env: dict[str, str]) -> None:
        self._folder = folder
        self._supervisor = supervisor
        self._program = program
        self._env = env
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = pki.Authority(folder, "ca", "embedded etcd")
        self._server = self.authority.issue("server", "etcd", hosts=["127.0.0.1", "localhost"])
        self.client_certificate = self.authority.issue("client", "kube-apiserver")
        # New ports at every start: only our own API servers ask, and they start after it.
        self._client_port, self._peer_port = ports.take(), ports.take()
        self._process: Process | None = None

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self._client_port}"

    def start(self) -> None:
        if self._process is not None:
            return
        server_crt, server_key = map(str, self._server)
        ca = str(self.authority.certificate_file)
        peer = f"https://127.0.0.1:{self._peer_port}"
        flags = {
            "name": "embedded",
            "data-dir": str(self._folder / "data"),
            "listen-client-urls": self.endpoint,
            "advertise-client-urls": self.endpoint,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"embedded={peer}",
            "cert-file": server_crt,
            "key-file": server_key,
            "trusted-ca-file": ca,
            "client-cert-auth": "true",
            "peer-cert-file": server_crt,
            "peer-key-file": server_key,
            "peer-trusted-ca-file": ca,
            "peer-client-cert-auth": "true",
            # Every write still reaches the kernel before it is acknowledged: killed processes lose nothing.
            "unsafe-no-fsync": "true",
            "snapshot-count": "10000",
            "max-snapshots": "2",
            "max-wals": "2",
            "log-level": "warn",
            "enable-pprof": "false",
        }
        argv = [str(self._program), *(f"--{k}={v}" for k, v in flags.items())]
        env = self._env | {"GOMEMLIMIT": "200MiB", "GOGC": "60"}
        self._process = self._supervisor.start(
            "_etcd.etcd", argv, cwd=self._folder, log_file=self._folder / "etcd.log", env=env
        )
        self._wait_ready()

    def _wait_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            try:
                if self._post("/v3/maintenance/status", {}):
                    return
            except (OSError, http.client.HTTPException, ClusterError):
                pass
            time.sleep(0.05)
        tail = self._process.log_tail()
        self.stop()
        raise ClusterError(f"etcd did not get ready within {_READY_S:.0f} s; {self._folder / 'etcd.log'} ends:\n{tail}")

    def alarm(self, on: bool) -> None:
        """Raise or take back NOSPACE: what etcd does by itself when its database is full; it then takes no writes."""
        member = json.loads(self._ask("/v3/maintenance/status", {}))["header"]["member_id"]
        action = "ACTIVATE" if on else "DEACTIVATE"
        self._post("/v3/maintenance/alarm", {"action": action, "memberID": str(member), "alarm": "NOSPACE"})

    def _post(self, path: str, body: dict[str, str]) -> bool:
        self._ask(path, body)
        return True

    def _ask(self, path: str, body: dict[str, str]) -> bytes:
        context = pki.client_context(self.authority.certificate_file, self.client_certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", self._client_port, timeout=30, context=context)
        try:
            connection.request("POST", path, json.dumps(body))
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise ClusterError(f"etcd {path}: {response.status} {answer.decode(errors='replace')[:300]}")
        return answer

    def forget(self, prefix: str) -> None:
        """Remove every key under a prefix."""
        start = prefix.encode()
        end = start[:-1] + bytes([start[-1] + 1])
        body = {"key": base64.b64encode(start).decode(), "range_end": base64.b64encode(end).decode()}
        self._post("/v3/kv/deleterange", body)

    def stop(self) -> None:
        if self._process is not None:
            self._supervisor.end(self._process, grace_s=15)
            self._process = None
