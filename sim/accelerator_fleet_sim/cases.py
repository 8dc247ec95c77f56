"""`fleet sim cases FILE`: changes whose class is known from a real provider, through the simulated Check and Diff."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .core.check import Failure, check
from .core.diff import UnknownRule, diff
from .core.inputs import Namer, checked_inputs
from .core.plan import Customize, Refused, planned_create
from .core.rules import Rules, TypeRules, plain_path
from .core.values import UNKNOWN, Unknown

PROJECT = {"project": "proj-a", "region": "us-central1", "zone": "us-central1-a", "labels": {}, "attribution": True}
REGION = "us-east-2"
CLASSES = ("none", "update", "replace", "error")


@dataclass(frozen=True)
class Provider:
    """What a case of one cloud needs: its rules, the configured region, and what the provider makes of a plan."""

    rules: Rules
    region: str
    customize: Customize


@dataclass(frozen=True)
class Outcome:
    """What the simulated provider said of one case, and whether that agrees."""

    case: dict[str, Any]
    got: str
    replaces: list[str]
    detail: str
    agrees: bool


def _google() -> Provider:
    from .google.catalog import DATA
    from .google.plans import Plans

    return Provider(Rules.load(DATA / "rules.json"), "", Plans(PROJECT).customize)


def _aws() -> Provider:
    from .aws.catalog import DATA
    from .aws.plans import customize

    return Provider(Rules.load(DATA / "rules.json"), REGION, customize)


PROVIDERS: dict[str, Callable[[], Provider]] = {"gcp": _google, "aws": _aws}


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
    elif isinstance(value, dict) and isinstance(target.get(leaf), dict):
        target[leaf] = {**value, **target[leaf]}
    elif target.get(leaf) is None:
        target[leaf] = value


def _inputs(rules: TypeRules, olds: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    inputs = checked_inputs(rules, olds, copy.deepcopy(given), Namer("case", b"seed", None))
    if rules.has_tags:
        inputs["tagsAll"] = dict(inputs.get("tags") or {})
    return inputs


def run_case(provider: Provider, case: dict[str, Any]) -> Outcome:
    """One case of a type that has rules."""
    rules = provider.rules.get(case["pulumi_token"])
    assert rules is not None
    customize, region = provider.customize, provider.region
    try:
        old_inputs = _inputs(rules, {}, case["old"]) if case["old"] is not None else {}
        news = _inputs(rules, old_inputs, case["new"])
        failures: list[Failure] = check(rules, news)
        if failures:
            return _judge(case, "error", [], {}, f"{failures[0].path}: {failures[0].reason}")
        if case["old"] is None:
            planned_create(rules, news, region, customize)
            return _judge(case, "create", [], {}, "")
        state = _without_unknown(planned_create(rules, old_inputs, region, customize))
        for path, value in (case.get("assumes_prior") or {}).items():
            _seed(state, path, value)
        found, planned = diff(rules, state, old_inputs, news, region, customize)
    except Refused as error:
        return _judge(case, "error", [], {}, str(error))
    except UnknownRule as error:
        return _judge(case, "unknown", [], {}, str(error))
    kind = "replace" if found.replaces else "update" if found.changes else "none"
    return _judge(case, kind, found.replaces, planned, ", ".join(sorted(found.changes)))


def _judge(case: dict[str, Any], got: str, replaces: list[str], planned: dict[str, Any], detail: str) -> Outcome:
    agrees = got == case["expect"]
    tops = sorted({plain_path(p).partition(".")[0] for p in replaces})
    if agrees and got == "replace":
        wanted = sorted({p.partition(".")[0] for p in case["replace_keys"]})
        agrees = wanted == (tops if "source" in case else [t for t in tops if t in wanted])
    if agrees and got == "update" and "source" in case:
        unknown = sorted(k for k, v in planned.items() if isinstance(v, Unknown))
        changed = {plain_path(p).partition(".")[0] for p in detail.split(", ")} - {"tagsAll", *unknown, *LABELS}
        agrees = unknown == case.get("becomes_unknown", []) and changed == set(case["changed_keys"])
        detail = f"{detail}; unknown: {', '.join(unknown) or 'nothing'}"
    return Outcome(case, got, replaces, detail, agrees)


LABELS = ("pulumiLabels", "effectiveLabels")


def read_cases(path: Path) -> list[dict[str, Any]]:
    """The cases of a file: a list, or `cases` beside `_meta`."""
    data = json.loads(path.read_text())
    return list(data["cases"] if isinstance(data, dict) else data)


def run_cases(cases: list[dict[str, Any]]) -> list[Outcome]:
    """All cases whose types have rules."""
    made: dict[str, Provider] = {}
    outcomes = []
    for case in cases:
        cloud = case["pulumi_token"].partition(":")[0]
        if cloud not in made:
            made[cloud] = PROVIDERS[cloud]()
        if case["pulumi_token"] in made[cloud].rules:
            outcomes.append(run_case(made[cloud], case))
    return outcomes


def run_file(path: Path) -> list[Outcome]:
    """All cases of a file whose types have rules."""
    return run_cases(read_cases(path))


def report(outcomes: list[Outcome]) -> tuple[str, int]:
    """Agreement per type and class, each difference, and how many there are."""
    table: Counter[tuple[str, str, bool]] = Counter()
    for one in outcomes:
        table[one.case["pulumi_token"], one.case["expect"], one.agrees] += 1
    lines = []
    for token in sorted({k[0] for k in table}):
        cells = []
        for kind in CLASSES:
            good, bad = table[token, kind, True], table[token, kind, False]
            if good + bad:
                cells.append(f"{kind} {good}/{good + bad}")
        lines.append(f"{token:55} {'  '.join(cells)}")
    differences = [o for o in outcomes if not o.agrees]
    for one in differences:
        case = one.case
        wanted = case.get("error") or ", ".join(case["replace_keys"] or case["changed_keys"])
        if case.get("becomes_unknown"):
            wanted += f"; unknown: {', '.join(case['becomes_unknown'])}"
        says = f"the provider says {case['expect']} ({wanted})"
        lines.append(f"  {case['id']}: {says}, here {one.got} ({one.detail[:160]})")
    lines.append(f"{len(outcomes) - len(differences)} of {len(outcomes)} plans agree")
    return "\n".join(lines), len(differences)


def run(path: Path) -> int:
    """The command: prints the report; 1 when plans differ."""
    text, differences = report(run_file(path))
    print(text)
    return 1 if differences else 0


__all__ = ["UNKNOWN", "Outcome", "read_cases", "report", "run", "run_case", "run_cases", "run_file"]
