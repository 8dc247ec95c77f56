"""Recovery without clouds: what is matched with what, and what is written into the state."""

from __future__ import annotations

import ast
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import accelerator_fleet_recover
from accelerator_fleet_recover import compose, match, report
from accelerator_fleet_recover.model import Item, Orphan, Read, Wanted

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
PROVIDER = "urn:pulumi:t::p::pulumi:providers:aws::use2"
ROLE, ATTACHMENT = "aws:iam/role:Role", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"


def wanted(kind: str, name: str, inputs: dict[str, Any], **more: Any) -> Wanted:
    urn = f"urn:pulumi:t::p::{kind}::{name}"
    return Wanted({"urn": urn, "type": kind, "custom": True, "inputs": inputs, "provider": f"{PROVIDER}::{UNKNOWN}",
                   **more})  # fmt: skip


def item(kind: str, imports: str, **more: Any) -> Item:
    return Item(kind, imports, provider=PROVIDER, **more)


def test_nothing_is_imported_from_the_embedded_datacentre() -> None:
    folder = Path(accelerator_fleet_recover.__file__).parent
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [n for n in names if n.startswith("accelerator_fleet_sim")], path
        assert "cloud.db" not in path.read_text(), path


def test_running_it_loads_nothing_of_the_embedded_datacentre() -> None:
    program = (
        "import sys, pkgutil, importlib, accelerator_fleet_recover as r\n"
        "for m in pkgutil.walk_packages(r.__path__, 'accelerator_fleet_recover.'): importlib.import_module(m.name)\n"
        "print([n for n in sys.modules if n.startswith('accelerator_fleet_sim')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_drawn_name_is_found_by_its_stem_only() -> None:
    role = wanted(ROLE, "nodes", {"__defaults": ["name", "path"], "name": "nodes-0123abc", "path": "/"})
    found = [item(ROLE, n, name=n) for n in ("nodes", "nodes-extra-0123abc", "nodes-77fed12")]
    chosen = match.choose(role, found, match.Known())
    assert chosen is not None
    assert chosen.imports == "nodes-77fed12"
    assert match.drawn_names(role, chosen) == {"name": "nodes-77fed12"}


def test_what_joins_others_is_found_by_what_it_joins() -> None:
    """The preview's own drawn name of the role is not the role's."""
    role = wanted(ROLE, "nodes", {"__defaults": ["name"], "name": "nodes-0123abc"})
    policy = wanted(ATTACHMENT, "a", {"role": "nodes-0123abc", "policyArn": "arn:p"})
    known = match.Known()
    known.found(role, item(ROLE, "nodes-77fed12", name="nodes-77fed12"))
    right = item(ATTACHMENT, "nodes-77fed12/arn:p", keys={"role": "nodes-77fed12", "policyArn": "arn:p"})
    other = item(ATTACHMENT, "nodes-0000000/arn:p", keys={"role": "nodes-0000000", "policyArn": "arn:p"})
    assert match.choose(policy, [other, right], known) is right
    assert match.choose(policy, [other], known) is None


def test_of_two_alike_the_one_of_the_interrupted_create_is_taken_else_the_oldest() -> None:
    role = wanted(ROLE, "nodes", {"__defaults": ["name"], "name": "nodes-0123abc"})
    now = datetime.now(UTC)
    old = item(ROLE, "nodes-aaaaaaa", name="nodes-aaaaaaa", created=now - timedelta(days=2))
    new = item(ROLE, "nodes-bbbbbbb", name="nodes-bbbbbbb", created=now)
    assert match.choose(role, [new, old], match.Known()) is old
    pending = match.Known(pending={role.urn: {"name": "nodes-bbbbbbb"}})
    assert match.choose(role, [new, old], pending) is new


def test_another_providers_things_are_not_ours() -> None:
    role = wanted(ROLE, "nodes", {"name": "nodes"})
    assert match.choose(role, [Item(ROLE, "nodes", name="nodes", provider="elsewhere")], match.Known()) is None


def test_an_entry_has_the_programs_inputs_and_the_clouds_outputs() -> None:
    cluster = wanted(
        "aws:eks/cluster:Cluster",
        "main",
        {"__defaults": ["name"], "name": "main-0123abc", "roleArn": UNKNOWN, "bootstrapSelfManagedAddons": False,
         "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
         "vpcConfig": {"subnetIds": [UNKNOWN, "s-2"]}},
    )  # fmt: skip
    read = Read(
        "main-77fed12",
        {"name": "main-77fed12"},
        {"name": "main-77fed12", "roleArn": "arn:r", "endpoint": "https://e",
         "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
         "vpcConfig": {"subnetIds": ["s-1", "s-2"], "vpcId": "v"}, "key": "[secret]"},
        {"roleArn": "arn:r", "vpcConfig": {"subnetIds": ["s-1", "s-2"]}},
    )  # fmt: skip
    made = compose.entry(cluster, read, {"name": "main-77fed12"}, {PROVIDER: "id-of-the-provider"})
    assert made["id"] == "main-77fed12"
    assert made["provider"] == f"{PROVIDER}::id-of-the-provider"
    assert made["inputs"] == {
        "__defaults": ["name"], "name": "main-77fed12", "roleArn": "arn:r", "bootstrapSelfManagedAddons": False,
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        "vpcConfig": {"subnetIds": ["s-1", "s-2"]},
    }  # fmt: skip
    assert made["outputs"]["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True
    assert made["outputs"]["bootstrapSelfManagedAddons"] is False  # no API returns it
    assert made["outputs"]["endpoint"] == "https://e"
    assert "key" not in made["outputs"]


def test_an_object_keeps_its_field_manager_and_shows_what_differs() -> None:
    queue = wanted(
        "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", "q",
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "fleet"},
         "spec": {"quota": "16", "stop": "None"}},
    )  # fmt: skip
    fields = [{"manager": "kueue", "operation": "Update"}, {"manager": "pulumi-kubernetes-1a", "operation": "Apply"}]
    live = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "__fieldManager": "pulumi-kubernetes-new",
            "metadata": {"name": "fleet", "uid": "u", "managedFields": fields},
            "spec": {"quota": "24", "stop": "None", "default": True}}  # fmt: skip
    made = compose.entry(queue, Read("fleet", {}, live, dict(queue.inputs)), {}, {})
    assert made["outputs"]["__fieldManager"] == "pulumi-kubernetes-1a"
    assert made["inputs"]["spec"] == {"quota": "24", "stop": "None"}  # somebody's 24, to be seen in the next preview
    assert made["outputs"]["__inputs"] == made["inputs"]


