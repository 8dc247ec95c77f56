"""The recovery of one environment: compare, say, adopt in rounds, settle the rest. It never makes anything."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from accelerator_fleet_recover import compose, helm, report
from accelerator_fleet_recover.match import drawn_names
from accelerator_fleet_recover.model import (
    CLUSTERS,
    RELEASE,
    VOLUMES,
    Orphan,
    Read,
    has_unknown,
    hides_secrets,
    urn_name,
    urn_type,
)
from accelerator_fleet_recover.stack import Preview, Stack
from accelerator_fleet_recover.survey import Survey, Surveyor, pending_of, resources_of

POLL: Final = 5.0  # seconds between two looks at what is still being made


class Recovery:
    """One run of `fleet recover`."""

    def __init__(self, env: str, *, adopt: bool, delete: bool, patience: float) -> None:
        self.env, self._adopts, self._deletes, self._patience = env, adopt, delete, patience
        self.stack = Stack(env)
        self._surveyor = Surveyor(self.stack.variables, self.say)
        self.adopted: dict[str, Orphan] = {}
        self._refused: dict[str, str] = {}  # URN -> why its provider does not read it

    @staticmethod
    def say(text: str) -> None:
        print(text, flush=True)

    def run(self) -> int:
        """0 when state, cloud and clusters agree (in the end); 1 when something is left to do."""
        self._end_plugins()
        exported = self.stack.export()
        if exported is None:
            self.say(f"{self.env}: there is no state; what the clouds have is looked for by the program")
            self.stack.make()
            exported = self.stack.export() or {}
        preview, found = self._look(exported)
        self._tell(exported, preview, found)
        if not self._adopts:
            return self._leave(exported, found)
        for half in found.halves:
            self._settle(half)
        if self._clear(exported, found):  # the program wants more now than it did of things that are gone
            exported = self.stack.export() or {}
            preview, found = self._look(exported)
        self._adopt_all(exported, preview, found)
        self._end()
        return 0

    def _adopt_all(self, exported: dict[str, Any], preview: Preview, found: Survey) -> None:
        """Rounds: clouds, then what is in the clusters that were adopted; then what cannot belong."""
        adopted_before = -1
        while adopted_before != len(self.adopted) and any(o.belongs for o in found.orphans):
            adopted_before = len(self.adopted)
            exported = self._adopt(exported, preview, found)
            # Objects of a cluster that was adopted now, or what a preview that ended early had not come to.
            more = found.later and any(o.item.type in CLUSTERS for o in found.orphans)
            unread = any(o.wanted is not None and o.belongs and not self._decided(o.wanted.urn) for o in found.orphans)
            if not (more or unread or preview.failure):
                break
            preview, found = self._look(exported)
            for orphan in found.orphans:
                self.say("\n".join(report.orphan_lines(orphan, self.env)))
        self._delete_others(found)

    def _decided(self, urn: str) -> bool:
        return urn in self.adopted or urn in self._refused

    def _end_plugins(self) -> None:
        """Providers that outlived their engine would go on with what they were asked."""
        home = self.stack.variables.get("ACCELERATOR_FLEET_HOME")
        if home:
            ended = import_module("accelerator_fleet_engine.orphans").end(Path(home))
            if ended:
                self.say(f"ended {ended} provider processes of a killed engine")

    # -- looking ----------------------------------------------------------------------------------------------------
    def _look(self, exported: Mapping[str, Any]) -> tuple[Preview, Survey]:
        """Compares, once nothing is being made or deleted any more."""
        preview = self.stack.preview()
        deadline = time.monotonic() + self._patience
        told = ""
        while True:
            found = self._surveyor.look(exported, preview)
            if not found.moving or time.monotonic() > deadline:
                break
            text = ", ".join(f"{i.type.rpartition(':')[2]} {i.id or i.imports} ({i.status})" for i in found.moving)
            if text != told:
                self.say(f"waiting for {text}")
                told = text
            time.sleep(POLL)
        if told:
            preview = self.stack.preview()
            found = self._surveyor.look(exported, preview)
        return preview, found

    def _tell(self, exported: Mapping[str, Any], preview: Preview, found: Survey) -> None:
        if preview.failure:
            self.say(f"the program's own preview ends early: {preview.failure}")
        in_state = {r["urn"] for r in resources_of(exported)}
        orphans = {o.wanted.urn: o for o in found.orphans if o.wanted is not None}
        pending = pending_of(exported)
        self.say(
            f"{self.env}: {len(in_state)} in the state, {len(pending)} pending operations, "
            f"{len(found.orphans)} orphans, {len(found.ghosts)} in the state only"
        )
        for operation in pending:
            self.say(f"  pending: {report.pending_line(operation, orphans, set(found.ghosts), in_state)}")
        for orphan in found.orphans:
            for line in report.orphan_lines(orphan, self.env):
                self.say(f"  {line}")
        for _, item, urn in found.halves:
            self.say(
                f"  {item.type.rpartition(':')[2]:<28} {item.imports}   {item.note}: left half-way ({urn_name(urn)})"
            )
        for urn in found.ghosts:
            self.say(f"  gone: {urn_name(urn)} ({urn.split('::')[2].rpartition('$')[2]}) is in the state only")
        if found.others:
            why = "what else the program wants is not known" if preview.failure else "they may be another stack's"
            self.say(f"  {len(found.others)} more bear this fleet's tags; {why}: left alone")
        if found.later and any(o.item.type in CLUSTERS for o in found.orphans):
            self.say(f"  {len(found.later)} objects in clusters are looked for once their cluster is adopted")

    def _leave(self, exported: Mapping[str, Any], found: Survey) -> int:
        if not (found.orphans or found.ghosts or found.halves or pending_of(exported)):
            self.say("nothing to recover")
            return 0
        self.say(f"nothing was changed; `fleet recover --env {self.env} --yes` adopts what belongs to the program")
        return 1

    # -- adopting ---------------------------------------------------------------------------------------------------
    def _adopt(self, exported: dict[str, Any], preview: Preview, found: Survey) -> dict[str, Any]:
        """One round: the engine reads the orphans, their entries are written into the state."""
        orphans = {
            o.wanted.urn: o
            for o in found.orphans
            if o.wanted is not None and o.belongs and o.wanted.urn not in self._refused
        }
        names = {urn: drawn_names(o.wanted, o.item) for urn, o in orphans.items() if o.wanted is not None}
        adoption = {
            urn: {"id": o.item.imports, "props": {_snake(k): v for k, v in names[urn].items()}}
            for urn, o in orphans.items()
        }
        reads, failed = self.stack.read(adoption)
        self._refused |= failed
        for urn, why in failed.items():
            self.say(f"  not adopted: {urn_name(urn)}: {why}")
        entries = self._entries(exported, preview, {u: o for u, o in orphans.items() if u in reads}, reads, names)
        written = compose.added(exported, entries)
        self.stack.write(written)
        for urn in reads:
            if urn in orphans:
                self.adopted[urn] = orphans[urn]
        hidden = [u for u, read in reads.items() if urn_type(u) != RELEASE and hides_secrets(read.outputs)]
        if hidden:
            self.stack.refresh(hidden)
        self._make_providers(preview, found, written)
        return self.stack.export() or written

    def _make_providers(self, preview: Preview, found: Survey, written: Mapping[str, Any]) -> None:
        """Providers of clusters that are in the state now and whose kubeconfig is secret: no preview shows it."""
        there = {r["urn"] for r in resources_of(written)}
        needed = {w.provider for w in found.later}
        ready = [
            w.urn
            for w in preview.creates
            if w.urn in needed
            and hides_secrets(w.inputs)
            and w.urn not in there
            and set(w.state.get("dependencies") or []) <= there
        ]
        if ready:
            self.stack.make_providers(ready)

    def _entries(
        self,
        exported: Mapping[str, Any],
        preview: Preview,
        orphans: Mapping[str, Orphan],
        reads: Mapping[str, Read],
        names: Mapping[str, Mapping[str, str]],
    ) -> list[dict[str, Any]]:
        """Entries of the adopted, and of the components and providers that they need and the state does not have."""
        creates = {w.urn: w for w in preview.creates}
        providers = {
            r["urn"]: str(r["id"]) for r in resources_of(exported) if r["type"].startswith("pulumi:providers:")
        }
        entries: dict[str, dict[str, Any]] = {}

        def need(urn: str) -> None:
            wanted = creates.get(urn)
            if wanted is None or urn in entries or urn in orphans:
                return
            if wanted.type.startswith("pulumi:providers:"):
                if has_unknown(dict(wanted.inputs)) or hides_secrets(wanted.inputs):
                    return
                entries[urn] = compose.provider(wanted)
                providers[urn] = entries[urn]["id"]
            elif not wanted.state.get("custom"):
                entries[urn] = compose.component(wanted)
            need(str(wanted.state.get("parent") or ""))

        for orphan in orphans.values():
            assert orphan.wanted is not None
            need(orphan.wanted.provider)
            need(str(orphan.wanted.state.get("parent") or ""))
        for wanted in preview.creates if orphans else ():  # components without anything in a cloud
            if not wanted.state.get("custom"):
                need(wanted.urn)
        for urn, orphan in orphans.items():
            assert orphan.wanted is not None
            entries[urn] = compose.entry(orphan.wanted, reads[urn], names[urn], providers)
        return list(entries.values())

    # -- the rest ---------------------------------------------------------------------------------------------------
    def _settle(self, half: tuple[Any, Any, str]) -> None:
        cluster, item, _ = half
        helm.settle(cluster, item, lambda text: self.say(f"  {text}"))

    def _clear(self, exported: dict[str, Any], found: Survey) -> bool:
        """Takes pending operations out, each decided; reads anew what was being changed, and what seems gone.

        True when resources may have left the state.
        """
        in_state = {r["urn"] for r in resources_of(exported)}
        touched = {p["resource"]["urn"] for p in pending_of(exported) if p["type"] != "creating"}
        halves = {urn for _, _, urn in found.halves}
        anew = sorted((touched | set(found.ghosts) | halves) & in_state)
        if pending_of(exported):
            deployment = {k: v for k, v in exported["deployment"].items() if k != "pending_operations"}
            exported["deployment"] = deployment
            self.stack.write(exported)
        if anew:
            self.stack.refresh(anew)
        return bool(anew)

    def _delete_others(self, found: Survey) -> None:
        """What cannot belong goes, when somebody says so. Volumes, and clusters that are not the program's, stay."""
        others = [
            o
            for o in found.orphans
            if not o.belongs
            and o.item.status != "foreign"
            and o.item.type not in VOLUMES
            and (o.wanted is not None or o.item.type not in CLUSTERS)
        ]
        if not others:
            return
        if not self._deletes and not self._confirmed(len(others)):
            self.say(f"{len(others)} that cannot belong are left; `--delete` removes them")
            return
        from accelerator_fleet_recover.removal import remove

        remove(self.stack, others, self.say)

    @staticmethod
    def _confirmed(count: int) -> bool:
        if not sys.stdin.isatty():
            return False
        return input(f"delete these {count} that cannot belong? [y/N] ").strip().lower() in {"y", "yes"}

    def _end(self) -> None:
        self.say(f"{self.env}: {len(self.adopted)} adopted; `pulumi up --stack {self.env}` goes on from here")


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()
