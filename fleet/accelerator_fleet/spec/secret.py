"""Refuses a spec that holds a secret: by key, by a token's known shape, or by its randomness."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from accelerator_fleet.errors import FleetError
from accelerator_fleet.spec.read import Tree

# Shapes that the vendors themselves document for their credentials.
SHAPES: Final = (
    ("an AWS access key id", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{40,})")),
    ("a Pulumi access token", re.compile(r"\bpul-[0-9a-f]{40}\b")),
    ("a Google API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("a Hugging Face token", re.compile(r"\bhf_[0-9A-Za-z]{30,}\b")),
    ("a Slack token", re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{10,}")),
    ("a JSON web token", re.compile(r"\beyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}\.")),
    ("a password in a URL", re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@")),
)
SECRET_KEY: Final = re.compile(
    r"(?:^|[-_.])(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?)"
    r"(?:$|[-_.])",
    re.IGNORECASE,
)
# A name of Google's API: collections in camel case between names in small letters, which only together look random.
GOOGLE_NAME: Final = re.compile(r"projects/[a-z0-9-]{1,63}(?:/[a-zA-Z]{1,40}/[a-z0-9-]{1,63})+")
WHAT_TO_DO: Final = "a spec holds no secret; `pulumi config set --secret` keeps it in the stack's configuration"


def secrets_in_comments(text: str, shown: str) -> list[FleetError]:
    """A commented-out credential is one all the same; only the vendors' own shapes are looked for there."""
    found: list[FleetError] = []
    for number, line in enumerate(text.splitlines(), start=1):
        comment = line.partition("#")[2]
        for what, shape in SHAPES:
            if comment and shape.search(comment):
                found.append(FleetError("", f"this comment holds {what}; {WHAT_TO_DO}", file=shown, line=number))
                break
    return found


def refuse_secrets(tree: Tree) -> list[FleetError]:
    """One error per secret found. The messages never repeat the secret."""
    found: list[FleetError] = []
    for path, node in tree.walk():
        if isinstance(node.value, (dict, list)):
            continue
        key = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]
        what = _what(key, node)
        if what:
            found.append(node.error(f"this looks like {what}; {WHAT_TO_DO}"))
    return found


def _what(key: str, node: Tree) -> str | None:
    text = node.raw
    for what, shape in SHAPES:
        if shape.search(text):
            return what
    if text and node.value is not None and SECRET_KEY.search(key):
        return f"a secret (by its key '{key}')"
    if _random(text):
        return "a secret (long and random)"
    return None


def _random(text: str) -> bool:
    """Base64-like words of 32 and more with over 4.2 bits a character: above hex digests, below no real prose."""
    if GOOGLE_NAME.fullmatch(text):
        return False
    for word in re.findall(r"[0-9A-Za-z+/=_-]{32,}", text):
        counts = Counter(word)
        bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
        mixed = any(c.isupper() for c in word) and any(c.islower() for c in word) and any(c.isdigit() for c in word)
        if mixed and bits > 4.2:
            return True
    return False
