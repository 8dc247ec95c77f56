"""A machine is lost: its node goes at once, and the cloud starts another within the pool's rules."""

from __future__ import annotations

import datetime as dt

from accelerator_fleet_sim.google.scope import NODE_POOL
from accelerator_fleet_sim.nodeloss import REPLACED_S, bring_back, lose
from tests.sim.account import Account
from tests.sim.groups import P5, Net, nodes
from tests.sim.project import Project, gpus


def test_an_auto_scaling_group_replaces_what_ended(account: Account, net: Net, project: Project) -> None:
    account.cluster(net)
    account.node_group(net, "c", nodes=4, **P5)
    before = {n.name for n in nodes(account)}
    victim = sorted(before)[1]
    done = lose(account.aws, project.control, victim)
    assert done is not None
    assert {n.name for n in nodes(account)} == before - {victim}
    until = dt.datetime.fromtimestamp(account.clock.now() + REPLACED_S + 1, dt.UTC)
    account.pass_time(until.isoformat())
    after = {n.name for n in nodes(account)}
    assert len(after) == 4
    assert before - after == {victim}  # its successor has another name


def test_a_managed_instance_group_makes_the_same_machine_again(project: Project, account: Account) -> None:
    pool = project.pool(project.cluster(), "h100", "a3-megagpu-8g", 2, nodeConfig=gpus("nvidia-h100-mega-80gb", 8))
    names = {n.name for n in project.nodes(pool)}
    victim = min(names)
    assert lose(account.aws, project.control, victim) is not None
    assert {n.name for n in project.nodes(pool)} == names - {victim}
    for wait, there in ((REPLACED_S - 5, names - {victim}), (10, names)):
        project.clock._base += wait
        found = project.scope.find(NODE_POOL, pool["id"])
        assert found is not None
        behaviour = project.control.behaviours[NODE_POOL]
        bring_back(project.scope, found, behaviour)  # type: ignore[arg-type]
        assert {n.name for n in project.nodes(pool)} == there


def test_no_node_no_loss(account: Account, project: Project) -> None:
    assert lose(account.aws, project.control, "nobody") is None
