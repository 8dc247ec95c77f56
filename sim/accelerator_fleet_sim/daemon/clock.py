"""Simulated time: real time times a factor, standing still while the datacentre does."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

from .store import Store

DEFAULT_SPEED = 60.0  # one simulated minute a second: a cluster, its NAT gateway and node groups in under 15 s


class Clock:
    """Simulated seconds since 1970. `speed` simulated seconds pass in a real one."""

    def __init__(self, store: Store, speed: float | None = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self.speed = float(speed or store.meta("speed") or DEFAULT_SPEED)
        self._base = float(store.meta("time") or time.time())
        self._real = time.monotonic()
        store.set_meta("speed", self.speed)

    def now(self) -> float:
        """Simulated time."""
        with self._lock:
            return self._base + (time.monotonic() - self._real) * self.speed

    def set_speed(self, speed: float) -> None:
        """Change the factor from now on."""
        now = self.now()
        with self._lock:
            self._base, self._real, self.speed = now, time.monotonic(), float(speed)
        self._store.set_meta("speed", self.speed)

    def save(self) -> None:
        """Note the time, so that a restart goes on from here."""
        self._store.set_meta("time", self.now())

    def real_wait(self, until: float) -> float:
        """Real seconds until a simulated time; not negative."""
        return max(0.0, (until - self.now()) / self.speed)

    def iso(self) -> str:
        """Simulated time as AWS prints it."""
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
