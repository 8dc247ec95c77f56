"""The Google provider's own settings: project, region, default labels; only `embedded-*` projects exist here."""

from __future__ import annotations

import os
from typing import Any

from ..aws.config import decoded
from ..core.nearest import nearest
from ..core.plan import Customize
from ..core.provider import Config
from ..core.rules import Rules
from ..core.values import Unknown
from .functions import PREFIX, TOKENS
from .plans import Plans

VERSION = "10.2.0"
ENVIRONMENT = {
    "project": ("GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"),
    "region": ("GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION"),
    "zone": ("GOOGLE_ZONE", "GCLOUD_ZONE", "CLOUDSDK_COMPUTE_ZONE"),
}
STRATEGIES = ("CREATION_ONLY", "PROACTIVE")


def setting(settings: dict[str, Any], name: str) -> Any:
    """A setting, or what the environment says, as the bridge looks it up."""
    if settings.get(name):
        return settings[name]
    return next((os.environ[v] for v in ENVIRONMENT[name] if os.environ.get(v)), None)


def project_reason(project: Any) -> str | None:
    """Why a provider with this project is refused; None when it is one of this datacentre's."""
    if isinstance(project, Unknown):
        return None
    if not project:
        return (
            f"project is not set: this is the embedded datacentre, whose projects are named {PREFIX}*; set it on the "
            "provider, so that the program can never reach a real project by mistake"
        )
    if str(project).startswith(PREFIX):
        return None
    return (
        f"this is the embedded datacentre, whose projects are named {PREFIX}*; project {project} belongs to the real "
        "Google provider: use a shell without `fleet env`, with the real provider installed"
    )


class GoogleCloud:
    """Google Cloud for the generic provider."""

    name = "gcp"
    version = VERSION

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def check_config(self, news: dict[str, Any], urn: str) -> list[tuple[str, str]]:
        """(property, reason) of everything wrong."""
        settings = decoded(news)
        failures = []
        for key in settings:
            known = key in self.rules.provider or key.endswith("CustomEndpoint")
            if not known and key not in ("version", "pluginDownloadURL"):
                near = nearest(key, self.rules.provider)
                hint = f"; the nearest is '{near}'" if near else ""
                failures.append((key, f"could not validate provider configuration: Invalid or unknown key{hint}"))
        reason = project_reason(setting(settings, "project"))
        if reason:
            failures.append(("project", reason))
        strategy = settings.get("pulumiAttributionLabelAdditionStrategy")
        if strategy is not None and not isinstance(strategy, Unknown) and strategy not in STRATEGIES:
            failures.append(("pulumiAttributionLabelAdditionStrategy",
                             f"expected one of {', '.join(STRATEGIES)}, got {strategy}"))  # fmt: skip
        return failures

    def configure(self, args: dict[str, Any]) -> Config:
        """Settings that passed the check."""
        settings = decoded(args)
        project = setting(settings, "project")
        reason = project_reason(project)
        if reason:
            raise ValueError(reason)
        region, zone = setting(settings, "region"), setting(settings, "zone")
        if not region and isinstance(zone, str):
            region = zone.rpartition("-")[0]
        labels = settings.get("defaultLabels") or {}
        attribution = settings.get("addPulumiAttributionLabel", True) not in (False, "false")
        return Config(
            region=region if isinstance(region, str) else "",
            default_tags={} if isinstance(labels, Unknown) else labels,
            ignored_tags={},
            scope={
                "project": "" if isinstance(project, Unknown) else project,
                "region": region if isinstance(region, str) else "",
                "zone": zone if isinstance(zone, str) else "",
                "attribution": attribution,
                "strategy": settings.get("pulumiAttributionLabelAdditionStrategy") or STRATEGIES[0],
                "labels": {} if isinstance(labels, Unknown) else labels,
            },
        )

    def all_tags(self, config: Config, inputs: dict[str, Any]) -> Any:
        """Google types have no `tagsAll`: labels are planned (plans.py)."""
        return {}

    def customize(self, config: Config) -> Customize | None:
        """What the provider's CustomizeDiff functions make of a plan."""
        return Plans(config.scope).customize

    def functions(self) -> set[str]:
        """Functions that are simulated."""
        return TOKENS
