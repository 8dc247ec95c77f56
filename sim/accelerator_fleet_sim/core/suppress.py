"""Differences that a provider suppresses: links and names of the same thing, letter case, words for "not given"."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from .policies import equivalent


def link_path(value: str) -> str:
    """`projects/…` of a link in any of its spellings."""
    text = re.sub(r"^(https:)?//[^/]+/(?:(?:compute|v\d[a-z0-9]*|beta)/)*", "", value)
    return text.removeprefix("b/")


def last(value: str) -> str:
    """The name at the end of a link."""
    return value.rpartition("/")[2]


def _link(old: str, new: str) -> bool:
    """A bare name in the new value matches a link in state; two links match by path (CompareSelfLinkOrResourceName)."""
    if "/" not in new:
        return last(old) == new
    return "/" in old and link_path(old) == link_path(new)


def _path_or_name(old: str, new: str) -> bool:
    """Names and links of one project match both ways (the state is expanded to a link before it is compared)."""
    if "/" in old and "/" in new:
        return link_path(old) == link_path(new)
    return last(old) == last(new)


def _image(old: str, new: str) -> bool:
    """A family or short name matches the image in state that belongs to it (diffSuppressImage, shortened)."""
    if "/images/" in new or "/" not in old:
        return link_path(old) == link_path(new)
    name, wanted = last(old), last(new)
    project = new.rpartition("/")[0].rpartition("/")[2]
    return (name == wanted or name.startswith(f"{wanted}-")) and (not project or f"/{project}/" in f"/{old}")


def _member(old: str, new: str) -> bool:
    """Letter case of a member, but not of principals and of the words for everybody (IamPrincipalIsCaseSensitive)."""
    words, kinds = ("allAuthenticatedUsers", "allUsers"), ("principal:", "principalSet:", "principalHierarchy:")
    if any(w in m for w in words for m in (old, new)) or old.startswith(kinds) or new.startswith(kinds):
        return old == new
    return old.lower() == new.lower()


def _seconds(text: str) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|d)", text)
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] if found else None


_PROTOCOLS = {"58": "icmpv6", "17": "udp", "6": "tcp", "1": "icmp", "all": "-1"}


def _protocol(old: str, new: str) -> bool:
    """Protocols by number and by name (protocolForValue; only these four have names)."""
    a, b = old.lower(), new.lower()
    return _PROTOCOLS.get(a, a) == _PROTOCOLS.get(b, b)


def _same_network(old: str, new: str) -> bool:
    """Two spellings of one network (CIDRBlocksEqual)."""
    try:
        return ipaddress.ip_network(old) == ipaddress.ip_network(new)
    except ValueError:
        return False


KINDS: dict[str, Callable[[str, str], bool]] = {
    "dropped": lambda old, new: False,  # only leaving it out is suppressed (plan.py)
    "link": _link,
    "link_name_only": lambda old, new: "/" not in new and "/" in old and last(old) == new,
    "name_of_link": lambda old, new: "/" not in new and last(old) == new,
    "path": lambda old, new: link_path(old) == link_path(new),
    "path_or_name": _path_or_name,
    "policy": equivalent,
    "network": _same_network,
    "protocol": _protocol,
    "longer_arn": lambda old, new: old.startswith(f"{new}:"),
    "https": lambda old, new: re.sub(r"^[a-z]*:?//", "https://", old) == new,
    "case": lambda old, new: old.lower() == new.lower(),
    "size": lambda old, new: new.startswith("/") and old.endswith(new),
    "image": _image,
    "duration": lambda old, new: _seconds(old) is not None and _seconds(old) == _seconds(new),
    "bucket": lambda old, new: old.removeprefix("b/") == new.removeprefix("b/"),
    "member_case": _member,
    "last": lambda old, new: last(old) == last(new),
    "key_ring": lambda old, new: re.sub(r"(projects|locations|keyRings)/", "", new) == old,
}


def suppressed(kind: Any, old: Any, new: Any) -> bool:
    """Whether the provider takes two values for the same. `kind` is a word of KINDS, or
    {unset: words for nothing}, {words: pairs}, {from, to: one way}."""
    a, b = str(old or ""), str(new or "")
    if isinstance(kind, dict):
        unset = kind.get("unset", [])
        if (b in unset and not a) or (a in unset and not b) or (kind.get("from") == a and kind.get("to") == b and a):
            return True
        return any({a, b} <= set(pair) for pair in kind.get("words", []))
    return bool(a and b) and KINDS[kind](a, b)
