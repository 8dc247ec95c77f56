"""One cluster's control plane: its files, its command lines, its start and its stop."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from accelerator_fleet_sim.cluster import pki
from accelerator_fleet_sim.cluster.etcd import Etcd
from accelerator_fleet_sim.cluster.kube import KubeClient
from accelerator_fleet_sim.cluster.model import ClusterError
from accelerator_fleet_sim.cluster.ports import is_free
from accelerator_fleet_sim.cluster.processes import Process, Supervisor
from accelerator_fleet_sim.cluster.stages import kwok_config

SERVICE_CIDR = "172.20.0.0/16"  # EKS's default beside VPCs in 10.0.0.0/8
API_SERVICE_IP = "172.20.0.1"
KUBELET_PORT = 10250
KWOK_POD_CIDR = "100.64.0.0/11"  # the lower part of the carrier range, where EKS users put secondary pod networks
KWOK_NODE = ("kwok.x-k8s.io/node", "fake")

# Leases are renewed every quarter of this time: 200 nodes then write 3 times a second, not 20.
_NODE_LEASE_S = 240
_READY_S = 90.0
_PORT_FREE_S = 20.0
_CONTROLLERS_OFF = (
    "cloud-node-lifecycle-controller",
    "node-ipam-controller",
    "node-route-controller",
    "service-lb-controller",
    "storage-version-migrator-controller",
)


@dataclass(frozen=True)
class Programs:
    """Where the Kubernetes programs lie."""

    etcd: Path
    apiserver: Path
    controller_manager: Path
    scheduler: Path
    kwok: Path


@dataclass(frozen=True)
class Wiring:
    """What an API server is told about the daemon around it."""

    proxy_socket: Path
    token_webhook: str
    token_webhook_ca: Path
    token_webhook_certificate: tuple[Path, Path]


class ControlPlane:
    """kube-apiserver, controller manager, scheduler and kwok of one cluster, with all their files in one folder."""

    def __init__(
        self,
        name: str,
        folder: Path,
        port: int,
        prefix: str,
        version: str,
        programs: Programs,
        supervisor: Supervisor,
        env: dict[str, str],
    ) -> None:
        self.name = name
        self.folder = folder
        self.port = port
        self._prefix = prefix
        self._version = version
        self._programs = programs
        self._supervisor = supervisor
        self._env = env | {"HOME": str(folder)}
        self._processes: list[Process] = []
        self._apiserver: dict[str, str] = {}
        tls = folder / "tls"
        self.authority = pki.Authority(tls, "ca", "kubernetes")
        self._front_authority = pki.Authority(tls, "front-proxy-ca", "front-proxy")
        self._signing = pki.signing_pair(tls, "service-account")
        names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
        self._server = self.authority.issue(
            "apiserver", "kube-apiserver", hosts=["127.0.0.1", "localhost", API_SERVICE_IP, *names]
        )
        self._kubelet_client = self.authority.issue(
            "kubelet-client", "kube-apiserver-kubelet-client", organizations=["system:masters"]
        )
        self._front_client = self._front_authority.issue("front-proxy-client", "front-proxy-client")
        self.kubelet_server = self.authority.issue("kubelet", "kubelet", hosts=["127.0.0.1", "localhost"])
        self._admin = self.authority.issue("admin", "embedded-datacentre", organizations=["system:masters"])

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def admin(self) -> KubeClient:
        """The datacentre's own rights: everything."""
        return KubeClient(self.port, pki.client_context(self.authority.certificate_file, self._admin))

    def admin_kubeconfig(self) -> Path:
        return self._kubeconfig("admin", self._admin)

    def start(self, etcd: Etcd, wiring: Wiring) -> None:
        """Start everything; returns when /readyz says ok."""
        deadline = time.monotonic() + _PORT_FREE_S
        while not is_free(self.port):
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.name}: 127.0.0.1:{self.port} is held by another program")
            time.sleep(0.1)
        self._apiserver = self._apiserver_flags(etcd, wiring)
        self._processes.append(self._run_apiserver())
        self._wait_ready(self._processes[0])
        self._run("kube-controller-manager", self._programs.controller_manager, self._manager_flags(), "160MiB", 50)
        self._run("kube-scheduler", self._programs.scheduler, self._scheduler_flags(), "120MiB", 50)
        self._release_nodes()
        self._run("kwok", self._programs.kwok, self._kwok_flags(), "120MiB", 50)

    def _run_apiserver(self) -> Process:
        return self._begin("kube-apiserver", self._programs.apiserver, self._apiserver, "500MiB", 50)

    def outage(self, over: Callable[[], object]) -> None:
        """End the API server, wait for `over` to return, start it again; the rest of the control plane goes on."""
        self._supervisor.end(self._processes[0], grace_s=20)
        over()
        if self._processes:  # not stopped in the meantime
            self._processes[0] = self._run_apiserver()
            self._wait_ready(self._processes[0])

    def _release_nodes(self) -> None:
        """A new kwok has a new identity, and would wait until the leases of the one that ended run out."""
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        client = self.admin()
        for lease in client.list(leases):
            client.delete(f"{leases}/{lease['metadata']['name']}")

    def stop(self) -> None:
        """Last started first: nothing talks to an API server that has gone."""
        for process in reversed(self._processes):
            self._supervisor.end(process, grace_s=20)
        self._processes.clear()

    def _run(self, part: str, program: Path, flags: dict[str, str], memory: str, gogc: int) -> None:
        self._processes.append(self._begin(part, program, flags, memory, gogc))

    def _begin(self, part: str, program: Path, flags: dict[str, str], memory: str, gogc: int) -> Process:
        argv = [str(program), *(f"--{k}={v}" for k, v in flags.items())]
        env = self._env | {"GOMEMLIMIT": memory, "GOGC": str(gogc)}
        log_file = self.folder / f"{part}.log"
        return self._supervisor.start(f"{self.name}.{part}", argv, cwd=self.folder, log_file=log_file, env=env)

    def _wait_ready(self, process: Process) -> None:
        client = self.admin()
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            if client.ready():
                return
            if not process.wanted or (not process.running and process.failures > 2):
                break
            time.sleep(0.1)
        tail = process.log_tail()
        self.stop()
        log = self.folder / "kube-apiserver.log"
        raise ClusterError(f"{self.name}: the API server did not get ready; {log} ends:\n{tail}")

    def _apiserver_flags(self, etcd: Etcd, wiring: Wiring) -> dict[str, str]:
        server, kubelet, front = self._server, self._kubelet_client, self._front_client
        etcd_crt, etcd_key = etcd.client_certificate
        signing_key, signing_pub = self._signing
        ca = str(self.authority.certificate_file)
        flags = {
            "bind-address": "127.0.0.1",
            # Without it the API server looks for a default route, and ends where there is only loopback.
            "advertise-address": "127.0.0.1",
            "secure-port": str(self.port),
            "cert-dir": str(self.folder / "tls"),
            "tls-cert-file": str(server[0]),
            "tls-private-key-file": str(server[1]),
            "client-ca-file": ca,
            "etcd-servers": etcd.endpoint,
            "etcd-prefix": self._prefix,
            "etcd-cafile": str(etcd.authority.certificate_file),
            "etcd-certfile": str(etcd_crt),
            "etcd-keyfile": str(etcd_key),
            "etcd-db-metric-poll-interval": "0s",
            "etcd-count-metric-poll-period": "0s",
            "service-cluster-ip-range": SERVICE_CIDR,
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": str(signing_pub),
            "service-account-signing-key-file": str(signing_key),
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "allow-privileged": "true",
            "authentication-token-webhook-config-file": str(self._webhook_config(wiring)),
            "authentication-token-webhook-version": "v1",
            "kubelet-client-certificate": str(kubelet[0]),
            "kubelet-client-key": str(kubelet[1]),
            "kubelet-preferred-address-types": "InternalIP",
            "requestheader-client-ca-file": str(self._front_authority.certificate_file),
            "requestheader-allowed-names": "front-proxy-client",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-username-headers": "X-Remote-User",
            "proxy-client-cert-file": str(front[0]),
            "proxy-client-key-file": str(front[1]),
            # Services have no kube-proxy here: webhooks and aggregated APIs go to the ready pods' own addresses.
            "enable-aggregator-routing": "true",
            "egress-selector-config-file": str(self._egress_config(wiring)),
            "endpoint-reconciler-type": "none",
            "audit-policy-file": str(self._copy_data("audit-policy.yaml")),
            "audit-log-path": str(self.folder / "audit.log"),
            "audit-log-maxsize": "32",
            "audit-log-maxbackup": "1",
            "audit-log-mode": "batch",
            "audit-log-batch-max-wait": "1s",
            "audit-log-batch-max-size": "100",
            "profiling": "false",
            "v": "1",
        }
        minor = emulated_minor(self._version)
        return flags | ({"emulated-version": minor} if minor else {})

    def _manager_flags(self) -> dict[str, str]:
        return {
            "kubeconfig": str(self._kubeconfig("controller-manager", self._client("kube-controller-manager"))),
            "secure-port": "0",
            "leader-elect": "false",
            "use-service-account-credentials": "true",  # each controller has rights of its own, the program none
            "controllers": ",".join(["*", *(f"-{c}" for c in _CONTROLLERS_OFF)]),
            "service-account-private-key-file": str(self._signing[0]),
            "root-ca-file": str(self.authority.certificate_file),
            "cluster-signing-cert-file": str(self.authority.certificate_file),
            "cluster-signing-key-file": str(self.authority.key_file),
            "node-monitor-grace-period": f"{2 * _NODE_LEASE_S}s",
            "kube-api-qps": "200",
            "kube-api-burst": "400",
            "profiling": "false",
        }

    def _scheduler_flags(self) -> dict[str, str]:
        return {
            "kubeconfig": str(self._kubeconfig("scheduler", self._client("kube-scheduler"))),
            "secure-port": "0",
            "leader-elect": "false",
            "kube-api-qps": "200",
            "kube-api-burst": "400",
            "profiling": "false",
        }

    def _kwok_flags(self) -> dict[str, str]:
        config = self.folder / "kwok.yaml"
        config.write_text(kwok_config())
        certificate = self.authority.issue("kwok", "embedded-kubelets", organizations=["system:masters"])
        return {
            "kubeconfig": str(self._kubeconfig("kwok", certificate)),
            "config": str(config),
            "manage-all-nodes": "false",
            "manage-nodes-with-annotation-selector": "=".join(KWOK_NODE),
            "node-lease-duration-seconds": str(_NODE_LEASE_S),
            # No port: kwok would listen on all addresses. Nodes carry theirs, KubeletServer answers there.
            "cidr": KWOK_POD_CIDR,
        }

    def _client(self, name: str) -> tuple[Path, Path]:
        return self.authority.issue(name, f"system:{name}")

    def _kubeconfig(self, name: str, certificate: tuple[Path, Path]) -> Path:
        user = {"client-certificate": str(certificate[0]), "client-key": str(certificate[1])}
        path = self.folder / "tls" / f"{name}.kubeconfig"
        pki.write_private(path, kubeconfig(self.endpoint, self.authority.certificate_file, user).encode())
        return path

    def _webhook_config(self, wiring: Wiring) -> Path:
        certificate, key = wiring.token_webhook_certificate
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        path = self.folder / "tls" / "token-webhook.kubeconfig"
        pki.write_private(path, kubeconfig(wiring.token_webhook, wiring.token_webhook_ca, user).encode())
        return path

    def _egress_config(self, wiring: Wiring) -> Path:
        transport = {"uds": {"udsName": str(wiring.proxy_socket)}}
        selection = {"name": "cluster", "connection": {"proxyProtocol": "HTTPConnect", "transport": transport}}
        config = {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [selection],
        }
        path = self.folder / "egress.json"
        path.write_text(json.dumps(config, indent=1))
        return path

    def _copy_data(self, name: str) -> Path:
        path = self.folder / name
        path.write_bytes((resources.files("accelerator_fleet_sim.cluster") / "data" / name).read_bytes())
        return path


def kubeconfig(server: str, ca_file: Path, user: dict[str, str], namespace: str = "default") -> str:
    """A kubeconfig of one context, as JSON (which is YAML)."""
    context = {"cluster": "embedded", "user": "embedded", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "embedded", "cluster": {"server": server, "certificate-authority": str(ca_file)}}],
        "users": [{"name": "embedded", "user": user}],
        "contexts": [{"name": "embedded", "context": context}],
        "current-context": "embedded",
    }
    return json.dumps(config, indent=1)


def emulated_minor(version: str) -> str:
    """The minor version that the API server is told to behave like, "" for its own.

    The programs are of one version; an API server can play up to three minors before its own.
    """
    match = re.fullmatch(r"v?1\.(\d+)(\..*)?", version)
    return f"1.{match[1]}" if match and 33 <= int(match[1]) <= 35 else ""
