"""Pulumi's own protobuf classes, imported without running `pulumi/__init__.py` (0.4 s that each engine call would pay).

The host never runs a program in its own process, so the half-empty `pulumi` package here is seen by nobody else.
"""

import importlib.util
import sys
import types
from pathlib import Path


def _bare_package(name: str, folder: Path) -> None:
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module


_spec = importlib.util.find_spec("pulumi")
if _spec is None or _spec.origin is None:
    raise ImportError("the `pulumi` distribution is not installed in this Python environment")
_root = Path(_spec.origin).parent
_bare_package("pulumi", _root)
_bare_package("pulumi.runtime", _root / "runtime")

from pulumi.runtime.proto import (  # noqa: E402
    language_pb2,
    language_pb2_grpc,
    plugin_pb2,
)

__all__ = ["language_pb2", "language_pb2_grpc", "plugin_pb2"]
