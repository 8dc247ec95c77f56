"""What one cloud adds to the generic provider, and a provider's settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from .plan import Customize
from .rules import Rules


@dataclass
class Config:
    """A configured provider: `scope` (account, region…) goes with every call to the cloud."""

    region: str = ""
    default_tags: dict[str, Any] = field(default_factory=dict)
    ignored_tags: dict[str, list[str]] = field(default_factory=dict)  # keys, keyPrefixes
    scope: dict[str, Any] = field(default_factory=dict)


class Cloud(Protocol):
    """What one cloud adds to the generic provider."""

    name: str
    version: str
    rules: Rules

    def check_config(self, news: dict[str, Any], urn: str) -> list[tuple[str, str]]:
        """(property, reason) of everything wrong with a provider's settings."""

    def configure(self, args: dict[str, Any]) -> Config:
        """Settings that passed; ValueError with the reason when they cannot be used."""

    def all_tags(self, config: Config, inputs: dict[str, Any]) -> Any:
        """The value of the all-tags output; UNKNOWN when tags are not known yet."""

    def customize(self, config: Config) -> Customize | None:
        """What the provider's own code makes of a plan; None when nothing."""

    def functions(self) -> set[str]:
        """Tokens that Invoke answers."""
