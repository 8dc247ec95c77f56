"""The spec reads what people write: extends, merging by name, where things stand, and the JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from accelerator_fleet import spec
from accelerator_fleet.cli import schema
from accelerator_fleet.errors import FleetError, nearest, unknown

ROOT = Path(__file__).parents[2]
FLEETS = ROOT / "stacks" / "fleets"
ENVS = ("dev", "single", "staging", "prod", "prod-embedded")

SITE = 'sites:\n  - {name: use2, kind: eks, account: "111122223333", region: us-east-2, cidr: 10.16.0.0/16}\n'
BASE = f"fleet: accel\ntags: {{owner: a, cost-center: b}}\n{SITE}"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("env", ENVS)
def test_the_environment_is_the_stem_of_the_file(env: str) -> None:
    assert spec.load(FLEETS / f"{env}.yaml").env == env


def test_prod_embedded_is_prod_with_another_account() -> None:
    prod, embedded = (spec.load(FLEETS / f"{e}.yaml").model_dump() for e in ("prod", "prod-embedded"))
    for site in (*prod["sites"], *embedded["sites"]):
        site["account"] = ""
    assert prod == embedded
    written = yaml.safe_load((FLEETS / "prod-embedded.yaml").read_text(encoding="utf-8"))
    assert written == {"extends": "prod", "sites": [{"name": "use2", "account": "000000000000"}]}


def test_maps_merge_and_scalars_replace(tmp_path: Path) -> None:
    write(tmp_path, base=BASE + "defaults: {disk: 600, runtime: jax}\n", top="extends: base\ndefaults: {disk: 700}\n")
    read = spec.load(tmp_path / "top.yaml")
    assert (read.defaults.disk, read.defaults.runtime) == (700, "jax")


def test_lists_of_named_things_merge_by_name_in_the_order_of_the_extended_file(tmp_path: Path) -> None:
    pools = "pools:\n  - {name: a, site: use2, chip: h100, cards: 8}\n  - {name: b, site: use2, chip: h100, cards: 8}\n"
    more = "pools:\n  - {name: c, site: use2, chip: a100, cards: 8}\n  - {name: b, cards: 16}\n"
    write(tmp_path, base=BASE + pools, top="extends: base\n" + more)
    read = spec.load(tmp_path / "top.yaml")
    assert [(p.name, p.chip, p.cards) for p in read.pools] == [("a", "h100", 8), ("b", "h100", 16), ("c", "a100", 8)]


def test_other_lists_are_replaced(tmp_path: Path) -> None:
    pool = "pools:\n  - {name: a, site: use2, chip: h100, cards: 8, taints: [{key: x}, {key: y}]}\n"
    write(tmp_path, base=BASE + pool, top="extends: base\npools:\n  - {name: a, taints: [{key: z}]}\n")
    assert [t.key for t in spec.load(tmp_path / "top.yaml").pools[0].taints] == ["z"]


def test_null_takes_an_inherited_value_away(tmp_path: Path) -> None:
    pool = "pools:\n  - {name: a, site: use2, chip: h100, cards: 8, zone: us-east-2b}\n"
    write(tmp_path, base=BASE + pool, top="extends: base\npools:\n  - {name: a, zone: null}\n")
    assert spec.load(tmp_path / "top.yaml").pools[0].zone is None


def test_a_chain_of_three(tmp_path: Path) -> None:
    write(tmp_path, one=BASE, two="extends: one\nfleet: two\n", three="extends: two\ntags: {team: c}\n")
    read = spec.load(tmp_path / "three.yaml")
    assert (read.fleet, dict(read.tags)) == ("two", {"owner": "a", "cost-center": "b", "team": "c"})


def test_an_error_names_the_file_and_line_where_the_value_was_written(tmp_path: Path) -> None:
    pool = "pools:\n  - name: a\n    site: use2\n    chip: h100\n    cards: 0\n"
    more = "pools:\n  - {name: b, site: use2, chip: h100, cards: 8}\n  - {name: a, runtime: jax}\n"
    write(tmp_path, base=BASE + pool, top="extends: base\n" + more)
    with pytest.raises(FleetError) as found:
        spec.load(tmp_path / "top.yaml")
    (error,) = found.value.errors
    assert (Path(error.file or "").name, error.line, error.path) == ("base.yaml", 9, "pools[0].cards")


def test_plain_data_is_checked_like_a_file() -> None:
    data = yaml.safe_load(BASE) | {"pools": [{"name": "a", "site": "use2", "chip": "h100", "cards": 8, "card": 1}]}
    with pytest.raises(FleetError, match=r"^pools\[0\]\.card: unknown key 'card'; nearest: cards"):
        spec.parse(data)
    del data["pools"][0]["card"]
    assert spec.parse(data, env="staging").env == "staging"


@pytest.mark.parametrize(
    "text",
    ["sha256 7f3a91c2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f", "https://example.com/teams/research"],
)
def test_digests_and_addresses_are_no_secrets(tmp_path: Path, text: str) -> None:
    write(tmp_path, top=BASE + f"allow: {{}}\ndefaults: {{}}\n# {text}\n")
    data = yaml.safe_load(BASE)
    data["tags"]["note"] = text
    spec.parse(data)
    spec.load(tmp_path / "top.yaml")


def test_the_committed_schema_is_current() -> None:
    committed = (ROOT / "docs" / "fleet.schema.json").read_text(encoding="utf-8")
    assert committed == schema.render(), "run: fleet schema > docs/fleet.schema.json"


@pytest.mark.parametrize("path", sorted(FLEETS.glob("*.yaml")), ids=lambda p: p.stem)
def test_editors_find_the_schema_and_every_file_fits_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first == "# yaml-language-server: $schema=../../docs/fleet.schema.json"
    assert (path.parent / first.partition("=")[2]).resolve() == ROOT / "docs" / "fleet.schema.json"
    jsonschema.Draft202012Validator(schema.schema()).validate(yaml.safe_load(text))


def test_the_schema_refuses_an_unknown_key() -> None:
    validator = jsonschema.Draft202012Validator(schema.schema())
    assert not validator.is_valid({"pools": [{"name": "a", "card": 8}]})
    assert not validator.is_valid(json.loads('{"pool": []}'))


def test_nearest_words() -> None:
    assert nearest("H10", ["h100", "h200", "a100"]) == ["h100"]
    assert unknown("chip", "zzz", ["h100"]) == "unknown chip 'zzz'; known: h100"
