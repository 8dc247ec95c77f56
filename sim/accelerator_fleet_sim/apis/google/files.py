"""Filestore and Managed Lustre instances. Nothing here deletes one: the toolkit never deletes a volume."""

from __future__ import annotations

from ...daemon.store import Resource
from ...google.errors import GoogleError
from ...google.scope import FILESTORE, LUSTRE
from .routes import Call, filtered, label, page, serves
from .shapes import Item, Names, picked, shaped

PARENT = "v1/projects/{project}/locations/{location}"
ASIDE = {"project", "deletionPolicy", "location", "zone", "pulumiLabels", "effectiveLabels", "labels", "name", "state",
         "desiredReplicaState", "effectiveReplications", "instanceId", "upcomingMaintenanceSchedules"}  # fmt: skip
LISTING = ("filter", "pageSize", "pageToken")
NAMES: Names = {}


def state(resource: Resource) -> str:
    """The state words of both."""
    words = {"creating": "CREATING", "deleting": "DELETING", "failed": "ERROR", "active": ""}
    return words.get(resource.state, "")


def filestore(resource: Resource) -> Item:
    """A Filestore instance."""
    made: Item = shaped("file", "#Instance", picked(resource.outputs, ASIDE), NAMES)
    return {**made, "name": resource.id, "state": state(resource) or "READY", "labels": label(resource) or None}


def lustre(resource: Resource) -> Item:
    """A Lustre instance."""
    made: Item = shaped("lustre", "#Instance", picked(resource.outputs, ASIDE), NAMES)
    return {**made, "name": resource.id, "state": state(resource) or "ACTIVE", "labels": label(resource) or None}


VIEWS = {"file": (FILESTORE, filestore), "lustre": (LUSTRE, lustre)}


def _list(call: Call) -> Item:
    token, view = VIEWS[call.api]
    where = call.words["location"]
    if where != "-" and not call.scope.catalog.is_zone(where) and not call.scope.catalog.zones(where):
        raise GoogleError(400, "badRequest", f"Location '{where}' is not a valid location")
    items = [view(r) for r in call.scope.all(token) if where in ("-", r.outputs["location"])]
    found, more = page(call, filtered(call, items, "Instance"), "pageSize", 500)
    return {**({"instances": found} if found else {}), **more}


def _get(call: Call) -> Item:
    token, view = VIEWS[call.api]
    path = f"projects/{call.scope.project}/locations/{call.words['location']}/instances/{call.words['name']}"
    found = call.scope.find(token, path)
    if found is None:
        raise GoogleError(404, "notFound", f"Resource '{path}' was not found")
    return view(found)


for _api in VIEWS:
    serves(_api, "GET", f"{PARENT}/instances", "ListInstancesResponse", *LISTING)(_list)
    serves(_api, "GET", f"{PARENT}/instances/{{name}}", "Instance")(_get)
