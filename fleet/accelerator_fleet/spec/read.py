"""Reads one YAML file into a tree that remembers file, line and written text of every value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from accelerator_fleet.errors import FleetError

Scalar = str | int | float | bool | None
# A spec is small; the bounds stop alias loops and alias bombs before they cost anything.
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 40


@dataclass(frozen=True)
class Tree:
    """A value as written. `raw` is a scalar's text before YAML typed it ('000000000000' stays twelve zeros)."""

    value: Scalar | dict[str, Tree] | list[Tree]
    file: str
    line: int
    path: str  # inside its own file, not after merging
    raw: str = ""
    quoted: bool = False

    def plain(self) -> object:
        """The value as plain Python data, as pydantic wants it."""
        if isinstance(self.value, dict):
            return {k: v.plain() for k, v in self.value.items()}
        if isinstance(self.value, list):
            return [v.plain() for v in self.value]
        return self.value

    def error(self, message: str, key: str | None = None) -> FleetError:
        """An error at this value, or at `key` inside it."""
        path = join(self.path, key) if key else self.path
        return FleetError(path, message, file=self.file, line=self.line)

    def walk(self) -> Iterator[tuple[str, Tree]]:
        """Every value below and this one, with its path in this tree (after merging: the merged path)."""
        yield from _walk(self, "")


def _walk(tree: Tree, path: str) -> Iterator[tuple[str, Tree]]:
    yield path, tree
    if isinstance(tree.value, dict):
        for key, item in tree.value.items():
            yield from _walk(item, join(path, key))
    elif isinstance(tree.value, list):
        for i, item in enumerate(tree.value):
            yield from _walk(item, f"{path}[{i}]")


def join(path: str, key: str) -> str:
    """`pools[0]` and `cards` -> `pools[0].cards`."""
    return f"{path}.{key}" if path else key


class _Builder:
    """Turns PyYAML's nodes into a Tree, refusing duplicate keys, foreign tags and endless aliases."""

    def __init__(self, file: str, loader: yaml.constructor.SafeConstructor) -> None:
        self._file = file
        self._loader = loader
        self._count = 0

    def build(self, node: yaml.Node, path: str, depth: int = 0) -> Tree:
        line = node.start_mark.line + 1
        self._count += 1
        if self._count > MAX_NODES or depth > MAX_DEPTH:
            top = re.split(r"[.\[]", path)[0]
            raise FleetError(top, "aliases repeat or nest without end; write the values out", file=self._file)
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _CONTAINER_TAGS:
            raise FleetError(path, f"the YAML tag '{node.tag}' is not used here", file=self._file, line=line)
        if isinstance(node, yaml.MappingNode):
            return Tree(self._mapping(node, path, depth), self._file, line, path)
        if isinstance(node, yaml.SequenceNode):
            items = [self.build(n, f"{path}[{i}]", depth + 1) for i, n in enumerate(node.value)]
            return Tree(items, self._file, line, path)
        assert isinstance(node, yaml.ScalarNode)
        return Tree(self._scalar(node, path, line), self._file, line, path, str(node.value), node.style in ("'", '"'))

    def _scalar(self, node: yaml.ScalarNode, path: str, line: int) -> Scalar:
        # Dates and the like stay the text that was written: the spec has no date type.
        if node.tag not in _PLAIN_TAGS:
            if node.tag.startswith("tag:yaml.org,2002:") and "python" not in node.tag:
                return str(node.value)
            raise FleetError(path, f"the YAML tag '{node.tag}' is not used here", file=self._file, line=line)
        try:
            value = self._loader.construct_object(node)
        except (ValueError, yaml.YAMLError):
            return str(node.value)
        return value if isinstance(value, (str, int, float, bool)) or value is None else str(node.value)

    def _mapping(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Tree]:
        out: dict[str, Tree] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise FleetError(path, "a key is one word, not a list or a map", file=self._file, line=line)
            key = str(key_node.value)
            here = join(path, key)
            if key == "<<":
                raise FleetError(here, "merge keys are not used here; use `extends:`", file=self._file, line=line)
            if key in out:
                text = f"this key already stands in line {first[key]}; keep one"
                raise FleetError(here, text, file=self._file, line=line)
            out[key] = self.build(value_node, here, depth + 1)
            first[key] = line
        return out


_CONTAINER_TAGS: Final = frozenset(("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"))
_PLAIN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "bool", "null"))


def read(path: Path, shown: str) -> Tree:
    """The file as a Tree; `shown` is its name in messages. Raises FleetError when it is no YAML map."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FleetError("", "no such file", file=shown) from None
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "not UTF-8 text"
        raise FleetError("", f"cannot be read: {reason}", file=shown) from None
    return parse(text, shown)


def parse(text: str, shown: str) -> Tree:
    """`read` for text that is already in memory."""
    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = loader_class(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise FleetError("", "the file is empty; a spec starts with `extends:` or `fleet:`", file=shown)
        if not isinstance(node, yaml.MappingNode):
            raise FleetError("", "a spec is a map of keys (fleet, tags, sites, pools)", file=shown, line=1)
        return _Builder(shown, loader).build(node, "")
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        line = mark.line + 1 if mark else None
        raise FleetError("", f"not valid YAML, or cut off: {_problem(e)}", file=shown, line=line) from None
    except yaml.YAMLError as e:
        raise FleetError("", f"not valid YAML: {str(e).splitlines()[0]}", file=shown) from None
    finally:
        loader.dispose()


def _problem(e: yaml.MarkedYAMLError) -> str:
    parts = [e.context, e.problem]
    if e.context_mark and e.context and e.problem_mark and e.context_mark.line != e.problem_mark.line:
        parts[0] = f"{e.context} that starts in line {e.context_mark.line + 1}"
    return ", ".join(str(p) for p in parts if p)
