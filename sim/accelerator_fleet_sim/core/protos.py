"""Loads Pulumi's own protobuf classes without importing the SDK (0.8 s and 40 MB that a plugin does not need)."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from pathlib import Path
from typing import Any


def _shell(name: str, folder: Path) -> None:
    """Register an empty package at `folder`, so that submodules import while its `__init__` does not run."""
    if name in sys.modules:
        return
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    module.__spec__ = spec
    sys.modules[name] = module


def _pulumi_folder() -> Path:
    for entry in sys.path:
        folder = Path(entry or ".") / "pulumi"
        if (folder / "runtime" / "proto" / "provider_pb2.py").exists():
            return folder
    raise ImportError("the pulumi SDK is not installed in this environment")


def load() -> tuple[Any, Any, Any]:
    """`provider_pb2`, `provider_pb2_grpc` and `plugin_pb2`.

    Where the SDK was imported already (tests in one process) its modules are used as they are.
    """
    if "pulumi.runtime.proto" not in sys.modules:
        folder = _pulumi_folder()
        _shell("pulumi", folder)
        _shell("pulumi.runtime", folder / "runtime")
        _shell("pulumi.runtime.proto", folder / "runtime" / "proto")
    return (
        importlib.import_module("pulumi.runtime.proto.provider_pb2"),
        importlib.import_module("pulumi.runtime.proto.provider_pb2_grpc"),
        importlib.import_module("pulumi.runtime.proto.plugin_pb2"),
    )


def submodule(name: str) -> Any:
    """One more of the protobuf modules, when it is needed."""
    return importlib.import_module(f"pulumi.runtime.proto.{name}")
