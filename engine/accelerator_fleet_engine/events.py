"""Follows the event stream that the Pulumi engine writes to a file and keeps the few numbers that people watch."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

_COLOUR = re.compile(r"<\{%.*?%\}>")
# Steps of one replacement: only the logical one counts, else a replaced resource would count three times.
_HALVES = {"create-replacement", "delete-replaced"}
# What a person reads for an operation, before and after, in the order they are listed.
WORDS = {
    "delete": ("to delete", "deleted"),
    "replace": ("to replace", "replaced"),
    "update": ("to update", "updated"),
    "create": ("to create", "created"),
    "read": ("to read", "read"),
    "refresh": ("to refresh", "refreshed"),
    "import": ("to import", "imported"),
    "same": ("the same", "the same"),
}


def plain(text: str) -> str:
    """A message without the engine's colour marks."""
    return _COLOUR.sub("", text)


def _changed(step: dict[str, Any]) -> list[str]:
    """The inputs that differ, at the top: no provider is asked for paths where a trigger asks for the replacement."""
    old, new = ((step.get(side) or {}).get("inputs") or {} for side in ("old", "new"))
    return [key for key in {*old, *new} if key != "__defaults" and old.get(key) != new.get(key)]


@dataclass(frozen=True)
class Change:
    """One resource that is not left as it is, with the property paths that differ."""

    op: str
    type: str
    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """One resource that failed, with the engine's words about it."""

    urn: str
    type: str
    name: str
    text: str


@dataclass
class Watch:
    """What has been seen of one run of the engine."""

    seen: int = 0
    same: int = 0
    changes: list[Change] = field(default_factory=list)
    active: dict[str, str] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    summary: dict[str, int] = field(default_factory=dict)
    result: str = ""

    def take(self, event: dict[str, Any]) -> None:
        """Adds one event; kinds that are not watched are passed over."""
        if "resourcePreEvent" in event:
            self._begin(event["resourcePreEvent"]["metadata"])
        elif "resOutputsEvent" in event:
            self._end(event["resOutputsEvent"]["metadata"], ok=True)
        elif "resOpFailedEvent" in event:
            self._end(event["resOpFailedEvent"]["metadata"], ok=False)
        elif "diagnosticEvent" in event:
            self._diagnose(event["diagnosticEvent"])
        elif "summaryEvent" in event:
            self.summary = event["summaryEvent"].get("resourceChanges") or {}
            self.result = event["summaryEvent"].get("result") or ""

    def _begin(self, step: dict[str, Any]) -> None:
        op = step["op"]
        if op in _HALVES:
            self.active[step["urn"]] = op
            return
        self.seen += 1
        if op == "same":
            self.same += 1
            return
        self.active[step["urn"]] = op
        paths = tuple(sorted(step.get("detailedDiff") or step.get("diffs") or _changed(step)))
        name = step["urn"].rsplit("::", 1)[-1]
        self.changes.append(Change(op, step["type"], name, paths if op in {"update", "replace"} else ()))

    def _end(self, step: dict[str, Any], *, ok: bool) -> None:
        if self.active.pop(step["urn"], None) is None or step["op"] in _HALVES:
            return
        self.done += ok
        self.failed += not ok

    def _diagnose(self, event: dict[str, Any]) -> None:
        if event.get("ephemeral") or event["severity"] not in {"error", "warning"}:
            return
        text = plain(event["message"]).strip()
        urn = event.get("urn") or ""
        if urn and not urn.endswith(f"::{urn.split('::')[1]}-{urn.split('::')[0].rsplit(':', 1)[-1]}"):
            kind, name = urn.split("::")[2].rsplit("$", 1)[-1], urn.rsplit("::", 1)[-1]
            if event["severity"] == "error":
                self.failures.append(Failure(urn, kind, name, text))
            text = f"{kind} ({name}): {text}"
        (self.errors if event["severity"] == "error" else self.warnings).append(text)

    @property
    def current(self) -> str:
        """The name of one resource in work, for a progress line."""
        return next((urn.rsplit("::", 1)[-1] for urn in self.active), "")


def sentence(summary: dict[str, int], *, past: bool = False) -> str:
    """`31 to create · 5 the same`, from the engine's own count; `31 created · …` when it is done."""
    return " · ".join(f"{summary[op]} {words[past]}" for op, words in WORDS.items() if summary.get(op)) or "nothing"


class Follower:
    """Reads the lines that another process appends to a file, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._half = ""

    def read(self, watch: Watch) -> None:
        if self._file is None:
            if not self._path.exists():
                return
            self._file = self._path.open(encoding="utf-8")  # stays open between reads
        text = self._half + self._file.read()
        *lines, self._half = text.split("\n")
        for line in lines:
            if line:
                watch.take(json.loads(line))

    def close(self) -> None:
        if self._file:
            self._file.close()
