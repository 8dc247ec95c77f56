"""Reaching an environment's clusters: the stack's outputs, and a Kubernetes client for each site."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelerator_fleet.errors import FleetError, unknown

if TYPE_CHECKING:
    from lightkube import Client

# What Pulumi says of a stack that was never made, and of a state folder that was removed (`fleet sim reset`).
_NO_STACK = ("no stack named", "unable to open state directory")


def project_root(start: Path | None = None) -> Path:
    """The folder of Pulumi.yaml at or above `start` (the working directory); FleetError when there is none."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    raise FleetError(str(here), "no Pulumi.yaml here or above; run this inside the project's folder")


@functools.cache
def shell(env: str) -> dict[str, str]:
    """The environment of a prepared shell: this one if it is prepared, else what `fleet env` would print."""
    if "ACCELERATOR_FLEET_HOME" in os.environ:
        return dict(os.environ)
    from importlib import import_module

    # By name: the library does not import the engine, it uses it where it is installed.
    environment = import_module("accelerator_fleet_engine.environment")
    made: dict[str, str] = environment.shell_env(env, project_root())
    return {**os.environ, **made}


def outputs(env: str) -> dict[str, Any]:
    """The stack's outputs (`sites`, `pools`); FleetError when it is not up."""
    done = subprocess.run(
        ["pulumi", "stack", "output", "--json", "--stack", env],
        cwd=project_root(),
        env=shell(env),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip()).removeprefix("error: ")
        if not any(sign in text for sign in _NO_STACK):
            raise FleetError(env, f"the stack's outputs cannot be read: {text}")
        if not (project_root() / "stacks" / f"Pulumi.{env}.yaml").is_file():
            known = (p.name[len("Pulumi.") : -len(".yaml")] for p in (project_root() / "stacks").glob("Pulumi.*.yaml"))
            raise FleetError(env, unknown("stack", env, known))
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    if not found.get("sites"):
        raise FleetError(env, f"nothing is up; `make up ENV={env}` brings it up")
    return found


def placements(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """See `accelerator_fleet.plan.placed.placements`."""
    from accelerator_fleet.plan import placed

    return placed.placements(found)


@contextlib.contextmanager
def reached(env: str) -> Iterator[None]:
    """Inside, what an API server or the way to it says becomes a FleetError: people get a sentence, no traceback."""
    from httpx2 import HTTPStatusError, TransportError
    from lightkube import ApiError
    from lightkube.core.exceptions import ConfigError

    try:
        yield
    except ApiError as refused:
        raise FleetError(env, f"the API server refused: {refused.status.message or refused}") from None
    except HTTPStatusError as refused:
        raise FleetError(env, f"the API server refused: {refused}") from None
    except (TransportError, ConfigError, subprocess.SubprocessError) as failed:
        raise FleetError(env, _unreached(str(failed))) from None


def _unreached(text: str) -> str:
    """The cloud's own sentence where its token plugin (`aws`) gave one, else what the connection said."""
    said = re.sub(r"^Exec \S+ returned -?\d+: (aws: )?", "", text).strip()
    if "start it with" in said:
        return said
    return f"no answer from the cluster ({said}); `fleet sim status` says what runs"


def client(env: str, site: dict[str, Any], namespace: str | None = None) -> Client:
    """A client for one site, by the kubeconfig in its outputs; the token comes from the cloud's exec plugin.

    An existing cluster is reached by the user's own kubeconfig, whose context the outputs name.
    """
    from lightkube import Client, KubeConfig
    from lightkube.core.exceptions import ConfigError

    from accelerator_fleet import kubeconfig
    from accelerator_fleet.errors import unknown

    # The client starts the exec plugin itself, from this process's environment.
    for key in ("PATH", "ACCELERATOR_FLEET_SIM"):
        if key in shell(env):
            os.environ[key] = shell(env)[key]
    if site.get("context"):
        known = kubeconfig.contexts(shell(env))
        if site["context"] not in known:
            raise FleetError("kubeconfig", unknown("context", site["context"], known))
        config = known[site["context"]]
    else:
        single = KubeConfig.from_dict(json.loads(site["kubeconfig"])).get()
        if single is None:
            raise ConfigError("no current context")
        config = single
    # A proxy of the shell is for the internet, not for a cluster on this machine.
    local = (config.cluster.server or "").startswith("https://127.")
    return Client(config=config, namespace=namespace, trust_env=not local)
