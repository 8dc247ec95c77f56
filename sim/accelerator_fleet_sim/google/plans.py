"""What the Google provider's CustomizeDiff functions make of a plan: labels, project, and what they refuse.

Sources: terraform-provider-google-beta tpgresource/labels.go, resource_container_node_pool.go and the plan cases.
"""

from __future__ import annotations

from typing import Any

from ..core.plan import Refused, is_empty
from ..core.rules import TypeRules
from ..core.suppress import last
from ..core.values import UNKNOWN, Unknown, get_path, has_unknown, plain

ATTRIBUTION = "goog-pulumi-provisioned"
LABELS = {"gcp:container/cluster:Cluster": "resourceLabels"}
NODE_POOL = "gcp:container/nodePool:NodePool"
CLUSTER = "gcp:container/cluster:Cluster"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
NAT = "gcp:compute/routerNat:RouterNat"
FIREWALL = "gcp:compute/firewall:Firewall"


class Plans:
    """One configured provider's plans. `scope` has project, region, labels, attribution and strategy."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope

    def customize(self, rules: TypeRules, old: dict[str, Any], planned: dict[str, Any], news: dict[str, Any]) -> None:
        """Change a planned state as the provider does; raises Refused. `old` is empty for a create."""
        given = plain(news)
        if "project" in rules.inputs and given.get("project") is None and rules.inputs["project"].get("computed"):
            planned["project"] = old.get("project") or self.scope.get("project") or UNKNOWN
        if "deletionPolicy" in rules.inputs and given.get("deletionPolicy") is None:
            planned["deletionPolicy"] = "DELETE"
        if "effectiveLabels" in rules.outputs:
            self._labels(rules, old, planned, given)
        if rules.token == NODE_POOL:
            _additional_networks(old, planned, given)
        elif rules.token == SUBNETWORK:
            if given.get("sendSecondaryIpRangeIfEmpty") is True and not given.get("secondaryIpRanges"):
                planned["secondaryIpRanges"] = []
        elif rules.token == CLUSTER:
            _refuse_cluster(old, given)
        elif rules.token == FIREWALL:
            _refuse_firewall(old, given)
        elif rules.token == ROUTER:
            _refuse_router(given)
        elif rules.token == NAT:
            _refuse_draining(old, given)
        if rules.token in DISKS:
            _refuse_disks(given)

    def _labels(self, rules: TypeRules, old: dict[str, Any], planned: dict[str, Any], given: dict[str, Any]) -> None:
        """SetLabelsDiff: the program's labels over the provider's, and the attribution label from creation on."""
        labels = given.get(LABELS.get(rules.token, "labels"))
        if has_unknown(labels) or isinstance(labels, Unknown):
            planned["pulumiLabels"] = planned["effectiveLabels"] = UNKNOWN
            return
        made = {k: str(v) for k, v in (self.scope.get("labels") or {}).items()}
        before = plain(old.get("effectiveLabels")) or {}
        if self.scope.get("attribution", True) and (
            ATTRIBUTION in before or not old or self.scope.get("strategy") == "PROACTIVE"
        ):
            made[ATTRIBUTION] = "true"
        made |= {k: str(v) for k, v in (labels or {}).items()}
        dropped = [k for k in plain(old.get("pulumiLabels")) or {} if k not in made]
        planned["pulumiLabels"] = made
        planned["effectiveLabels"] = {k: v for k, v in before.items() if k not in dropped} | made


DISKS = ("gcp:compute/instanceTemplate:InstanceTemplate",)


def _additional_networks(old: dict[str, Any], planned: dict[str, Any], given: dict[str, Any]) -> None:
    """nodePoolAcceleratorNetworkProfileCustomizeDiff: networks that the program does not list are cleared."""
    if get_path(given, "networkConfig.acceleratorNetworkProfile"):
        return
    if not get_path(old, "networkConfig.additionalNodeNetworkConfigs"):
        return
    if not get_path(given, "networkConfig.additionalNodeNetworkConfigs"):
        config = planned.get("networkConfig")
        if isinstance(config, dict):
            planned["networkConfig"] = {**config, "additionalNodeNetworkConfigs": []}


def _refuse_cluster(old: dict[str, Any], given: dict[str, Any]) -> None:
    if not old and given.get("nodeVersion") and not isinstance(given["nodeVersion"], Unknown):
        if given.get("removeDefaultNodePool"):
            raise Refused("node_version can only be specified if remove_default_node_pool is not true")
        master = given.get("minMasterVersion")
        if master is None:
            raise Refused("node_version and min_master_version must be set to equivalent values on create")
        if not isinstance(master, Unknown) and master != given["nodeVersion"]:
            raise Refused("node_version and min_master_version must be set to equivalent values on create")
    if given.get("skipNodePoolRefresh") is True and not is_empty(given.get("nodePools")):
        raise Refused("skip_node_pool_refresh cannot be set with node_pool blocks in the cluster")
    settings = get_path(given, "clusterAutoscaling.autoProvisioningDefaults.upgradeSettings")
    if isinstance(settings, dict):
        surge = any(settings.get(k) is not None for k in ("maxSurge", "maxUnavailable"))
        if settings.get("strategy") == "SURGE" and settings.get("blueGreenSettings"):
            raise Refused("Blue-green upgrade settings may not be used when surge strategy is enabled")
        if settings.get("strategy") == "BLUE_GREEN" and surge:
            raise Refused("Surge upgrade settings max_surge/max_unavailable can only be used when strategy is SURGE")


def _refuse_firewall(old: dict[str, Any], given: dict[str, Any]) -> None:
    if given.get("logConfig") and given.get("enableLogging") is not True:
        raise Refused("log_config cannot be defined when enable_logging is false")
    if given.get("direction") in (None, "INGRESS") and not old:
        keys = ("sourceTags", "sourceRanges", "sourceServiceAccounts")
        if all(is_empty(given.get(k)) for k in keys):
            raise Refused("one of source_tags, source_ranges, or source_service_accounts must be defined")


def _refuse_router(given: dict[str, Any]) -> None:
    """resourceComputeRouterCustomDiff."""
    if get_path(given, "bgp.advertiseMode") not in (None, "DEFAULT"):
        return
    for name, words in (("advertisedGroups", "advertised_groups"), ("advertisedIpRanges", "advertised_ip_ranges")):
        if not is_empty(get_path(given, f"bgp.{name}")):
            raise Refused(f"Error in bgp: {words} cannot be specified when using advertise_mode DEFAULT")


def _refuse_draining(old: dict[str, Any], given: dict[str, Any]) -> None:
    """resourceComputeRouterNatDrainNatIpsCustomDiff: an address is drained that was in use and is no longer."""
    if has_unknown(given.get("drainNatIps")) or has_unknown(given.get("natIps")):
        return
    names = {key: {last(str(v)) for v in given.get(key) or []} for key in ("drainNatIps", "natIps")}
    before = {key: {last(str(v)) for v in old.get(key) or []} for key in ("drainNatIps", "natIps")}
    added = sorted(names["drainNatIps"] - before["drainNatIps"])
    if added and not old:
        raise Refused(f"New RouterNat cannot have drain_nat_ips, got values {added}")
    for name in added:
        if name not in before["natIps"]:
            raise Refused(f'drain_nat_ip "{name}" was not previously set in nat_ips {sorted(before["natIps"])}')
        if name in names["natIps"]:
            raise Refused(f'drain_nat_ip "{name}" cannot be drained if still set in nat_ips {sorted(names["natIps"])}')


def _refuse_disks(given: dict[str, Any]) -> None:
    for disk in given.get("disks") or []:
        if isinstance(disk, dict) and disk.get("type") == "SCRATCH" and disk.get("diskType") == "local-ssd":
            size = disk.get("diskSizeGb")
            if disk.get("interface") in (None, "SCSI", "NVME") and size not in (None, 375, 3000, 6000):
                raise Refused(f"SCRATCH disks must be exactly 375, 3000 or 6000 GB, disk is {size}")
