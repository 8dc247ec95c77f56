"""Where a project's run-time files lie: everything under `.fleet/`, nothing outside it."""

import os
from dataclasses import dataclass
from pathlib import Path

from accelerator_fleet_engine.errors import EngineError

PROJECT = "accelerator-fleet"  # the name in Pulumi.yaml; file backends keep stacks in a folder of this name


@dataclass(frozen=True)
class Layout:
    """The folders of one clone. `home` is `.fleet/`, or what ACCELERATOR_FLEET_HOME names."""

    project: Path
    home: Path

    @property
    def pulumi(self) -> Path:
        return self.home / "pulumi"

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def sim(self) -> Path:
        return self.home / "sim"

    @property
    def bin(self) -> Path:
        return self.home / "bin"

    @property
    def charts(self) -> Path:
        return self.home / "charts"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    def stack_settings(self, env: str) -> Path:
        return self.project / "stacks" / f"Pulumi.{env}.yaml"

    def stack_state(self, env: str) -> Path:
        return self.state / ".pulumi" / "stacks" / PROJECT / f"{env}.json"

    def stacks(self) -> list[str]:
        """Names of the stacks that this clone's own backend knows."""
        return sorted(p.stem for p in self.stack_state("x").parent.glob("*.json"))


def find_project(start: Path | None = None) -> Path:
    """The folder of the Pulumi.yaml at or above `start` (default: the working directory).

    Raises EngineError outside a clone.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        settings = folder / "Pulumi.yaml"
        if settings.is_file() and f"name: {PROJECT}" in settings.read_text(encoding="utf-8").splitlines():
            return folder
    raise EngineError(f"{here}: not inside a clone of {PROJECT} (no Pulumi.yaml of that name at or above it)")


def layout(project: Path) -> Layout:
    """The folders of `project`. In a shell that was prepared in another clone, that clone's `.fleet` is left alone."""
    named = os.environ.get("ACCELERATOR_FLEET_HOME")
    home = Path(named).resolve() if named else project / ".fleet"
    another_clones = home.name == ".fleet" and home.parent != project and (home.parent / "Pulumi.yaml").is_file()
    return Layout(project=project, home=project / ".fleet" if another_clones else home)
