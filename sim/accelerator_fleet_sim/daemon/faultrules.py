"""What a provider does when its cloud fails it, read from data/faults.json of the cloud: retries, patience, state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def duration(seconds: float) -> str:
    """Seconds as Go prints a duration: `1h0m0s`, `40m0s`, `30s`."""
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


class FaultRules:
    """The rules of one cloud's provider. All times are simulated seconds."""

    def __init__(self, path: Path) -> None:
        self.data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))

    def answer(self, kind: str, service: str) -> dict[str, Any]:
        """Code, status and message by which a service refuses a call."""
        table = self.data[kind]
        return dict(table.get(service) or table["default"])

    def timeout(self, kind: str, verb: str, given: float | None = None) -> float:
        """How long the provider waits for a create, update or delete: customTimeouts, else the type's own."""
        table = self.data["timeouts"]
        return float(given or (table.get(kind) or table["default"]).get(verb, table["default"]["create"]))

    def give_up(self, kind: str) -> float:
        """How long after its creation the cloud goes on asking for a thing's machines before it calls it failed."""
        return float(self.data["give_up"].get(kind, 0))

    def state(self, kind: str, verb: str) -> str:
        """What a failed create or update leaves in the state: `planned`, `read` or `before`."""
        table = self.data["state"]
        return str((table["by_type"].get(kind) or {}).get(verb) or table[verb])

    def again(self, fault: str, kind: str, attempt: int, elapsed: float, limit: float) -> float | None:
        """Seconds until the provider asks again after its `attempt`th request (from 1) failed; None: it gives up."""
        rules = self.data["retries"]
        if "attempts" in rules:
            if attempt >= rules["attempts"]:
                return None
        else:
            until = rules["until_timeout"]
            patient = fault in until.get(kind, until["default"])
            if elapsed >= (limit if patient else rules["seconds"]):
                return None
        return float(min(rules["first"] * rules["factor"] ** min(attempt, 60), rules["longest"]))
