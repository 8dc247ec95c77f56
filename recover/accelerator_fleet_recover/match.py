"""Which thing in a cloud a wanted resource is: by what it hangs on, its drawn name, its Name tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accelerator_fleet_recover.model import Item, Wanted, has_unknown

# Properties that a wanted resource and a thing must agree in, where the thing shows them.
# A rule of a security group is told by its group, protocol, first port and peer.
PEERS = ("cidrIpv4", "cidrIpv6", "referencedSecurityGroupId")
NAMES = ("nodeGroupName", "name", "accountId", "instanceId", "queuedResourceId")


@dataclass
class Known:
    """What is known while matching: ids of resources by URN, names that interrupted creates had drawn."""

    ids: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # a name drawn for the preview -> the thing's own
    pending: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def found(self, wanted: Wanted, item: Item) -> None:
        """Remembers which thing a wanted resource is."""
        self.ids[wanted.urn] = item.id or item.imports
        self.names |= {str(wanted.inputs[key]): name for key, name in drawn_names(wanted, item).items()}

    def value(self, wanted: Wanted, key: str) -> str | None:
        """An input; where it is another resource's output, that resource's id. None when not known."""
        value = wanted.inputs.get(key)
        if value is not None and not has_unknown(value):
            return self.names.get(str(value), str(value))
        urns = (wanted.state.get("propertyDependencies") or {}).get(key) or []
        ids = {self.ids[u] for u in urns if u in self.ids}
        return ids.pop() if len(ids) == 1 else None


def choose(wanted: Wanted, items: Iterable[Item], known: Known) -> Item | None:
    """The thing that the wanted resource is; of several alike the one of an interrupted create, else the oldest."""
    found = [i for i in items if i.type == wanted.type and _is(wanted, i, known)]
    if len(found) > 1:
        drawn = known.pending.get(wanted.urn) or {}
        named = [i for i in found if i.name and i.name in drawn.values()]
        found = named or sorted(
            found, key=lambda i: (i.created is None, i.created and i.created.timestamp(), i.imports)
        )
    return found[0] if found else None


def _is(wanted: Wanted, item: Item, known: Known) -> bool:
    if item.provider != wanted.provider:
        return False
    for key, value in item.keys.items():
        if key == "peer":
            if not any(known.value(wanted, p) == value for p in PEERS):
                return False
        elif key == "fromPort":
            if str(wanted.inputs.get("fromPort", -1)) != value:
                return False
        elif not _agree(key, known.value(wanted, key), value):
            return False
    return _named(wanted, item)


def _agree(key: str, asked: str | None, value: str) -> bool:
    """Whether an input is what a thing shows. Google's references are full paths, names, or made of an e-mail."""
    if asked is None:
        return False
    if key == "member" and "serviceAccounts/" in asked:  # the account that the program makes the member of
        asked = f"serviceAccount:{asked.rpartition('/')[2]}"
    return asked == value or (key in {"cluster", "router", "network"} and _last(asked) == _last(value))


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _named(wanted: Wanted, item: Item) -> bool:
    """The names agree. What has neither name nor tags is told by what it joins alone."""
    for key, stem in wanted.drawn.items():
        return re.fullmatch(re.escape(stem) + "[0-9a-f]{7}", item.drawn_name(key)) is not None
    for key in NAMES:
        if wanted.inputs.get(key):
            return item.name == str(wanted.inputs[key])
        prefix = wanted.inputs.get(f"{key}Prefix")
        if prefix:
            return item.name.startswith(str(prefix))
    tag = (wanted.inputs.get("tags") or {}).get("Name")
    if tag is not None:
        return item.tags.get("Name") == str(tag)
    return bool(item.keys)


def drawn_names(wanted: Wanted, item: Item) -> dict[str, str]:
    """Properties that the program would draw anew: their value must stay the thing's own."""
    return {key: item.drawn_name(key) for key in wanted.drawn if item.drawn_name(key)}
