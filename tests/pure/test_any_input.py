"""Whatever a file holds, the answer is a plan or our own error with a place: never another exception."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelerator_fleet import catalog, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan

ROOT = Path(__file__).parents[2]
C = catalog.load()
PROD = (ROOT / "stacks" / "fleets" / "prod.yaml").read_text(encoding="utf-8")
WHOLE: dict[str, Any] = {
    "fleet": "accel",
    "tags": {"owner": "a", "cost-center": "b"},
    "defaults": {"system": {"machine": "m6i.large"}},
    "sites": [
        {"name": "use2", "kind": "eks", "account": "111122223333", "region": "us-east-2", "cidr": "10.1.0.0/16"},
        {"name": "usc1", "kind": "gke", "project": "research-123", "region": "us-central1", "cidr": "10.20.0.0/14"},
        {"name": "byo", "kind": "existing", "kubeconfig": {"context": "lab"}},
    ],
    "volumes": [{"name": "shared", "site": "usc1", "size": "10TiB", "service": "filestore", "tier": "ZONAL"}],
    "pools": [
        {"name": "a", "site": ["use2"], "chip": "h100", "cards": 8, "capacity": {"mode": "spot"}},
        {"name": "t", "site": ["use2", "usc1"], "chip": "tpu-v5e", "topology": "4x4", "cards": 32},
        {"name": "m", "site": ["byo"], "chip": "mi300x", "cards": 8, "cards_per_node": 8, "node_selector": {"a": "b"}},
    ],
}
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 10**13),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.sampled_from(["h100", "4x4", "tpu-v5e"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["name", "zone", "x", "cards"]), v, max_size=3),
    max_leaves=6,
)


def examples(count: int) -> settings:
    """A busy machine is slow, which says nothing about the code."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def answer(path: Path) -> str:
    """The answer to a file; any exception but ours fails the test that called."""
    try:
        return f"{plan(spec.load(path), C).cards} cards"
    except FleetError as e:
        return str(e)


def test_a_file_cut_off_anywhere(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text((ROOT / "stacks/fleets/base.yaml").read_text(encoding="utf-8"))
    top = tmp_path / "prod.yaml"
    for end in range(0, len(PROD), 3):
        top.write_text(PROD[:end], encoding="utf-8")
        assert answer(top)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"\x00", b"a: [", b"? [a]\n: b\n", b"a: !!binary x\n", b"- - -"]
)
def test_files_that_are_no_spec(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    assert answer(path).startswith(f"{tmp_path.name}/x.yaml")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert "no such file" in answer(tmp_path / "x.yaml")
    assert "cannot be read" in answer(tmp_path)


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here] if here else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*here, key))
    return found


@given(st.sampled_from(places(WHOLE)), VALUES)
@examples(400)
def test_any_value_in_any_place(place: tuple[Any, ...], value: Any) -> None:
    data = copy.deepcopy(WHOLE)
    at: Any = data
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    text = ""
    try:
        plan(spec.parse(data), C)
    except FleetError as e:
        text = str(e)
    assert "Input should" not in text, "pydantic's own words"
    assert "Value error" not in text, "pydantic's own words"


@given(VALUES)
@examples(100)
def test_any_yaml(value: Any) -> None:
    text = yaml.safe_dump({"fleet": "accel", "pools": value})
    from accelerator_fleet.spec.read import parse

    assert parse(text, "x.yaml").plain() is not None
