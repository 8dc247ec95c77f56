"""The embedded datacentre's own `gke-gcloud-auth-plugin`: prints the credential that kubectl asks for."""

from __future__ import annotations

import json
import sys


def main(words: list[str]) -> int:
    """The exit status. Like the real one it takes no cluster: the token is the user's."""
    from ..client import Client

    if "--version" in words:
        print("Kubernetes v1.36.0-embedded")
        return 0
    try:
        made = Client().post("/gcp/token", {})
    except Exception as error:
        print(f"gke-gcloud-auth-plugin: {error}", file=sys.stderr)
        return 1
    print(json.dumps({
        "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1", "spec": {"interactive": False},
        "status": {"expirationTimestamp": made["expires"], "token": made["token"]},
    }, indent=4))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
