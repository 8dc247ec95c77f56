"""`fleet up`, `preview` and `down`: engine, datacentre, then the literal Pulumi CLI, one plain line a step."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from accelerator_fleet.cli.shell import eval_line, fleet_word
from accelerator_fleet_engine import (
    datacentre,
    embedded,
    environment,
    events,
    literal,
    locks,
    orphans,
    reasons,
    retry,
    troubles,
)
from accelerator_fleet_engine.errors import EngineError
from accelerator_fleet_engine.layout import Layout, find_project, layout

# What the engine adds when a preview ended because of a resource.
ENGINE_ENDS = ("preview failed", "Resource monitor has terminated, shutting down")
_SIGNS = {"create": "+", "update": "~", "replace": "±", "delete": "-"}


class Run:
    """One command on one environment: what it has prepared and how it speaks."""

    def __init__(self, env: str) -> None:
        self.env = env
        self.place: Layout = layout(find_project())
        self.console = Console(highlight=False)
        embedded.require(self.place, env)
        self.variables: dict[str, str] = {}

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def prepare(self) -> None:
        self.variables = environment.prepare(self.env, self.place.project)
        self.say(f"engine: pulumi, its providers and the Kubernetes binaries are ready; state in {self.place.state}")
        started = datacentre.start(self.place, self.variables)
        for context in embedded.contexts(self.place, self.env):
            datacentre.seed(self.place, self.variables, context)
        self.say(
            f"datacentre: {'started' if started else 'runs'} (real Kubernetes, simulated cloud, all on this machine)"
        )
        self._free_dead_lock()

    def pulumi(self, command: str, *arguments: str, verb: str, total: int | None) -> literal.Outcome:
        return literal.run(
            [command, "--stack", self.env, *arguments],
            project=self.place.project,
            variables=self.variables,
            logs=self.place.logs,
            name=f"{command}-{self.env}",
            verb=verb,
            total=total,
            console=self.console,
        )

    def quiet(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.place.bin / "pulumi", *arguments, "--non-interactive"],
            cwd=self.place.project,
            env={**os.environ, **self.variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def _free_dead_lock(self) -> None:
        """An engine that was killed leaves its lock. When its process is gone, `pulumi cancel` is the right answer."""
        for lock in locks.of_stack(self.place.state, self.env):
            if not lock.dead:
                raise EngineError(self.locked_by(lock))
            self.say(f"lock: an earlier run (process {lock.pid}) was killed; `pulumi cancel` releases its lock")
            self.quiet("cancel", "--yes", "--stack", self.env)
            orphans.end(self.place.home)
            return

    def locked_by(self, lock: locks.Lock) -> str:
        return (
            f"{self.env} is locked: another pulumi works on it ({lock.sentence()}). Wait for it, or end it; "
            f"if that process is gone: {_prepared_prefix(self)}pulumi cancel --stack {self.env}"
        )

    def failed(self, outcome: literal.Outcome, doing: str) -> int:
        """Shows the engine's own words and where the rest is; returns the exit code."""
        end = "was stopped" if outcome.interrupted else "failed"
        if outcome.code < 0:
            print(_killed(self.env, -outcome.code), file=sys.stderr)
        # Stopped by the user, every resource in work says that it was: that is no error to read.
        said = [] if outcome.code < 0 else [_tail(outcome.log)]
        if said and "the stack is currently locked" in said[0]:  # two began at once, and the other was quicker
            said = [self.locked_by(lock) for lock in locks.of_stack(self.place.state, self.env)] or said
        for text in [] if outcome.interrupted else outcome.watch.errors or said:
            print(f"error: {text}", file=sys.stderr)
        if not outcome.interrupted:
            for line in _advice(self, outcome):
                print(line, file=sys.stderr)
        print(f"{doing} {end} after {round(outcome.seconds)} s; full log: {outcome.log}", file=sys.stderr)
        if outcome.interrupted:
            again = f"{fleet_word()} up --env {self.env}"
            print(f"what is done stays; go on with `{again}`, or remove it with `down` instead", file=sys.stderr)
            return 130
        return 1


def _killed(env: str, number: int) -> str:
    fleet = fleet_word()
    return (
        f"pulumi was killed by signal {number}. What it was creating goes on in the cloud but is not in its state, as "
        f"in life: `{fleet} recover --env {env}` shows it, with --yes it is adopted; then {fleet} up --env {env}"
    )


def _tail(log: Path, lines: int = 20) -> str:
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    return "\n".join(line for line in text[-lines:] if line.strip())


def _preview(run: Run) -> literal.Outcome:
    outcome = run.pulumi("preview", verb="previewing", total=None)
    for text in outcome.watch.warnings:
        run.say(f"warning: {text}")
    if outcome.code == 0:
        run.say(f"preview: {events.sentence(outcome.watch.summary)} ({round(outcome.seconds)} s)")
    return outcome


