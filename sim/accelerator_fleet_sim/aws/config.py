"""The AWS provider's own settings: region, the one account that exists here, default tags."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from ..core.nearest import nearest
from ..core.plan import Customize
from ..core.provider import Config
from ..core.rules import Rules
from ..core.values import UNKNOWN, Secret, Unknown, has_secret, has_unknown, plain
from .functions import ACCOUNT, TOKENS
from .plans import customize

VERSION = "7.51.1"


def decoded(news: dict[str, Any]) -> dict[str, Any]:
    """Settings with their JSON strings read: the SDK sends lists and objects as text."""
    out = {}
    for key, value in news.items():
        if isinstance(value, str) and value[:1] in ("[", "{"):
            with contextlib.suppress(ValueError):
                value = json.loads(value)
        out[key] = value
    return out


def account_reason(accounts: Any) -> str | None:
    """Why a provider with these allowed accounts is refused; None when it is this datacentre's."""
    if isinstance(accounts, Unknown) or accounts == [ACCOUNT]:
        return None
    if not accounts:
        return (
            f"allowedAccountIds is not set: this is the embedded datacentre, whose only account is {ACCOUNT}; "
            f'set it to ["{ACCOUNT}"], so that the program can never reach a real account by mistake'
        )
    others = ", ".join(str(a) for a in accounts if a != ACCOUNT)
    return (
        f"this is the embedded datacentre, whose only account is {ACCOUNT}; account {others} belongs to the real AWS "
        "provider: use a shell without `fleet env`, with the real provider installed"
    )


def other_identities(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Settings that ask for somebody else: here is one account with one user, and what is ignored would be a lie."""
    failures = []
    for key in ("assumeRoles", "assumeRoleWithWebIdentity"):
        if settings.get(key):
            failures.append((key, f"{key} is not simulated by the embedded datacentre: leave it to the real account"))
    if settings.get("forbiddenAccountIds") and settings.get("allowedAccountIds"):  # ConflictsWith [tf: provider.go]
        failures.append(("forbiddenAccountIds", '"forbidden_account_ids": conflicts with allowed_account_ids'))
    return failures


class AwsCloud:
    """AWS for the generic provider."""

    name = "aws"
    version = VERSION

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.settings = rules.provider

    def check_config(self, news: dict[str, Any], urn: str) -> list[tuple[str, str]]:
        """(property, reason) of everything wrong."""
        settings = decoded(news)
        failures = []
        for key in settings:
            if key not in self.settings and key not in ("version", "pluginDownloadURL"):
                near = nearest(key, self.settings)
                hint = f"; the nearest is '{near}'" if near else ""
                failures.append((key, f"could not validate provider configuration: Invalid or unknown key{hint}"))
        if not self._region(settings):
            failures.append(("region", "Missing region configuration: set `region` on the provider or aws:region"))
        reason = account_reason(settings.get("allowedAccountIds"))
        if reason:
            failures.append(("allowedAccountIds", reason))
        return failures + other_identities(settings)

    @staticmethod
    def _region(settings: dict[str, Any]) -> Any:
        return settings.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")

    def configure(self, args: dict[str, Any]) -> Config:
        """Settings that passed the check."""
        settings = decoded(args)
        reason = account_reason(settings.get("allowedAccountIds"))
        if reason:
            raise ValueError(reason)
        region = self._region(settings)
        if not region:
            raise ValueError("Missing region configuration: set `region` on the provider or aws:region")
        if isinstance(region, Unknown):
            region = ""
        tags = settings.get("defaultTags") or {}
        default = {} if isinstance(tags, Unknown) else tags.get("tags") or {}
        ignored = settings.get("ignoreTags")
        return Config(
            region, default, ignored if isinstance(ignored, dict) else {}, {"account": ACCOUNT, "region": region}
        )

    def all_tags(self, config: Config, inputs: dict[str, Any]) -> Any:
        """Default tags under the resource's own; unknown when one of them is, secret when one of them is."""
        tags = inputs.get("tags")
        if has_unknown([tags, config.default_tags]):
            return UNKNOWN
        own = plain(tags) if isinstance(plain(tags), dict) else {}
        merged = {k: v if isinstance(v, str) else json.dumps(v) for k, v in {**config.default_tags, **own}.items()}
        exact, prefixes = config.ignored_tags.get("keys", []), tuple(config.ignored_tags.get("keyPrefixes", []))
        kept = {k: v for k, v in merged.items() if k not in exact and not k.startswith(prefixes or "\0")}
        return Secret(kept) if has_secret(tags) else kept

    def customize(self, config: Config) -> Customize | None:
        """What the provider's CustomizeDiff functions refuse; tags come in with Check, the rest is data."""
        return customize

    def functions(self) -> set[str]:
        """Functions that are simulated."""
        return TOKENS
