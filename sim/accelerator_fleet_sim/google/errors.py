"""Errors of the simulated Google APIs: code, reason and message, and the text that the provider makes of them."""

from __future__ import annotations

from typing import Any

from ..daemon.operations import Later

__all__ = ["GoogleError", "Later", "Unhealthy", "body", "invalid", "not_found"]


class GoogleError(Exception):
    """What an API call answered. `reason` empty: the message stands alone (an operation's or the provider's own)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


class Unhealthy(Exception):
    """Something was made that did not become healthy: it stays, and the wait for it failed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def invalid(field: str, value: Any, why: str) -> GoogleError:
    """Compute Engine's usual refusal of a value."""
    return GoogleError(400, "invalid", f"Invalid value for field 'resource.{field}': '{value}'. {why}")


def not_found(path: str) -> GoogleError:
    """Compute Engine's answer for what does not exist."""
    return GoogleError(404, "notFound", f"The resource '{path}' was not found")


def body(error: GoogleError, doing: str) -> dict[str, Any]:
    """The error as the daemon answers it. `doing` is the provider's lead, such as `Error creating Network`."""
    text = f"googleapi: Error {error.status}: {error.message}, {error.reason}" if error.reason else error.message
    return {
        "code": error.reason or "error", "message": error.message, "status": error.status,
        "text": f"{doing}: {text}" if doing else text,
    }  # fmt: skip
