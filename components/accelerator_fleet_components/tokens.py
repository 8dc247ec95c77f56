"""The type tokens of the components; they last for ever (they are part of every URN)."""

from typing import Final

PACKAGE: Final = "accelerator-fleet"


def token(name: str) -> str:
    """The type token of a component class, `accelerator-fleet:index:Name`."""
    return f"{PACKAGE}:index:{name}"
