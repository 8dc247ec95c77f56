"""The datacentre's one durable file: resources, operations, and what the clock needs. SQLite, every write committed."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS resources (
  cloud TEXT, account TEXT, region TEXT, type TEXT, id TEXT,
  owner TEXT NOT NULL, state TEXT NOT NULL, inputs TEXT NOT NULL, outputs TEXT NOT NULL, hidden TEXT NOT NULL,
  created REAL NOT NULL, PRIMARY KEY (cloud, account, region, type, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_type ON resources (type, region);
CREATE TABLE IF NOT EXISTS operations (
  id TEXT PRIMARY KEY, cloud TEXT, kind TEXT, account TEXT, region TEXT, type TEXT, resource TEXT,
  request TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, due REAL NOT NULL,
  result TEXT, error TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_status ON operations (status);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass
class Resource:
    """One thing in a cloud. `hidden` is what the cloud knows and no API of a provider shows."""

    cloud: str
    account: str
    region: str
    type: str
    id: str
    owner: str = "program"  # or account (was there before), or what made it: "cluster:x", "nodegroup:x/y", "vpc:…"
    state: str = "active"
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    hidden: dict[str, Any] = field(default_factory=dict)
    created: float = 0.0


@dataclass
class Operation:
    """One request that takes time. `due` is simulated time; status running, done or failed."""

    id: str
    cloud: str
    kind: str
    account: str
    region: str
    type: str
    resource: str
    request: dict[str, Any]
    status: str = "running"
    started: float = 0.0
    due: float = 0.0
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


def _resource(row: tuple[Any, ...]) -> Resource:
    cloud, account, region, kind, identity, owner, state, inputs, outputs, hidden, created = row
    texts = json.loads(inputs), json.loads(outputs), json.loads(hidden)
    return Resource(cloud, account, region, kind, identity, owner, state, texts[0], texts[1], texts[2], created)


def _operation(row: tuple[Any, ...]) -> Operation:
    identity, cloud, verb, account, region, kind, resource, request, status, started, due, result, error = row
    made = Operation(identity, cloud, verb, account, region, kind, resource, json.loads(request), status, started, due)
    made.result, made.error = json.loads(result or "null"), json.loads(error or "null")
    return made


class Store:
    """Thread-safe access to the file. `lock` is held by who reads and then writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, cached_statements=64)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-4000;")
        self._db.executescript(SCHEMA)
        self._depth = 0

    def close(self) -> None:
        """Close the file; its journal is folded in."""
        with self.lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside are one commit; an exception undoes them."""
        with self.lock:
            self._depth += 1
            if self._depth == 1:
                self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._depth == 1:
                    self._db.execute("ROLLBACK")
                raise
            else:
                if self._depth == 1:
                    self._db.execute("COMMIT")
            finally:
                self._depth -= 1

    # -- resources --------------------------------------------------------------------------------------------------
    def put(self, r: Resource) -> None:
        """Insert or replace."""
        row = (r.cloud, r.account, r.region, r.type, r.id, r.owner, r.state, json.dumps(r.inputs),
               json.dumps(r.outputs), json.dumps(r.hidden), r.created)  # fmt: skip
        with self.lock:
            self._db.execute("INSERT OR REPLACE INTO resources VALUES (?,?,?,?,?,?,?,?,?,?,?)", row)

    def remove(self, r: Resource) -> None:
        """Delete."""
        with self.lock:
            self._db.execute(
                "DELETE FROM resources WHERE cloud=? AND account=? AND region=? AND type=? AND id=?",
                (r.cloud, r.account, r.region, r.type, r.id),
            )

    def get(self, cloud: str, account: str, region: str, kind: str, identity: str) -> Resource | None:
        """One resource, or None."""
        found = self._select(
            "cloud=? AND account=? AND region=? AND type=? AND id=?", (cloud, account, region, kind, identity)
        )
        return found[0] if found else None

    def resources(self, **where: str) -> list[Resource]:
        """All resources with these column values (cloud, account, region, type, owner, state), oldest first."""
        columns = list(where)
        clause = " AND ".join(f"{c}=?" for c in columns) or "1"
        return self._select(clause, tuple(where[c] for c in columns))

    def _select(self, clause: str, values: tuple[str, ...]) -> list[Resource]:
        with self.lock:
            rows = self._db.execute(f"SELECT * FROM resources WHERE {clause} ORDER BY created, id", values).fetchall()
        return [_resource(row) for row in rows]

    def counts(self) -> list[tuple[str, str, str, int]]:
        """(cloud, type, owner kind, count)."""
        with self.lock:
            rows = self._db.execute(
                "SELECT cloud, type, CASE instr(owner, ':') WHEN 0 THEN owner "
                "ELSE substr(owner, 1, instr(owner, ':') - 1) END AS o, count(*) FROM resources "
                "GROUP BY cloud, type, o ORDER BY cloud, type, o"
            ).fetchall()
        return [(str(a), str(b), str(c), int(d)) for a, b, c, d in rows]

    # -- operations -------------------------------------------------------------------------------------------------
    def put_operation(self, o: Operation) -> None:
        """Insert or replace."""
        row = (o.id, o.cloud, o.kind, o.account, o.region, o.type, o.resource, json.dumps(o.request), o.status,
               o.started, o.due, json.dumps(o.result), json.dumps(o.error))  # fmt: skip
        with self.lock:
            self._db.execute("INSERT OR REPLACE INTO operations VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", row)

    def operation(self, identity: str) -> Operation | None:
        """One operation, or None."""
        found = self._operations("id=?", (identity,))
        return found[0] if found else None

    def running(self) -> list[Operation]:
        """Operations that have not ended."""
        return self._operations("status='running'", ())

    def forget_operations(self, before: float) -> None:
        """Drop ended operations that started before a simulated time."""
        with self.lock:
            self._db.execute("DELETE FROM operations WHERE status<>'running' AND started<?", (before,))

    def _operations(self, clause: str, values: tuple[str, ...]) -> list[Operation]:
        with self.lock:
            rows = self._db.execute(f"SELECT * FROM operations WHERE {clause} ORDER BY started", values).fetchall()
        return [_operation(row) for row in rows]

    # -- meta -------------------------------------------------------------------------------------------------------
    def meta(self, key: str) -> Any:
        """A noted value, None when there is none."""
        with self.lock:
            row = self._db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def set_meta(self, key: str, value: Any) -> None:
        """Note a value."""
        with self.lock:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (key, json.dumps(value)))