def up(env: str, again: Sequence[str] = ()) -> int:
    """Brings `env` up; ends with the table of what runs and what to try next. `again`: pools whose queued resources
    are given back first and asked for once more."""
    run = Run(env)
    run.prepare()
    _tell_pending(run)
    if not _give_back(run, again):
        return 1
    ahead = _preview(run)
    if ahead.code and not _only_resources(run, ahead):
        return run.failed(ahead, "preview")
    outcome = run.pulumi("up", "--yes", "--skip-preview", verb="updating", total=len(ahead.watch.changes))
    if outcome.code:
        return run.failed(outcome, "up")
    run.say(f"up: {events.sentence(outcome.watch.summary, past=True)} ({round(outcome.seconds)} s)\n")
    code = _status(run)
    _next_steps(run)
    return code


def _tell_pending(run: Run) -> None:
    """Operations whose end nobody saw: what they made may be there, and `up` would make it again, beside."""
    state = run.place.stack_state(run.env)
    found = json.loads(state.read_text(encoding="utf-8")) if state.is_file() else {}
    pending = ((found.get("checkpoint") or {}).get("latest") or {}).get("pending_operations") or []
    if pending:
        run.say(
            f"pending: {len(pending)} operations of a run that was killed; what became of them: "
            f"`{fleet_word()} recover --env {run.env}`"
        )


def _give_back(run: Run, again: Sequence[str]) -> bool:
    """Deletes what is left of pools whose creation failed, so that they are asked for anew. False: protected ones."""
    there = _resources(run) if run.place.stack_state(run.env).is_file() else []
    wanted = _asked_again(run, there, again) if again else []
    failed = [*retry.failed_pools(there), *wanted]
    protected = [pool for pool in failed if pool.protected]
    if protected:
        names = ", ".join(pool.name for pool in protected)
        run.say(f"{names}: creation failed earlier, and what is left of it is protected; nothing was done. It holds no")
        run.say("running work. Take the protection off, then it is given back and asked for again:")
        for line in retry.unprotect_lines(protected, run.env, _prepared_prefix(run)):
            run.say(line)
        run.say(" ".join([f"  {fleet_word()} up --env {run.env}", *(f"--retry {name}" for name in again)]))
        return False
    if not failed:
        return True
    for pool in failed:
        why = "on request" if pool in wanted else "failed to come up"
        run.say(f"retry: {pool.name} {why}; {pool.identity} is given back, then asked for again")
    targets = [word for pool in failed for word in ("--target", pool.urn)]
    outcome = run.pulumi("destroy", "--yes", "--skip-preview", *targets, verb="giving back", total=len(failed))
    if outcome.code:
        run.failed(outcome, "giving back")
    return outcome.code == 0


def _asked_again(run: Run, there: list[dict[str, Any]], names: Sequence[str]) -> list[retry.FailedPool]:
    """The queued resources of these pools, read anew. Raises EngineError for what is none, and for one that runs."""
    wanted, unknown = retry.asked_again(there, names)
    if unknown:
        queued = ", ".join(r["urn"].rpartition("::")[2] for r in there if r.get("type") == retry.QUEUED) or "none"
        raise EngineError(f"--retry: no queued resource of pool {', '.join(unknown)} is up; there are: {queued}")
    run.quiet(
        "refresh", "--yes", "--skip-preview", "--stack", run.env, *(w for p in wanted for w in ("--target", p.urn))
    )
    states = {str(r["urn"]): (r.get("outputs") or {}).get("state") for r in _resources(run)}
    for pool in wanted:
        if states.get(pool.urn) not in (None, *retry.ENDED):
            text = f"--retry: the queued resource of {pool.name} is {states[pool.urn]}: it is asked for already"
            raise EngineError(text)
    return [pool for pool in wanted if pool.urn in states]


def _only_resources(run: Run, outcome: literal.Outcome) -> bool:
    """Whether a preview failed for single resources only: then the others go on, and those fail again in the `up`."""
    watch = outcome.watch
    others = [text for text in watch.errors if text not in ENGINE_ENDS]
    if outcome.code < 0 or outcome.interrupted or not watch.failures or len(watch.failures) != len(others):
        return False
    names = ", ".join(sorted({f.name for f in watch.failures}))
    run.say(f"preview: cannot be told for {names}; everything else goes on")
    return True


def _advice(run: Run, outcome: literal.Outcome) -> list[str]:
    """What the cloud's errors mean for the pools, and what to try; nothing when no pool failed."""
    if not any(failure.type in troubles.POOLS for failure in outcome.watch.failures):
        return []
    from accelerator_fleet import catalog, spec
    from accelerator_fleet.errors import FleetError
    from accelerator_fleet.plan import plan
    from accelerator_fleet.plan.placed import placements

    known, there = catalog.load(), _resources(run)
    failures = reasons.with_reasons(outcome.watch.failures, there, run.variables)
    stack = next((r for r in there if r["type"] == "pulumi:pulumi:Stack"), {})
    try:
        placed = placements(stack.get("outputs") or {})
        planned = plan(spec.load(embedded.spec_file(run.place, run.env)), known, placed)
    except FleetError:  # edited since
        return []
    again = f"{fleet_word()} up --env {run.env}"
    return [line for t in troubles.troubles(planned, known, failures, again) for line in t.lines()]


