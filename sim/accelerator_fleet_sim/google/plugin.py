"""`pulumi-resource-gcp` of the embedded datacentre."""

from __future__ import annotations

from pathlib import Path

from ..core.plugin import run
from ..core.rules import Rules
from .config import GoogleCloud

DATA = Path(__file__).parent / "data"


def main() -> None:
    """Entry point of the plugin executable."""
    run(GoogleCloud(Rules.load(DATA / "rules.json")))


if __name__ == "__main__":
    main()
