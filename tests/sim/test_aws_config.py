"""The provider's own settings without an engine: accounts, misspelt keys, tags."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.aws.config import AwsCloud, account_reason
from accelerator_fleet_sim.core.values import UNKNOWN, Secret
from tests.sim.account import rules

GOOD = {"region": "us-east-2", "allowedAccountIds": '["000000000000"]'}


@pytest.fixture(scope="module")
def cloud() -> AwsCloud:
    return AwsCloud(rules())


@pytest.mark.parametrize("accounts", [[], ["1"], ["000000000000", "1"], None])
def test_other_accounts_are_refused(accounts: Any) -> None:
    reason = account_reason(accounts)
    assert reason is not None
    assert "embedded datacentre, whose only account is 000000000000" in reason


def test_settings_arrive_as_text(cloud: AwsCloud) -> None:
    assert cloud.check_config(GOOD, "urn") == []
    config = cloud.configure({**GOOD, "defaultTags": '{"tags": {"a": "b"}}'})
    assert (config.region, config.default_tags) == ("us-east-2", {"a": "b"})
    assert config.scope == {"account": "000000000000", "region": "us-east-2"}


def test_a_misspelt_setting(cloud: AwsCloud) -> None:
    [(path, reason)] = cloud.check_config({**GOOD, "defaultTag": "{}"}, "urn")
    assert path == "defaultTag"
    assert reason.endswith("the nearest is 'defaultTags'")


@pytest.mark.parametrize(
    ("setting", "value", "text"),
    [
        ("assumeRoles", '[{"roleArn": "arn:aws:iam::123456789012:role/r"}]', "is not simulated"),
        ("assumeRoleWithWebIdentity", '{"roleArn": "arn:aws:iam::123456789012:role/r"}', "is not simulated"),
        # terraform-provider-aws internal/provider/provider.go: ConflictsWith
        ("forbiddenAccountIds", '["123456789012"]', "conflicts with allowed_account_ids"),
    ],
)
def test_somebody_else_is_refused_and_not_ignored(cloud: AwsCloud, setting: str, value: str, text: str) -> None:
    [(path, reason)] = cloud.check_config({**GOOD, setting: value}, "urn")
    assert path == setting
    assert text in reason


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (None, {"a": "b"}),
        ({"a": "own", "c": "d"}, {"a": "own", "c": "d"}),
        ({"x": UNKNOWN}, UNKNOWN),
        ({"x": Secret("y")}, Secret({"a": "b", "x": "y"})),
        ({"kubernetes.io/cluster/c": "owned", "mine": "1"}, {"a": "b", "mine": "1"}),
    ],
)
def test_all_tags(cloud: AwsCloud, tags: Any, expected: Any) -> None:
    ignored = '{"keyPrefixes": ["kubernetes.io/"]}'
    config = cloud.configure({**GOOD, "defaultTags": '{"tags": {"a": "b"}}', "ignoreTags": ignored})
    assert cloud.all_tags(config, {} if tags is None else {"tags": tags}) == expected
