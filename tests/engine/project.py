"""A project of its own for tests on the real engine: a copy of the stacks, with its own embedded datacentre."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FLEET = Path(sys.executable).with_name("fleet")


class Project:
    """A folder with Pulumi.yaml and stacks; commands run as a person would type them, in a prepared shell."""

    def __init__(self, folder: Path, checkout: Path = ROOT) -> None:
        """`checkout`: whose program and `fleet` it is, this one's or those of a clone with a .venv of its own."""
        self.folder = folder
        folder.mkdir(parents=True)
        shutil.copy(checkout / "Pulumi.yaml", folder)
        shutil.copytree(checkout / "stacks", folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
        self._fleet = str(FLEET if checkout == ROOT else checkout / ".venv" / "bin" / "fleet")
        # A folder of its own for everything; nothing of the caller's prepared shell may leak in.
        self._clean = {k: v for k, v in os.environ.items() if not k.startswith(("PULUMI_", "ACCELERATOR_FLEET_"))}
        # As Python is by default: without its byte code every program compiles the SDKs anew, for seconds.
        self._clean.pop("PYTHONDONTWRITEBYTECODE", None)
        self._shells: dict[str, dict[str, str]] = {}

    def fleet(self, *args: str, ok: bool = True, timeout: float = 400) -> subprocess.CompletedProcess[str]:
        """`fleet ARGS` in a shell that is not prepared."""
        return self._run([self._fleet, *args], self._clean, ok, timeout)

    def shell(self, env: str) -> dict[str, str]:
        """The variables that `eval "$(fleet env ENV)"` leaves behind, read from a real shell."""
        if env not in self._shells:
            dump = "import json,os;print(json.dumps(dict(os.environ)))"
            script = f'eval "$("{self._fleet}" env {env})" && exec "{sys.executable}" -c "{dump}"'
            done = self._run(["bash", "-ec", script], self._clean, True, 120)
            self._shells[env] = json.loads(done.stdout.splitlines()[-1])
        return self._shells[env]

    def run_in(self, env: str, *command: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Any command in the prepared shell of an environment."""
        return self._run(list(command), self.shell(env), ok, 120)

    def pulumi(
        self, *args: str, env: str = "single", shell: str = "", ok: bool = True, timeout: float = 400, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """The literal `pulumi ARGS --stack ENV` in a shell prepared for `shell`; keywords add variables."""
        command = ["pulumi", *args, "--stack", env, "--non-interactive"]
        return self._run(command, {**self.shell(shell or env), **more}, ok, timeout)

    def preview(self, env: str = "single") -> list[dict[str, Any]]:
        """The steps of `pulumi preview --json` that do something."""
        done = self.pulumi("preview", "--json", env=env)
        steps: list[dict[str, Any]] = json.loads(done.stdout)["steps"]
        return [step for step in steps if step["op"] not in {"same", "read"}]

    def outputs(self, env: str = "single") -> dict[str, Any]:
        """The stack's outputs."""
        found: dict[str, Any] = json.loads(self.pulumi("stack", "output", "--json", env=env).stdout)
        return found

    def edit(self, name: str, old: str, new: str) -> None:
        """Replaces text in stacks/NAME; it must be there once."""
        path = self.folder / "stacks" / name
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new))

    def add(self, env: str, spec: str) -> None:
        """An environment of its own: a spec and its stack's settings."""
        stacks = self.folder / "stacks"
        (stacks / "fleets" / f"{env}.yaml").write_text(spec)
        settings = (stacks / "Pulumi.dev.yaml").read_text()
        (stacks / f"Pulumi.{env}.yaml").write_text(settings.replace("fleets/dev.yaml", f"fleets/{env}.yaml"))

    def kubectl(self, site: str, path: str, env: str = "single") -> Any:
        """GET on a site's API server with the cloud's own token; JSON."""
        return api(self.outputs(env)["sites"][site], self.shell(env), "GET", path)

    def _run(
        self, command: list[str], variables: dict[str, str], ok: bool, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.folder, env=variables, capture_output=True, text=True, timeout=timeout, check=False
        )
        if ok and done.returncode != 0:
            raise AssertionError(
                f"{command} ended with {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
            )
        return done


def api(site: dict[str, Any], shell: dict[str, str], method: str, path: str, body: object = None) -> Any:
    """One call to an API server: endpoint and CA from the stack's outputs, the token from the exec plugin."""
    import base64
    import ssl
    import urllib.request

    got = subprocess.run(
        ["aws", "eks", "get-token", "--cluster-name", site["cluster"], "--region", site["region"]],
        env=shell,
        capture_output=True,
        text=True,
        check=True,
    )
    token = json.loads(got.stdout)["status"]["token"]
    context = ssl.create_default_context(cadata=base64.b64decode(site["certificateAuthority"]).decode())
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    request = urllib.request.Request(
        site["endpoint"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": kind},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with opener.open(request, timeout=30) as answer:
        return json.load(answer)
