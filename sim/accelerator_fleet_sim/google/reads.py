"""Functions of the Google provider: what programs look up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .scope import Scope
from .services.versions import default, numbers, served


class NotFound(Exception):
    """What was looked up does not exist."""


def _client_config(scope: Scope, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"projects/{scope.project}/regions/{scope.settings.get('region') or ''}/zones/"
        f"{scope.settings.get('zone') or ''}",
        "project": scope.project, "region": scope.settings.get("region") or "",
        "zone": scope.settings.get("zone") or "", "accessToken": "ya29.embedded", "defaultLabels": {},
    }  # fmt: skip


def _project(scope: Scope, args: dict[str, Any]) -> dict[str, Any]:
    name = args.get("projectId") or scope.project
    if name != scope.project:
        raise NotFound(f"googleapi: Error 403: The caller does not have permission on {name}, forbidden")
    number = scope.catalog.account["project_number"]
    return {"id": f"projects/{name}", "projectId": name, "number": number, "name": name, "labels": {},
            "effectiveLabels": {}, "pulumiLabels": {}, "autoCreateNetwork": True, "billingAccount": "",
            "deletionPolicy": "PREVENT", "folderId": "", "orgId": "", "tags": {}}  # fmt: skip


def _zones(scope: Scope, args: dict[str, Any]) -> dict[str, Any]:
    region = args.get("region") or scope.settings.get("region") or ""
    names = scope.catalog.zones(region)
    if not names:
        raise NotFound(f"googleapi: Error 404: The resource 'projects/{scope.project}/regions/{region}' was not found, "
                       "notFound")  # fmt: skip
    return {"id": f"projects/{scope.project}/regions/{region}", "names": names, "region": region,
            "project": scope.project, "status": args.get("status")}  # fmt: skip


def _network(scope: Scope, args: dict[str, Any]) -> dict[str, Any]:
    found = scope.network(args["name"])
    if found is None:
        raise NotFound(f"projects/{scope.project}/global/networks/{args['name']} not found")
    subnets = [s.outputs["selfLink"] for s in scope.all("gcp:compute/subnetwork:Subnetwork")
               if s.outputs.get("network") == found.outputs["selfLink"]]  # fmt: skip
    return {**found.outputs, "id": found.id, "subnetworksSelfLinks": subnets}


def _subnetwork(scope: Scope, args: dict[str, Any]) -> dict[str, Any]:
    region = args.get("region") or scope.settings.get("region") or ""
    found = scope.subnetwork(args.get("selfLink") or args.get("name") or "", region)
    if found is None:
        raise NotFound(f"Subnetwork Not Found : {args.get('name')}")
    return {**found.outputs, "id": found.id}


def _cluster(scope: Scope, args: dict[str, Any]) -> dict[str, Any]:
    location = args.get("location") or scope.settings.get("zone") or scope.settings.get("region") or ""
    found = scope.cluster(args["name"], location)
    if found is None:
        raise NotFound(f"projects/{scope.project}/locations/{location}/clusters/{args['name']} not found")
    return {**found.outputs, "id": found.id}


def _versions(scope: Scope, args: dict[str, Any]) -> dict[str, Any]:
    prefix = args.get("versionPrefix") or ""
    all_ = sorted((v for row in served(scope, None).values() for v in row), key=numbers, reverse=True)
    found = [v for v in all_ if v.startswith(prefix)]
    if not found:
        raise NotFound(f"No versions match {prefix}")
    channels = [c for c in scope.catalog.account["kubernetes"]["channels"] if c != "UNSPECIFIED"]
    latest = {c: max((v for row in served(scope, c).values() for v in row), key=numbers) for c in channels}
    return {"id": scope.zulu(), "defaultClusterVersion": default(scope, None),
            "latestMasterVersion": found[0], "latestNodeVersion": found[0], "validMasterVersions": found,
            "validNodeVersions": found, "releaseChannelDefaultVersion": {c: default(scope, c) for c in channels},
            "releaseChannelLatestVersion": latest, "location": args.get("location"),
            "project": scope.project}  # fmt: skip


FUNCTIONS: dict[str, Callable[[Scope, dict[str, Any]], dict[str, Any]]] = {
    "gcp:organizations/getClientConfig:getClientConfig": _client_config,
    "gcp:organizations/getProject:getProject": _project,
    "gcp:compute/getZones:getZones": _zones,
    "gcp:compute/getNetwork:getNetwork": _network,
    "gcp:compute/getSubnetwork:getSubnetwork": _subnetwork,
    "gcp:container/getCluster:getCluster": _cluster,
    "gcp:container/getEngineVersions:getEngineVersions": _versions,
}
