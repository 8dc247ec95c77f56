"""The user's own kubeconfig: the contexts by which existing clusters are named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightkube.config.kubeconfig import SingleConfig


def files(variables: dict[str, str] | None = None) -> list[Path]:
    """The kubeconfig files as kubectl finds them: KUBECONFIG (a path list), else ~/.kube/config."""
    said = (os.environ if variables is None else variables).get("KUBECONFIG", "")
    paths = [Path(p).expanduser() for p in said.split(os.pathsep) if p] or [Path("~/.kube/config").expanduser()]
    return [p for p in paths if p.is_file()]


def contexts(variables: dict[str, str] | None = None) -> dict[str, SingleConfig]:
    """Context -> how to reach its cluster; the first file that has a name wins. A file that is none is passed over."""
    from lightkube import KubeConfig
    from lightkube.core.exceptions import ConfigError
    from yaml import YAMLError

    found: dict[str, SingleConfig] = {}
    for path in files(variables):
        try:
            config = KubeConfig.from_file(path)
            made = {name: config.get(name) for name in config.contexts}
        except (ConfigError, YAMLError, KeyError, TypeError):
            continue
        for name, single in made.items():
            if single is not None:
                found.setdefault(name, single)
    return found
