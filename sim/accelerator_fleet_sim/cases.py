"""`fleet sim cases FILE`: recorded plans of a real provider, run through the simulated one's Check and Diff."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .core.check import Failure, check
from .core.diff import UnknownRule, diff
from .core.inputs import Namer, checked_inputs
from .core.plan import Refused, planned_create
from .core.rules import Rules, TypeRules, plain_path
from .core.values import UNKNOWN, Unknown
from .google.plans import Plans

SCOPE = {"project": "proj-a", "region": "us-central1", "zone": "us-central1-a", "labels": {}, "attribution": True}


@dataclass(frozen=True)
class Outcome:
    """What the simulated provider said of one case, and whether that agrees."""

    case: dict[str, Any]
    got: str
    replaces: list[str]
    detail: str
    agrees: bool


def _without_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_unknown(v) for k, v in value.items() if not isinstance(v, Unknown)}
    if isinstance(value, list):
        return [_without_unknown(v) for v in value if not isinstance(v, Unknown)]
    return value


def _seed(state: dict[str, Any], path: str, value: Any) -> None:
    """Put a value that the server had set into a state; lists get it in their first element."""
    *parents, leaf = path.split(".")
    target: Any = state
    for part in parents:
        if isinstance(target, list):
            if not target:
                target.append({})
            target = target[0]
        target = target.setdefault(part, {})
    if isinstance(target, list):
        if not target:
            target.append({})
        target = target[0]
    if value is None:
        target.pop(leaf, None)
    elif target.get(leaf) is None:
        target[leaf] = value


def _inputs(rules: TypeRules, olds: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return checked_inputs(rules, olds, copy.deepcopy(given), Namer("case", b"seed", None))


def run_case(rules: TypeRules, case: dict[str, Any]) -> Outcome:
    """One case."""
    customize = Plans(SCOPE).customize
    try:
        old_inputs = _inputs(rules, {}, case["old"]) if case["old"] is not None else {}
        news = _inputs(rules, old_inputs, case["new"])
        failures: list[Failure] = check(rules, news)
        if failures:
            return _judge(case, "error", [], [], f"{failures[0].path}: {failures[0].reason}")
        if case["old"] is None:
            planned_create(rules, news, "", customize)
            return _judge(case, "create", [], [], "")
        state = _without_unknown(planned_create(rules, old_inputs, "", customize))
        for path, value in (case.get("assumes_prior") or {}).items():
            _seed(state, path, value)
        found, _ = diff(rules, state, old_inputs, news, "", customize)
    except Refused as error:
        return _judge(case, "error", [], [], str(error))
    except UnknownRule as error:
        return _judge(case, "unknown", [], [], str(error))
    kind = "replace" if found.replaces else "update" if found.changes else "none"
    return _judge(case, kind, found.replaces, sorted(found.changes), ", ".join(sorted(found.changes)))


def _judge(case: dict[str, Any], got: str, replaces: list[str], changes: list[str], detail: str) -> Outcome:
    agrees = got == case["expect"]
    tops = sorted({plain_path(p).partition(".")[0] for p in replaces})
    if agrees and got == "replace":
        wanted = sorted({p.partition(".")[0] for p in case["replace_keys"]})
        agrees = wanted == [t for t in tops if t in wanted]
    return Outcome(case, got, replaces, detail, agrees)


def run_file(path: Path, rules: Rules) -> list[Outcome]:
    """All cases of a file whose types have rules."""
    cases = json.loads(path.read_text())
    outcomes = []
    for case in cases:
        own = rules.get(case["pulumi_token"])
        if own is not None:
            outcomes.append(run_case(own, case))
    return outcomes


def report(outcomes: list[Outcome]) -> tuple[str, int]:
    """Agreement per type and class, each difference, and how many there are."""
    table: Counter[tuple[str, str, bool]] = Counter()
    for one in outcomes:
        table[one.case["pulumi_token"], one.case["expect"], one.agrees] += 1
    lines = []
    for token in sorted({k[0] for k in table}):
        cells = []
        for kind in ("none", "update", "replace", "error"):
            good, bad = table[token, kind, True], table[token, kind, False]
            if good + bad:
                cells.append(f"{kind} {good}/{good + bad}")
        lines.append(f"{token:55} {'  '.join(cells)}")
    differences = [o for o in outcomes if not o.agrees]
    for one in differences:
        wanted = one.case.get("error") or ", ".join(one.case["replace_keys"] or one.case["changed_keys"])
        says = f"the provider says {one.case['expect']} ({wanted})"
        lines.append(f"  {one.case['id']}: {says}, here {one.got} ({one.detail[:160]})")
    lines.append(f"{len(outcomes) - len(differences)} of {len(outcomes)} plans agree")
    return "\n".join(lines), len(differences)


def run(path: Path) -> int:
    """The command: prints the report; 1 when plans differ."""
    rules = Rules.load(Path(__file__).parent / "google" / "data" / "rules.json")
    text, differences = report(run_file(path, rules))
    print(text)
    return 1 if differences else 0


__all__ = ["UNKNOWN", "Outcome", "report", "run", "run_case", "run_file"]
