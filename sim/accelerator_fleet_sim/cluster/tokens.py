"""The webhook by which API servers ask whose bearer token they were given, as EKS's authenticator does."""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from accelerator_fleet_sim.cluster import pki
from accelerator_fleet_sim.cluster.model import Authenticate, Json, Log

_BODY_LIMIT = 1 << 20


class LoopbackServer(ThreadingHTTPServer):
    """HTTPS on loopback in daemon threads; the TLS handshake is done by the thread of its connection."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext, port: int = 0) -> None:
        self._context = context
        super().__init__(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.2,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def finish_request(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        try:
            request.settimeout(60)
            secured = self._context.wrap_socket(request, server_side=True)
        except OSError:
            return
        with secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        """A client that goes away is no event."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class TokenWebhook:
    """TokenReview at /<cluster>: asks the authenticator that the cluster's owner gave."""

    def __init__(self, folder: Path, log: Log) -> None:
        self._authenticators: dict[str, Authenticate] = {}
        self._log = log
        self.authority = pki.Authority(folder, "webhook-ca", "embedded webhooks")
        server = self.authority.issue("webhook-server", "token-webhook", hosts=["127.0.0.1", "localhost"])
        self.client_certificate = self.authority.issue("webhook-client", "kube-apiserver")
        context = pki.server_context(server, self.authority.certificate_file)
        self._server = LoopbackServer(self._handler(), context)

    def register(self, cluster: str, authenticate: Authenticate) -> None:
        self._authenticators[cluster] = authenticate

    def forget(self, cluster: str) -> None:
        self._authenticators.pop(cluster, None)

    def url(self, cluster: str) -> str:
        return f"https://127.0.0.1:{self._server.port}/{cluster}"

    def close(self) -> None:
        self._server.close()

    def review(self, cluster: str, review: Json) -> Json:
        token = str(review.get("spec", {}).get("token", ""))
        authenticate = self._authenticators.get(cluster)
        user: Json | None = None
        try:
            user = authenticate(cluster, token) if authenticate is not None else None
        except Exception as error:  # whatever fails in the authenticator: nobody gets in
            self._log(f"{cluster}: authenticating a token: {error}")
        status: Json = {"authenticated": user is not None}
        if user is not None:
            status["user"] = user
        return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = min(int(self.headers.get("Content-Length", 0)), _BODY_LIMIT)
                review = json.loads(self.rfile.read(size))
                answer = json.dumps(webhook.review(self.path.strip("/").partition("?")[0], review)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
