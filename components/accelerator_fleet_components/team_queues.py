"""Kueue objects of teams: a cohort a site, a ClusterQueue and a LocalQueue per team, three priorities.

https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/: what one queue of a cohort leaves idle the others may borrow;
a queue that wants its own back preempts those that borrowed.
"""

from __future__ import annotations

from typing import Final

import pulumi

from accelerator_fleet.jobs.priorities import PRIORITIES
from accelerator_fleet.plan.model import PoolPlan, SitePlan
from accelerator_fleet.plan.team import TeamPlan

# Nobody's own cards stay idle, nobody keeps what is another's: a queue takes back what is lent, whatever runs there.
PREEMPTION: Final = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
# Flavours stand in the order reserved, on demand, spot. A job takes the first in which it fits or may borrow, and goes
# on to the next before it preempts anyone.
FUNGIBILITY: Final = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}


def sharing(site: SitePlan) -> dict[str, object]:
    """What a ClusterQueue of a cohort has beside its groups."""
    return {"cohortName": site.queue, "preemption": PREEMPTION, "flavorFungibility": FUNGIBILITY}


def left_over(pools: tuple[PoolPlan, ...], teams: tuple[TeamPlan, ...]) -> dict[str, int]:
    """Pool -> cards that are no team's: those of the site's own queue, which lends them."""
    return {p.name: p.max_nodes * p.cards_per_node - sum(t.quotas.get(p.name, 0) for t in teams) for p in pools}


def team_spec(
    site: SitePlan, team: TeamPlan, groups: list[dict[str, object]], strategy: dict[str, object]
) -> dict[str, object]:
    """The ClusterQueue of one team. `weight` decides who gets idle cards that several want."""
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": site.jobs_namespace}},
        **sharing(site),
        "fairSharing": {"weight": f"{team.weight:g}"},
        "resourceGroups": groups,
        **strategy,
    }


def priorities(name: str, opts: pulumi.ResourceOptions) -> None:
    """The priorities that jobs name. A class has its value beside `spec`, which the SDK's CustomResource has not."""
    for word, (value, about) in PRIORITIES.items():
        props = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": word},
            "value": value,
            "description": about,
        }
        pulumi.CustomResource(
            "kubernetes:kueue.x-k8s.io/v1beta2:WorkloadPriorityClass", f"{name}-priority-{word}", props, opts
        )
