"""Why a GKE node pool is in error: its provider drops the reason, the API has it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accelerator_fleet_engine.troubles import NODE_POOL

if TYPE_CHECKING:
    from accelerator_fleet_engine.events import Failure

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER"  # as gcloud reads it
API = "https://container.googleapis.com/"


def with_reasons(
    failures: Iterable[Failure], resources: Iterable[dict[str, Any]], variables: Mapping[str, str]
) -> list[Failure]:
    """The failures, those of node pools with the `statusMessage` that GKE gives for them, when it answers."""
    ids = {str(r["urn"]): str(r["id"]) for r in resources if r.get("type") == NODE_POOL and r.get("id")}
    found = []
    for failure in failures:
        said = _message(ids[failure.urn], variables) if failure.urn in ids else None
        found.append(replace(failure, text=f"{failure.text}\n{said}") if said else failure)
    return found


def _message(identity: str, variables: Mapping[str, str]) -> str | None:
    """`projects/P/locations/L/clusters/C/nodePools/N` as the API describes it; None when nobody can tell."""
    with contextlib.suppress(Exception):  # advice must not fail for want of a reason
        from google.auth.transport.requests import AuthorizedSession  # type: ignore[import-untyped,unused-ignore]
        from google.oauth2.service_account import Credentials  # type: ignore[import-untyped,unused-ignore]

        file = variables["GOOGLE_APPLICATION_CREDENTIALS"]
        session = AuthorizedSession(Credentials.from_service_account_file(file, scopes=[SCOPE]))
        session.trust_env = False
        answer = session.get(f"{variables.get(OVERRIDE, API)}v1/{identity}", timeout=10)
        said = answer.json().get("statusMessage")
        return str(said) if said else None
    return None
