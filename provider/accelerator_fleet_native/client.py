"""Where Cloud TPU's API is: Google's own address, or what gcloud's variable says; and whose projects go where."""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import urlsplit

OVERRIDE: Final = "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU"  # as gcloud reads it
SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
EMBEDDED: Final = "embedded-"  # projects of an embedded datacentre, and of no real cloud
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class WrongPlace(Exception):
    """A project that the endpoint is not for."""


def endpoint() -> str:
    """The variable's value; empty: Google's own address."""
    return os.environ.get(OVERRIDE, "").strip()


def check_project(project: str, where: str) -> None:
    """Raises WrongPlace for an embedded project at a real endpoint, and for a real one at the embedded datacentre."""
    here = bool(where) and urlsplit(where if "//" in where else f"//{where}").hostname in LOOPBACK
    if here and not project.startswith(EMBEDDED):
        raise WrongPlace(f"project {project}: {OVERRIDE} names the embedded datacentre ({where}), whose projects are "
                         f"named {EMBEDDED}*; for a real project use a shell without that variable")  # fmt: skip
    if project.startswith(EMBEDDED) and not here:
        raise WrongPlace(f"project {project} is the embedded datacentre's, and Cloud TPU would be asked at "
                         f"{where or 'tpu.googleapis.com'}; use a shell that `fleet env` prepared")  # fmt: skip


def connect(project: str) -> Any:
    """A TpuClient for a project: with the caller's own credentials, or without TLS where the variable says http."""
    where = endpoint()
    check_project(project, where)
    from google.cloud import tpu_v2

    if where.startswith("http://"):
        import grpc
        from google.cloud.tpu_v2.services.tpu.transports.grpc import TpuGrpcTransport

        # A proxy of the shell is for the internet, not for this machine.
        options = [("grpc.enable_http_proxy", 0)]
        channel = grpc.insecure_channel(where.removeprefix("http://").rstrip("/"), options=options)
        return tpu_v2.TpuClient(transport=TpuGrpcTransport(channel=channel))
    import google.auth

    credentials, _ = google.auth.default(scopes=[SCOPE])
    place = {"api_endpoint": urlsplit(where).netloc or where} if where else {}
    return tpu_v2.TpuClient(credentials=credentials, client_options=place)
