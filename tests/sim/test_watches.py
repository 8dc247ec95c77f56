"""A machine whose inotify instances are used up says so, with the words that help."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from accelerator_fleet_sim.cluster import watches
from accelerator_fleet_sim.cluster.model import ClusterError


def processes(folder: Path, instances: int) -> Path:
    """A /proc with one process that has so many inotify instances, and another open file."""
    handles = folder / "proc" / "4711" / "fd"
    handles.mkdir(parents=True)
    for number in range(instances):
        os.symlink("anon_inode:inotify", handles / str(number))
    os.symlink("/dev/null", handles / "999")
    (folder / "proc" / "self").mkdir()
    return folder / "proc"


def test_a_cluster_that_fits(tmp_path: Path) -> None:
    (tmp_path / "limit").write_text("128\n")
    watches.check(tmp_path / "limit", processes(tmp_path, 128 - watches.EACH))


def test_a_cluster_that_does_not(tmp_path: Path) -> None:
    (tmp_path / "limit").write_text("128\n")
    with pytest.raises(ClusterError, match=r"128 inotify instances.*; 105 are taken.*sysctl -w fs.inotify"):
        watches.check(tmp_path / "limit", processes(tmp_path, 105))


def test_a_machine_without_inotify(tmp_path: Path) -> None:
    watches.check(tmp_path / "none", tmp_path)


def test_counts_real_ones() -> None:
    before = watches.taken()
    instance = ctypes.CDLL(None).inotify_init()
    try:
        assert instance >= 0
        assert watches.taken() > before
    finally:
        os.close(instance)
