"""Plans recorded from the real Google provider: the simulated one must say the same of every one."""

from __future__ import annotations

from pathlib import Path

from accelerator_fleet_sim.cases import report, run_file
from accelerator_fleet_sim.core.diff import diff
from accelerator_fleet_sim.core.plan import planned_create
from accelerator_fleet_sim.core.rules import Rules, TypeRules
from accelerator_fleet_sim.core.values import UNKNOWN
from accelerator_fleet_sim.google.catalog import DATA
from accelerator_fleet_sim.google.plans import ATTRIBUTION, Plans

CASES = Path(__file__).parent / "data" / "google_plan_cases.json"
RULES = Rules.load(DATA / "rules.json")
POOL = "gcp:container/nodePool:NodePool"
FILESTORE = "gcp:filestore/instance:Instance"


def rules(token: str) -> TypeRules:
    found = RULES.get(token)
    assert found is not None
    return found


def test_recorded_plans_agree() -> None:
    text, differences = report(run_file(CASES))
    print(f"\n{text}")
    assert not differences, text
    assert "create" not in text


def test_a_topology_change_is_an_update_as_the_real_provider_says() -> None:
    """The provider neither replaces nor sends it: a trap that components must keep people out of."""
    own = rules(POOL)
    before = {"cluster": "c", "location": "us-central1", "nodeCount": 4,
              "placementPolicy": {"type": "COMPACT", "tpuTopology": "4x4"}}  # fmt: skip
    after = {**before, "placementPolicy": {"type": "COMPACT", "tpuTopology": "8x8"}}
    found, _ = diff(own, before, before, after, "")
    assert found.changes == {"placementPolicy.tpuTopology": ("update", False)}


def labelled(strategy: str = "CREATION_ONLY", attribution: bool = True) -> Plans:
    return Plans({"project": "embedded-x", "labels": {"team": "a"}, "attribution": attribution, "strategy": strategy})


def test_labels_of_a_create() -> None:
    own = rules(FILESTORE)
    planned = planned_create(own, {"labels": {"own": "1", "team": "b"}}, "", labelled().customize)
    assert planned["labels"] == {"own": "1", "team": "b"}
    assert planned["pulumiLabels"] == {"team": "b", ATTRIBUTION: "true", "own": "1"}
    assert planned["effectiveLabels"] == planned["pulumiLabels"]
    without = planned_create(own, {}, "", labelled(attribution=False).customize)
    assert without["effectiveLabels"] == {"team": "a"}
    unknown = planned_create(own, {"labels": {"own": UNKNOWN}}, "", labelled().customize)
    assert unknown["effectiveLabels"] is UNKNOWN


def test_labels_of_an_update() -> None:
    own = rules(FILESTORE)
    others = {"goog-service": "x", "team": "a"}
    old = {"labels": {"own": "1"}, "pulumiLabels": {"own": "1", "team": "a"}, "effectiveLabels": {"own": "1", **others}}
    planned = {**old}
    labelled().customize(own, old, planned, {"labels": {}})
    assert planned["effectiveLabels"] == others, "the attribution label comes at creation only"
    labelled("PROACTIVE").customize(own, old, planned, {"labels": {}})
    assert planned["effectiveLabels"] == {**others, ATTRIBUTION: "true"}
