"""IAM policies that mean the same: order, lists of one, accounts and their roots, as the AWS provider compares them.

Source: hashicorp/awspolicyequivalence (PoliciesAreEquivalent), which terraform-provider-aws calls in verify/json.go.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LISTS = ("Action", "NotAction", "Resource", "NotResource")


def equivalent(first: str, second: str) -> bool:
    """Whether two policy documents are one to the provider; what is no JSON equals only itself."""
    try:
        a, b = _document(first), _document(second)
    except (ValueError, TypeError, AttributeError):
        return first == second
    if a == b:
        return True
    if any((a.get(key) or "") != (b.get(key) or "") for key in ("Version", "Id")):
        return False
    ours, theirs = _statements(a), _statements(b)
    if len(ours) != len(theirs):
        return False
    return all(any(_same(x, y) for y in theirs) for x in ours) and all(any(_same(x, y) for x in ours) for y in theirs)


def _document(text: str) -> dict[str, Any]:
    """The document; a list of one document is that document, nothing is an empty one."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    document = json.loads(text or "{}")
    if not isinstance(document, dict):
        raise TypeError("no policy document")
    return document


def _statements(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document.get("Statement")
    return [found] if isinstance(found, dict) else list(found or [])


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    if (a.get("Sid") or "") != (b.get("Sid") or ""):
        return False
    if str(a.get("Effect") or "").lower() != str(b.get("Effect") or "").lower():
        return False
    if any(_words(a.get(key)) != _words(b.get(key)) for key in _LISTS):
        return False
    if _conditions(a.get("Condition")) != _conditions(b.get("Condition")):
        return False
    return all(_same_principals(a.get(key), b.get(key)) for key in ("Principal", "NotPrincipal"))


def _words(value: Any) -> list[str]:
    """One value or a list of them, in order; numbers and booleans as the words for them."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return sorted(v if isinstance(v, str) else json.dumps(v) for v in values)


def _conditions(value: Any) -> Any:
    if value is None:
        return None
    return {operator: {key: _words(v) for key, v in test.items()} for operator, test in value.items()}


def _principal(word: str) -> str:
    """An account's root by its account."""
    found = re.fullmatch(r"arn:[a-z-]+:iam::(\d{12}):root", word)
    return found[1] if found else word


def _principals(value: Any) -> Any:
    if not isinstance(value, dict):
        return {}
    made = {kind: sorted(_principal(w) for w in _words(words)) for kind, words in value.items()}
    return {kind: words for kind, words in made.items() if words}


def _same_principals(a: Any, b: Any) -> bool:
    """Maps by kind. Two plain words are always one to the provider: it compares them as maps, and both have none."""
    return bool(_principals(a) == _principals(b))
