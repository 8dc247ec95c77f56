"""The port that API servers call on a node: it answers for logs, and says honestly what no simulated node can do."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from accelerator_fleet_sim.cluster import pki
from accelerator_fleet_sim.cluster.model import Json
from accelerator_fleet_sim.cluster.processes import tail
from accelerator_fleet_sim.cluster.tokens import LoopbackServer

FindPod = Callable[[str, str], Json | None]  # (namespace, name)
FindLog = Callable[[str], Path | None]  # pod uid -> log file of the real program

_LOG_LIMIT = 10 << 20


def simulated_log(pod: Json, container: str) -> str:
    """What `kubectl logs` shows for a pod that kwok plays."""
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    found: Json = next((c for c in spec["containers"] if c["name"] == container), {})
    lines = [
        "This pod is simulated by kwok: no container runs, and nothing but this text is printed.",
        f"pod {meta['namespace']}/{meta['name']}, container {container}, node {spec.get('nodeName', '-')}",
        f"image {found.get('image', '-')}",
        f"command {' '.join([*found.get('command', []), *found.get('args', [])]) or '(of the image)'}",
        f"requests {found.get('resources', {}).get('requests', {})}",
        f"phase {status.get('phase', '-')}, started {status.get('startTime', '-')}",
    ]
    return "\n".join(lines) + "\n"


def _last_lines(text: str, query: dict[str, list[str]]) -> str:
    wanted = query.get("tailLines", [""])[0]
    if not wanted.isdigit():
        return text
    lines = text.splitlines(keepends=True)
    return "".join(lines[len(lines) - min(int(wanted), len(lines)) :])


class KubeletServer(LoopbackServer):
    """All nodes of one cluster; only the cluster's own API server may ask (its client certificate)."""

    def __init__(self, certificate: tuple[Path, Path], client_ca: Path, pod: FindPod, log_file: FindLog) -> None:
        self._pod = pod
        self._log_file = log_file
        super().__init__(self._handler(), pki.server_context(certificate, client_ca))

    def answer(self, url: str) -> tuple[int, str]:
        parts = urlsplit(url)
        path, query = parts.path.strip("/").split("/"), parse_qs(parts.query)
        if path[0] == "healthz":
            return 200, "ok"
        if path[0] != "containerLogs" or len(path) != 4:
            return 501, f"{path[0]}: nodes of the embedded datacentre are simulated by kwok, they can only show logs\n"
        _, namespace, name, container = path
        pod = self._pod(namespace, name)
        if pod is None:
            return 404, f"pod {namespace}/{name} is not on this node\n"
        real = self._log_file(pod["metadata"]["uid"])
        text = simulated_log(pod, container) if real is None else tail(real, _LOG_LIMIT)
        return 200, _last_lines(text, query)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, text = server.answer(self.path)
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
