"""Operations that take simulated time: they end whatever happens to who asked, and go on after a restart."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .clock import Clock
from .store import Operation, Store

Finish = Callable[[Operation], tuple[dict[str, Any] | None, dict[str, Any] | None]]


class Later(Exception):
    """The operation cannot end yet: look again after some simulated seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"in {seconds} s")
        self.seconds = seconds


class Operations:
    """The queue of running operations. `finish` of a cloud ends one and gives (result, error)."""

    def __init__(self, store: Store, clock: Clock, log: Callable[[str], None]) -> None:
        self.store, self.clock, self.log = store, clock, log
        self.clouds: dict[str, Finish] = {}
        self._changed = threading.Condition()
        self._queue: list[tuple[float, str]] = []
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="operation")
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="operations", daemon=True)

    def start(self) -> None:
        """Begin, with the operations that an earlier process left."""
        for operation in self.store.running():
            self.add(operation)
        self._thread.start()

    def add(self, operation: Operation) -> None:
        """Queue an operation that the store already holds."""
        with self._changed:
            heapq.heappush(self._queue, (operation.due, operation.id))
            self._changed.notify_all()

    def wake(self) -> None:
        """Look again: the clock changed."""
        with self._changed:
            self._changed.notify_all()

    def stop(self) -> None:
        """Take no further operation; those being finished end first, the others stay for the next process."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def wait(self, identity: str, seconds: float) -> Operation | None:
        """The operation once it ended, or as it is after some real seconds."""
        found = self.store.operation(identity)
        if found is None or found.status != "running":
            return found
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._ended(identity), timeout=seconds)
        return self.store.operation(identity)

    def _ended(self, identity: str) -> bool:
        found = self.store.operation(identity)
        return found is None or found.status != "running"

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopping:
                    return
                if not self._queue:
                    self._changed.wait()
                    continue
                due, identity = self._queue[0]
                wait = self.clock.real_wait(due)
                if wait > 0:
                    self._changed.wait(timeout=min(wait, 3600))
                    continue
                heapq.heappop(self._queue)
            self._pool.submit(self.end, identity)

    def end(self, identity: str) -> None:
        """Finish one operation and note how it ended."""
        operation = self.store.operation(identity)
        if operation is None or operation.status != "running":
            return
        try:
            result, error = self.clouds[operation.cloud](operation)
        except Later as later:
            operation.due = self.clock.now() + later.seconds
            self.store.put_operation(operation)
            self.add(operation)
            return
        except Exception as problem:  # a defect must reach who asked, not hang the operation
            self.log(f"operation {identity} ({operation.kind} {operation.type} {operation.resource}): {problem!r}")
            text = f"the embedded datacentre failed: {problem!r} (a defect; see its log)"
            result, error = None, {"code": "InternalFailure", "message": str(problem), "text": text}
        operation.status = "failed" if error else "done"
        operation.result, operation.error = result, error
        self.store.put_operation(operation)
        with self._changed:
            self._changed.notify_all()


def describe(operation: Operation) -> dict[str, Any]:
    """An operation as HTTP answers it."""
    return {
        "operation": operation.id, "status": operation.status, "kind": operation.kind, "type": operation.type,
        "id": operation.resource, "result": operation.result, "error": operation.error,
    }  # fmt: skip
