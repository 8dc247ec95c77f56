"""Differences that a provider suppresses: links and names of the same thing, letter case, words for "not given"."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


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


def _seconds(text: str) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|d)", text)
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] if found else None


KINDS: dict[str, Callable[[str, str], bool]] = {
    "dropped": lambda old, new: False,  # only leaving it out is suppressed (plan.py)
    "link": _link,
    "link_name_only": lambda old, new: "/" not in new and "/" in old and last(old) == new,
    "name_of_link": lambda old, new: "/" not in new and last(old) == new,
    "path": lambda old, new: link_path(old) == link_path(new),
    "path_or_name": _path_or_name,
    "case": lambda old, new: old.lower() == new.lower(),
    "size": lambda old, new: new.startswith("/") and old.endswith(new),
    "image": _image,
    "duration": lambda old, new: _seconds(old) is not None and _seconds(old) == _seconds(new),
    "bucket": lambda old, new: old.removeprefix("b/") == new.removeprefix("b/"),
    "member_case": lambda old, new: old.partition(":")[0] == new.partition(":")[0] and old.lower() == new.lower(),
    "key_ring": lambda old, new: re.sub(r"(projects|locations|keyRings)/", "", new) == old,
}


def suppressed(kind: Any, old: Any, new: Any) -> bool:
    """Whether the provider takes two values for the same. `kind` is a word of KINDS, or {unset: […]}, {words: […]}."""
    a, b = str(old or ""), str(new or "")
    if isinstance(kind, dict):
        if b in kind.get("unset", []) and not a:
            return True
        return any({a, b} <= set(pair) for pair in kind.get("words", []))
    return bool(a and b) and KINDS[kind](a, b)