def preview(env: str) -> int:
    """Says what `up` would change, resource by resource, with the property paths."""
    run = Run(env)
    run.prepare()
    outcome = _preview(run)
    if outcome.code:
        return run.failed(outcome, "preview")
    for change in outcome.watch.changes:
        paths = f"  {', '.join(change.paths)}" if change.paths else ""
        print(f"{_SIGNS.get(change.op, '·')} {change.op:<8}{change.type:<52} {change.name}{paths}")
    if outcome.watch.changes:
        run.say(f"\nevery property: {_prepared_prefix(run)}pulumi preview --stack {env} --diff")
    return 0


def down(env: str) -> int:
    """Removes everything of `env`, or lists what is protected and how to remove it, and removes nothing."""
    run = Run(env)
    if not run.place.stack_state(env).is_file():
        run.say(f"{env}: nothing is up")
        return _clear(run) if run.place.sim.is_dir() and not run.place.stacks() else 0
    run.prepare()
    protected = _protected(run)
    if protected:
        return _explain_protection(run, protected)
    total = len(_resources(run))
    outcome = run.pulumi("destroy", "--yes", "--skip-preview", verb="removing", total=total)
    if outcome.code:
        return run.failed(outcome, "down")
    removed = run.quiet("stack", "rm", env, "--yes", "--preserve-config")
    if removed.returncode:
        raise EngineError(f"pulumi stack rm {env} failed:\n{removed.stderr.strip()}")
    run.say(f"down: {outcome.watch.summary.get('delete', 0)} resources removed ({round(outcome.seconds)} s)")
    if run.place.stacks():
        run.say(f"datacentre: goes on for {', '.join(run.place.stacks())}")
        return 0
    return _clear(run)


def _clear(run: Run) -> int:
    """The last stack is gone: ends the datacentre, removes its state. Links, plugins and logs stay for the next up."""
    run.variables = run.variables or environment.shell_env(run.env, run.place.project)
    datacentre.stop(run.place, run.variables)
    orphans.end(run.place.home)
    for folder in (run.place.sim, run.place.state):
        shutil.rmtree(folder, ignore_errors=True)
    (run.place.home / "kubeconfig").unlink(missing_ok=True)
    run.say("datacentre: stopped, its files are removed")
    return 0


def _resources(run: Run) -> list[dict[str, Any]]:
    exported = run.quiet("stack", "export", "--stack", run.env)
    if exported.returncode:
        raise EngineError(f"pulumi stack export failed:\n{exported.stderr.strip()}")
    found: list[dict[str, Any]] = json.loads(exported.stdout)["deployment"].get("resources") or []
    return found


def _protected(run: Run) -> list[str]:
    return [str(resource["urn"]) for resource in _resources(run) if resource.get("protect")]


def _explain_protection(run: Run, urns: list[str]) -> int:
    run.say(f"{run.env}: {len(urns)} resources are protected, so nothing was removed:")
    for urn in urns:
        run.say(f"  {urn.split('::')[2].rsplit('$', 1)[-1]:<40} {urn.rsplit('::', 1)[-1]}")
    run.say("to remove them nevertheless (capacity, data and running work are lost), take the protection off:")
    prefix = _prepared_prefix(run)
    for number, urn in enumerate(urns):
        run.say(f"  {prefix if number == 0 else ''}pulumi state unprotect --stack {run.env} --yes {shlex.quote(urn)}")
    run.say(f"and then: {fleet_word()} down --env {run.env}")
    return 1


def _prepared_prefix(run: Run) -> str:
    """What must be typed before `pulumi …` in this shell: nothing when it is prepared."""
    return "" if environment.is_prepared(run.env) else f"{eval_line(run.env)} && "


def _status(run: Run) -> int:
    """The table of `fleet status`, read as in a prepared shell; this process is not one, before or after."""
    from accelerator_fleet.cli import status

    before = dict(os.environ)
    os.environ.update(run.variables)
    try:
        return status.show(run.env)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _next_steps(run: Run) -> None:
    fleet = fleet_word()
    run.say("\ntry next:")
    run.say(f"  {fleet} plan --env {run.env} --explain")
    pool = _first_pool(run)
    if pool:
        run.say(f"  {fleet} job submit pytorch --pool {pool} --env {run.env}")
    run.say(f"  {_prepared_prefix(run)}pulumi preview --stack {run.env}")


def _first_pool(run: Run) -> str:
    """A pool with a queue; "POOL" where the spec has no pools, "" where none of them has one."""
    from accelerator_fleet import spec

    pools = spec.load(embedded.spec_file(run.place, run.env)).pools
    queues = [p.name for p in pools if p.capacity.mode != "queued-resource"]
    return (queues or [""])[0] if pools else "POOL"