def test_entries_follow_what_they_need_and_name_nothing_that_is_not_there() -> None:
    parent, child = {"urn": "c", "type": "x"}, {"urn": "b", "type": "x", "parent": "c", "dependencies": ["a", "gone"]}
    first = {"urn": "a", "type": "x", "deletedWith": "gone"}
    made = compose.added({"deployment": {"resources": [{"urn": "s"}]}}, [child, first, parent])
    resources = made["deployment"]["resources"]
    assert resources[0]["urn"] == "s"
    assert resources[-1] == {"urn": "b", "type": "x", "parent": "c", "dependencies": ["a"]}
    assert "deletedWith" not in next(r for r in resources if r["urn"] == "a")


def test_the_import_line_is_quoted() -> None:
    one = wanted(ROLE, "nodes", {}, parent="urn:pulumi:t::p::a$b::boss")
    line = report.import_line(one, item(ROLE, "nodes-1"), "t")
    assert line == (
        f"pulumi import {ROLE} nodes nodes-1 --parent 'boss=urn:pulumi:t::p::a$b::boss' "
        f"--provider use2={PROVIDER} --stack t"
    )


def test_a_volume_that_nothing_asks_for_is_left_alone() -> None:
    files = item("aws:efs/fileSystem:FileSystem", "fs-1", note="holds data")
    assert "left alone" in report.orphan_lines(Orphan(files, None), "t")[1]


def test_ages_in_words() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    made = [now - timedelta(minutes=3), now - timedelta(hours=5), now - timedelta(days=12), None]
    assert [report.age(item(ROLE, "r", created=m), now) for m in made] == ["3 min", "5 h", "12 d", "?"]
