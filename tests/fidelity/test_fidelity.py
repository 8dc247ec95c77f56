"""What the real providers' sources say of a change, and what the simulated ones say (`make fidelity`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from accelerator_fleet_sim.cases import CLASSES, Outcome, read_cases, report, run_cases

DATA = Path(__file__).parent / "data"
RECORDED = Path(__file__).parent.parent / "sim" / "data" / "google_plan_cases.json"
AT_LEAST = 200
# Every type that components create.
CREATED = {
    "aws": {"Eip", "InternetGateway", "LaunchTemplate", "NatGateway", "PlacementGroup", "Route", "RouteTable",
            "RouteTableAssociation", "SecurityGroup", "Subnet", "Vpc", "SecurityGroupIngressRule",
            "SecurityGroupEgressRule", "AccessPoint", "FileSystem", "MountTarget", "Addon", "Cluster", "NodeGroup",
            "LustreFileSystem", "Role", "RolePolicyAttachment"},
    "google": {"Firewall", "GlobalAddress", "Network", "Router", "RouterNat", "Subnetwork", "Cluster", "NodePool",
               "Instance", "IAMMember", "Account", "Connection"},
}  # fmt: skip


def cases(cloud: str) -> list[dict[str, Any]]:
    return [case for path in sorted((DATA / cloud).glob("*.json")) for case in read_cases(path)]


def classes(outcomes: list[Outcome]) -> str:
    counts = Counter(o.case["expect"] for o in outcomes)
    return ", ".join(f"{kind} {counts[kind]}" for kind in CLASSES)


@pytest.mark.parametrize("cloud", ["aws", "google"])
def test_no_difference_to_the_source(cloud: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = cases(cloud)
    outcomes = run_cases(table)
    text, differences = report(outcomes)
    with capsys.disabled():
        print(f"\n{text}\n{cloud}: {len(outcomes)} changes from the provider's source ({classes(outcomes)})")
    assert not differences, text
    assert len(outcomes) == len(table) >= AT_LEAST, "a type without rules is not compared"


@pytest.mark.parametrize("cloud", ["aws", "google"])
def test_the_table_is_of_the_source_line_by_line(cloud: str) -> None:
    table = cases(cloud)
    ids = [case["id"] for case in table]
    assert sorted(set(ids)) == sorted(ids)
    known = {case["id"].lower() for case in read_cases(RECORDED)}
    for case in table:
        assert case["expect"] in CLASSES, case["id"]
        file, _, line = case["source"].partition(":")
        assert file.endswith(".go"), case["id"]
        assert line.split()[0].rstrip(":").isdigit(), case["id"]
        assert bool(case["replace_keys"]) == (case["expect"] == "replace"), case["id"]
        assert bool(case["changed_keys"]) == (case["expect"] == "update"), case["id"]
        assert bool(case.get("error")) == (case["expect"] == "error"), case["id"]
        assert case["id"].lower() not in known
    tokens = {case["pulumi_token"].rpartition(":")[2] for case in table}
    assert not CREATED[cloud] - tokens


def test_recorded_plans_of_the_real_provider() -> None:
    text, differences = report(run_cases(read_cases(RECORDED)))
    assert not differences, text


def test_a_wrong_answer_is_a_difference() -> None:
    case = next(c for c in cases("aws") if c["id"] == "vpc/cidr")
    for wrong in ({"expect": "update", "changed_keys": ["cidrBlock"]}, {"replace_keys": ["tags"]}):
        text, differences = report(run_cases([{**case, **wrong}]))
        assert differences == 1
        assert "vpc/cidr: the provider says" in text
