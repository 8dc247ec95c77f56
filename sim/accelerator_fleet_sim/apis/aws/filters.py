"""EC2's way of asking: ids, filters and pages, over what the API would show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ...aws.errors import AwsError
from .calls import Call, page

NAMED = ("Filters", "NextToken", "MaxResults")


@dataclass(frozen=True)
class Kind:
    """How one describe call is asked. `filters`: name -> path in the answer's item."""

    key: str  # the item's id, such as VpcId
    ids: str  # the parameter with ids
    filters: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, str] = ("", "")  # code and message for ids that do not exist; {ids}
    malformed: str = ""  # code for ids that cannot exist
    prefix: str = ""  # of ids, for that check
    most: int = 1000
    least: int = 5


def values(item: Any, path: str) -> Iterable[Any]:
    """All values at a dotted path, through lists."""
    if isinstance(item, list):
        for entry in item:
            yield from values(entry, path)
        return
    if not path:
        yield item
        return
    head, _, rest = path.partition(".")
    if isinstance(item, dict) and item.get(head) is not None:
        yield from values(item[head], rest)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pattern(value: str) -> str:
    """EC2's wildcards are * and ?; a bracket is itself."""
    return value.replace("[", "[[]")


def matches(item: dict[str, Any], condition: dict[str, Any], known: dict[str, str]) -> bool:
    """Whether an item fits one filter. An unknown filter is refused, not passed over."""
    name, wanted = condition.get("Name", ""), [_pattern(v) for v in condition.get("Values") or []]
    if not wanted:
        raise AwsError("InvalidParameterValue", f"The filter '{name}' has no values")
    if name.startswith("tag:"):
        own = [t["Value"] for t in item.get("Tags") or [] if t["Key"] == name[4:]]
    elif name == "tag-key":
        own = [t["Key"] for t in item.get("Tags") or []]
    elif name in known:
        own = [_text(v) for v in values(item, known[name])]
    else:
        served = ", ".join(["tag:KEY", "tag-key", *sorted(known)])
        raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid. The embedded datacentre serves "
                       f"{served}")  # fmt: skip
    return any(fnmatchcase(v, w) for v in own for w in wanted)


def describe(call: Call, kind: Kind, items: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The items asked for, and what tells of the next page."""
    wanted = call.params.get(kind.ids) or []
    size, token = call.params.get("MaxResults"), call.params.get("NextToken")
    if wanted and size is not None:
        raise AwsError("InvalidParameterCombination", f"The parameter {kind.ids} cannot be used with the parameter "
                       "MaxResults")  # fmt: skip
    if wanted:
        items = _by_ids(kind, items, wanted)
    for condition in call.params.get("Filters") or []:
        items = [i for i in items if matches(i, condition, kind.filters)]
    if size is not None and not kind.least <= size:
        raise AwsError("InvalidParameterValue", f"Value ( {size} ) for parameter maxResults is invalid. Expecting a "
                       f"value greater than or equal to {kind.least}.")  # fmt: skip
    found, after = page(items, size, token, kind.most, lambda t: AwsError(
        "InvalidParameterValue", f"Value ( {t} ) for parameter nextToken is invalid."
    ))  # fmt: skip
    return found, {"NextToken": after} if after else {}


def _by_ids(kind: Kind, items: list[dict[str, Any]], wanted: list[str]) -> list[dict[str, Any]]:
    if kind.prefix:
        bad = [i for i in wanted if not re.fullmatch(rf"{kind.prefix}-([0-9a-f]{{8}}|[0-9a-f]{{17}})", i)]
        if bad:
            raise AwsError(kind.malformed, f'Invalid id: "{bad[0]}"')
    found = {i[kind.key]: i for i in items}
    gone = [i for i in wanted if i not in found]
    if gone:
        code, message = kind.missing
        raise AwsError(code, message.replace("{ids}", ", ".join(gone)))
    return [found[i] for i in dict.fromkeys(wanted)]
