"""Tags as Google's labels: lower case, no dots or slashes, 63 characters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

LONGEST: Final = 63  # https://cloud.google.com/compute/docs/labeling-resources#requirements


def google_labels(tags: Mapping[str, str]) -> dict[str, str]:
    """`tags` in the form that Google's APIs take; other characters become `_`, keys start with a letter."""
    return {_key(key): _clean(value) for key, value in sorted(tags.items())}


def _clean(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "_", text.lower())[:LONGEST]


def _key(text: str) -> str:
    clean = _clean(text)
    return clean if clean[:1].isalpha() else f"l{clean}"[:LONGEST]
