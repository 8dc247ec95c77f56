"""What is compared: resources that the program asks for, things that the cloud has, and what is decided of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

UNKNOWN: Final = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # as the engine writes what is known only after a create
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
Status = Literal["there", "coming", "going", "failed", "foreign"]
# Data lives in these, or money that nobody gives back. They are adopted; nothing here ever deletes one, or what would
# take it along.
VOLUMES: Final = frozenset(
    {
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
        "aws:efs/fileSystem:FileSystem",
        "aws:fsx/lustreFileSystem:LustreFileSystem",
        "gcp:filestore/instance:Instance",
        "gcp:lustre/instance:Instance",
        "kubernetes:core/v1:PersistentVolume",
        "kubernetes:core/v1:PersistentVolumeClaim",
    }
)
CLUSTERS: Final = frozenset({"aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"})


HIDDEN: Final = "[secret]"  # as previews show what the state keeps encrypted
# How a state marks a secret; one in plain text is encrypted when the state is written.
# https://github.com/pulumi/pulumi sdk/go/common/resource/sig.go
SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
IS_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"


def is_hidden(value: Any) -> bool:
    """Whether a value is a secret that is not shown."""
    return bool(value == HIDDEN) or (isinstance(value, Mapping) and SIGNATURE in value and "plaintext" not in value)


def hides_secrets(value: Any) -> bool:
    """Whether a preview hid something in it."""
    if is_hidden(value):
        return True
    if isinstance(value, Mapping):
        return any(hides_secrets(v) for v in value.values())
    return isinstance(value, list) and any(hides_secrets(v) for v in value)


def revealed(value: Any) -> Any:
    """A value of a state that was exported with its secrets, without their marks."""
    if isinstance(value, Mapping):
        if SIGNATURE in value and "plaintext" in value:
            return json.loads(value["plaintext"])
        return {k: revealed(v) for k, v in value.items()}
    return [revealed(v) for v in value] if isinstance(value, list) else value


def has_unknown(value: Any) -> bool:
    """Whether anything in a value is not known yet."""
    if isinstance(value, dict):
        return any(has_unknown(v) for v in value.values())
    if isinstance(value, list):
        return any(has_unknown(v) for v in value)
    return isinstance(value, str) and value in UNKNOWN


def urn_name(urn: str) -> str:
    """The logical name in a URN."""
    return urn.rpartition("::")[2]


def urn_type(urn: str) -> str:
    """The type in a URN, without its parents' types."""
    return urn.split("::")[2].rpartition("$")[2]


@dataclass(frozen=True)
class Wanted:
    """A resource that the next `up` would create, as the engine previews it."""

    state: Mapping[str, Any]

    @property
    def urn(self) -> str:
        return str(self.state["urn"])

    @property
    def type(self) -> str:
        return str(self.state["type"])

    @property
    def name(self) -> str:
        return urn_name(self.urn)

    @property
    def inputs(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.state.get("inputs") or {}
        return found

    @property
    def provider(self) -> str:
        """The URN of its provider; empty for components."""
        return str(self.state.get("provider") or "").rpartition("::")[0]

    @property
    def drawn(self) -> dict[str, str]:
        """Names that the provider draws anew for every program run: property -> the stem before the drawn end."""
        found = {}
        for key in self.inputs.get("__defaults") or []:
            value = self.inputs.get(key)
            # Seven hexadecimal digits after the logical name: the bridge's automatic names.
            if isinstance(value, str) and len(value) > 8 and value[-8] == "-" and _hex(value[-7:]):
                found[key] = value[:-7]
        return found


def _hex(text: str) -> bool:
    return all(c in "0123456789abcdef" for c in text)


@dataclass(frozen=True)
class Item:
    """One thing in a cloud or cluster.

    `imports`: the id that the provider's importer takes; `id`: the one that a state holds where it differs.
    `keys`: what tells it from others of its type (its network, table, cluster …).
    """

    type: str
    imports: str
    id: str = ""
    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    status: Status = "there"
    created: datetime | None = None
    note: str = ""  # what a person wants to know beyond its id: nodes and machine
    cost: float | None = None  # USD an hour at list price, where it is known
    provider: str = ""  # URN of the provider that reaches it
    drawn: Mapping[str, str] = field(default_factory=dict)  # names that the program draws, where they are not `name`

    def drawn_name(self, key: str) -> str:
        """The thing's own value of a property that the program draws."""
        return self.drawn.get(key, self.name)

    @property
    def ids(self) -> frozenset[str]:
        """Every id by which a state may know it."""
        return frozenset({self.imports, self.id or self.imports})


@dataclass(frozen=True)
class Orphan:
    """A thing that the state does not know. `wanted` None: nothing in the program asks for it."""

    item: Item
    wanted: Wanted | None

    @property
    def belongs(self) -> bool:
        """Whether it can be adopted as it is."""
        return self.wanted is not None and self.item.status not in {"failed", "foreign", "going"}


@dataclass(frozen=True)
class Read:
    """What a provider says of an adopted resource: its id, the inputs that it derives, and its outputs."""

    id: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    asked: Mapping[str, Any]  # the program's own inputs, with what became known by then
