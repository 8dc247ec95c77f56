"""A site's Google Cloud: project, region and labels of its provider in the stack, and an authorized session."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from accelerator_fleet_recover.aws.session import as_block
from accelerator_fleet_recover.model import Status

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
# Each API's own address; gcloud's variable for another one is honoured, as by gcloud and the provider.
ADDRESSES: Final = {
    "compute": "https://compute.googleapis.com/compute/v1/",
    "container": "https://container.googleapis.com/",
    "file": "https://file.googleapis.com/",
    "lustre": "https://lustre.googleapis.com/",
    "iam": "https://iam.googleapis.com/",
    "servicenetworking": "https://servicenetworking.googleapis.com/",
    "cloudresourcemanager": "https://cloudresourcemanager.googleapis.com/",
}
IDENTITY: Final = ("fleet", "environment", "site")
STATUSES: Final[dict[str, Status]] = {
    "PROVISIONING": "coming", "CREATING": "coming", "STOPPING": "going", "DELETING": "going", "ERROR": "failed",
}  # fmt: skip


def status(found: Mapping[str, Any]) -> Status:
    """The word for a state in `status` or `state`; everything that serves is there."""
    return STATUSES.get(str(found.get("status") or found.get("state") or ""), "there")


def made(found: Mapping[str, Any]) -> datetime | None:
    """When a thing was made, where its API says so."""
    text = found.get("createTime") or found.get("creationTimestamp")
    return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None


class Project:
    """One provider's project."""

    def __init__(self, provider: str, inputs: Mapping[str, Any]) -> None:
        """`provider`: its URN; `inputs`: as the stack has them, blocks as JSON text."""
        import google.auth
        from google.auth.transport.requests import AuthorizedSession

        self.provider = provider
        self.name = str(inputs.get("project") or "")
        self.region = str(inputs.get("region") or "")
        labels = as_block(inputs.get("defaultLabels"))
        self.labels = {k: str(labels[k]) for k in IDENTITY if k in labels}
        self.credentials, _ = google.auth.default(scopes=[SCOPE])
        self._session = AuthorizedSession(self.credentials)

    def owns(self, labels: Mapping[str, Any] | None) -> bool:
        """Whether labels are this fleet's."""
        return bool(self.labels) and all((labels or {}).get(k) == v for k, v in self.labels.items())

    def ask(self, api: str, path: str, method: str = "GET", **query: str) -> dict[str, Any]:
        """One call; an API that is not enabled in the project, or a thing that is not there, has nothing."""
        root = os.environ.get(f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api.upper()}") or ADDRESSES[api]
        body: dict[str, Any] | None = {} if method == "POST" else None
        answer = self._session.request(method, root + path, params=query, json=body, timeout=60)
        if answer.status_code == 404 or (answer.status_code == 403 and "SERVICE_DISABLED" in answer.text):
            return {}
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def pages(self, api: str, path: str, key: str, **query: str) -> Iterator[dict[str, Any]]:
        """Every element of a list that comes in pages."""
        token = ""
        while True:
            page = self.ask(api, path, **query, **({"pageToken": token} if token else {}))
            yield from page.get(key) or []
            token = str(page.get("nextPageToken") or "")
            if not token:
                return
