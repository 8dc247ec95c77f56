"""What the AWS provider's CustomizeDiff functions refuse, beyond the rules that hold at any time (rules.json)."""

from __future__ import annotations

from typing import Any

from ..core.plan import Refused, is_empty
from ..core.rules import TypeRules
from ..core.values import Unknown, plain

PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
REPOSITORY = "aws:ecr/repository:Repository"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"


def customize(rules: TypeRules, old: dict[str, Any], planned: dict[str, Any], news: dict[str, Any]) -> None:
    """Raises Refused as the provider does. `old` is empty for a create."""
    given = plain(news)
    if rules.token == PLACEMENT_GROUP and not old:
        _refuse_placement_group(given)
    elif rules.token == LUSTRE:
        _refuse_lustre(given)
    elif rules.token == REPOSITORY and not is_empty(given.get("imageTagMutabilityExclusionFilters")):
        mutability = given.get("imageTagMutability")
        if not isinstance(mutability, Unknown) and not str(mutability).endswith("_WITH_EXCLUSION"):
            raise Refused(
                "image_tag_mutability_exclusion_filter can only be used when image_tag_mutability is set to "
                "IMMUTABLE_WITH_EXCLUSION or MUTABLE_WITH_EXCLUSION"
            )


def _refuse_placement_group(given: dict[str, Any]) -> None:
    """resourcePlacementGroupCustomizeDiff: of a creation alone; the state of an older group may have anything."""
    for name, words, strategy in (
        ("partitionCount", "partition_count", "partition"),
        ("spreadLevel", "spread_level", "spread"),
    ):
        if not is_empty(given.get(name)) and given.get("strategy") not in (strategy, Unknown()):
            raise Refused(f'{words} must not be set when strategy = "{given.get("strategy")}"')


def _refuse_lustre(given: dict[str, Any]) -> None:
    """resourceLustreFileSystemDataReadCacheConfigurationCustomizeDiff."""
    if given.get("storageType") != "INTELLIGENT_TIERING":
        return
    throughput = given.get("throughputCapacity")
    if is_empty(throughput):
        raise Refused(
            "Validation Error: ThroughputCapacity is a required parameter for Lustre file systems with StorageType "
            "INTELLIGENT_TIERING"
        )
    cache = given.get("dataReadCacheConfiguration")
    size = cache.get("size") if isinstance(cache, dict) and cache.get("sizingMode") == "USER_PROVISIONED" else None
    if isinstance(size, (int, float)) and isinstance(throughput, (int, float)) and size > 0:
        low, high = 32 * (int(throughput) // 4000), 131072 * (int(throughput) // 4000)
        if not low <= size <= high:
            raise Refused(
                f"File systems with throughput capacity of {throughput} MB/s support a minimum read cache size of "
                f"{low} GiB and maximum read cache size of {high} GiB"
            )
