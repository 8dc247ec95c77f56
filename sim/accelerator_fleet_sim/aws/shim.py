"""The embedded datacentre's own `aws`: what kubeconfigs and people need of the CLI here, and a clear no to the rest."""

from __future__ import annotations

import json
import os
import sys

DOES = (
    "this is the embedded datacentre's own aws; it does: eks get-token --cluster-name NAME [--region REGION] "
    "[--output json], sts get-caller-identity"
)


def _options(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """(words without a dash, options)."""
    plain: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            options[name] = value if equals else next(rest, "")
        else:
            plain.append(word)
    return plain, options


def _region(options: dict[str, str]) -> str:
    return options.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


def get_token(options: dict[str, str]) -> dict[str, object]:
    """An ExecCredential, as `aws eks get-token` prints it."""
    from ..client import Client

    made = Client().post("/aws/token", {"cluster": options["cluster-name"], "region": _region(options)})
    return {
        "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1", "spec": {},
        "status": {"expirationTimestamp": made["expires"], "token": made["token"]},
    }  # fmt: skip


def caller_identity(options: dict[str, str]) -> dict[str, object]:
    """Who is calling."""
    from ..client import Client

    call = {"function": "aws:index/getCallerIdentity:getCallerIdentity", "args": {}, "account": "000000000000",
            "region": _region(options) or "us-east-2"}  # fmt: skip
    made = Client().post("/aws/invoke", call)
    return {"UserId": made["userId"], "Account": made["accountId"], "Arn": made["arn"]}


def main(words: list[str]) -> int:
    """One command; the exit status."""
    plain, options = _options(words)
    if options.get("output", "json") not in ("json", ""):
        print(f"aws: only --output json. {DOES}", file=sys.stderr)
        return 252
    try:
        if plain == ["eks", "get-token"]:
            if not options.get("cluster-name") or not _region(options):
                print("aws: eks get-token needs --cluster-name and a region (--region or AWS_REGION)", file=sys.stderr)
                return 252
            print(json.dumps(get_token(options)))
            return 0
        if plain == ["sts", "get-caller-identity"]:
            print(json.dumps(caller_identity(options), indent=4))
            return 0
    except Exception as error:
        print(f"aws: {error}", file=sys.stderr)
        return 254
    print(f"aws: no command {' '.join(plain) or '(none)'}. {DOES}", file=sys.stderr)
    return 252


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
