"""The stack through Pulumi's own command: its state, previews, and runs that read what is to be adopted."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from accelerator_fleet.clusters import project_root, shell
from accelerator_fleet.errors import FleetError
from accelerator_fleet_recover.model import Read, Wanted

ADOPT: Final = "ACCELERATOR_FLEET_ADOPT"  # read by the program: `accelerator_fleet_components.adoption`
_NO_STACK: Final = ("no stack named", "unable to open state directory")


@dataclass(frozen=True)
class Preview:
    """What the next `up` would do: creates in the order of their dependencies, and how many of each other kind."""

    creates: tuple[Wanted, ...]
    changes: Mapping[str, int]
    partial: bool  # whether this stack owns a part of its environment only (`fleet:scope`)
    failure: str = ""  # why it ended early: then it says less than all that the program wants

    @property
    def wanted(self) -> list[Wanted]:
        """What lies in a cloud or cluster: no components, no providers."""
        return [w for w in self.creates if w.state.get("custom") and not w.type.startswith("pulumi:")]


class Stack:
    """One environment's stack."""

    def __init__(self, env: str) -> None:
        self.env = env
        self.folder = project_root()
        self.variables = {**shell(env), "PULUMI_CONTINUE_ON_ERROR": "true"}
        # The clouds' own clients read the same variables, and find their helpers on the same PATH.
        os.environ.update({k: v for k, v in self.variables.items() if k != ADOPT})

    def pulumi(self, *arguments: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs `pulumi ARGUMENTS --stack ENV`; FleetError with what it said when it fails."""
        done = subprocess.run(
            ["pulumi", *arguments, "--stack", self.env, "--non-interactive"],
            cwd=self.folder,
            env={**self.variables, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise FleetError(self.env, _said(arguments[0], done, self.env))
        return done

    def export(self) -> dict[str, Any] | None:
        """The state, its secrets in plain text; None when there is no such stack."""
        done = self.pulumi("stack", "export", "--show-secrets", check=False)
        if done.returncode:
            if any(sign in done.stderr for sign in _NO_STACK):
                return None
            raise FleetError(self.env, _said("stack export", done, self.env))
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def make(self) -> None:
        """A new, empty stack of this name, as before its first `up`."""
        backend = self.variables.get("PULUMI_BACKEND_URL", "")
        if backend.startswith("file://"):
            Path(backend.removeprefix("file://").partition("?")[0]).mkdir(parents=True, exist_ok=True)
        self.pulumi("stack", "init")

    def write(self, exported: Mapping[str, Any]) -> None:
        """Replaces the state; the backend keeps the one before in its history."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.json"
            path.touch(mode=0o600)
            path.write_text(json.dumps(exported), encoding="utf-8")
            self.pulumi("stack", "import", "--force", "--file", str(path))

    def preview(self) -> Preview:
        """What the program wants that the state does not have. Changes nothing."""
        done = self.pulumi("preview", "--json", check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            raise FleetError(self.env, _said("preview", done, self.env)) from None
        steps = found.get("steps") or []
        if done.returncode and not steps:
            raise FleetError(self.env, f"the program's own preview fails: {_diagnostics(found)}")
        return Preview(
            tuple(Wanted(s["newState"]) for s in steps if s["op"] == "create"),
            {k: int(v) for k, v in (found.get("changeSummary") or {}).items()},
            "fleet:scope" in (found.get("config") or {}),
            _diagnostics(found) if done.returncode else "",
        )

    def read(self, adoption: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Read], dict[str, str]]:
        """Has the engine read the resources with these ids, in a preview: (URN -> what was read, URN -> why not)."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "adopt.json"
            path.write_text(json.dumps(adoption), encoding="utf-8")
            done = self.pulumi(
                "preview",
                "--json",
                check=False,
                **{ADOPT: str(path), "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"},
            )
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not events:
            raise FleetError(self.env, _said("preview", done, self.env))
        return _reads(events)

    def make_providers(self, urns: Sequence[str]) -> None:
        """Has the engine enter providers whose settings are secret; no cloud or cluster is asked for anything."""
        targets = [f"--target={urn}" for urn in urns]
        # It also complains of providers whose cluster is not there yet.
        self.pulumi("up", "--yes", "--skip-preview", *targets, check=False)

    def refresh(self, urns: Sequence[str]) -> None:
        """Reads these resources anew; those that are gone leave the state."""
        targets = [f"--target={urn}" for urn in urns]
        self.pulumi("refresh", "--yes", "--skip-preview", *targets, PULUMI_K8S_DELETE_UNREACHABLE="true")

    def destroy(self, urns: Sequence[str]) -> None:
        """Deletes these resources through their providers."""
        targets = [f"--target={urn}" for urn in urns]
        self.pulumi("destroy", "--yes", "--skip-preview", "--target-dependents", *targets)


def _reads(events: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Read], dict[str, str]]:
    asked: dict[str, Mapping[str, Any]] = {}
    reads: dict[str, Read] = {}
    failed: dict[str, str] = {}
    for event in events:
        for kind in ("resourcePreEvent", "resOutputsEvent", "resOpFailedEvent"):
            step = (event.get(kind) or {}).get("metadata") or {}
            if step.get("op") != "import":
                continue
            urn, new = step["urn"], step.get("new") or {}
            if kind == "resourcePreEvent":
                asked[urn] = new.get("inputs") or {}
            elif kind == "resOutputsEvent" and new.get("outputs"):
                reads[urn] = Read(new["id"], new.get("inputs") or {}, new["outputs"], asked.get(urn, {}))
            elif kind == "resOpFailedEvent":
                failed.setdefault(urn, "the provider does not read it")
        said = event.get("diagnosticEvent") or {}
        if said.get("severity") == "error" and said.get("urn"):
            failed[said["urn"]] = " ".join(str(said["message"]).split())
    return reads, {urn: why for urn, why in failed.items() if urn not in reads}


def _diagnostics(found: Mapping[str, Any]) -> str:
    said = [" ".join(str(d["message"]).split()) for d in found.get("diagnostics") or [] if d.get("severity") == "error"]
    return "\n".join(dict.fromkeys(said)) or "it says no more"


def _said(command: str, done: subprocess.CompletedProcess[str], env: str) -> str:
    text = (done.stderr.strip() or done.stdout.strip()[-2000:]).removeprefix("error: ")
    if "currently locked" in text:
        return (
            f"{text}\nif that run is dead, `pulumi cancel --stack {env}` releases its lock; then run this command again"
        )
    return f"pulumi {command} failed: {text}"
