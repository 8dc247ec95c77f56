"""Resolves `extends:`: maps merge, sites, pools, volumes and purchases merge by name, everything else is replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from accelerator_fleet.errors import FleetError, nearest, raise_all
from accelerator_fleet.spec.read import Tree, read
from accelerator_fleet.spec.secret import secrets_in_comments

NAMED_LISTS: Final = ("sites", "pools", "volumes", "purchases")


def resolve(path: Path) -> Tree:
    """The file at `path` with everything it extends merged under it. Raises on cycles and missing files."""
    return _resolve(path, shown(path), None, ())


def shown(path: Path) -> str:
    """A file's name in messages: its folder and itself, `fleets/dev.yaml`."""
    return f"{path.parent.name}/{path.name}" if path.parent.name else path.name


def _resolve(path: Path, name: str, at: Tree | None, seen: tuple[Path, ...]) -> Tree:
    here = path.resolve()
    if at is not None and not path.is_file():
        close = nearest(path.stem, (p.stem for p in path.parent.glob("*.yaml")))
        hint = f"; nearest: {close[0]}" if close else ""
        raise at.error(f"no file '{path.name}' beside {at.file}{hint}")
    if at is not None and here in seen:
        chain = " -> ".join(p.stem for p in (*seen, here))
        raise at.error(f"the files extend each other in a circle: {chain}")
    tree = read(path, name)
    raise_all(secrets_in_comments(path.read_text(encoding="utf-8"), name))
    assert isinstance(tree.value, dict)
    _unique_names(tree.value)
    base = tree.value.get("extends")
    if base is None:
        return tree
    own = {k: v for k, v in tree.value.items() if k != "extends"}
    if not isinstance(base.value, str) or not base.value:
        raise base.error("names one other file of this folder, without its suffix, like `extends: base`")
    stem = base.value.removesuffix(".yaml")
    if Path(stem).name != stem:
        raise base.error(f"names a file of the same folder, not a path: '{base.value}'")
    other = path.parent / f"{stem}.yaml"
    under = _resolve(other, shown(other), base, (*seen, here))
    return _merge(under, replace(tree, value=own), top=True)


def _unique_names(value: dict[str, Tree]) -> None:
    errors: list[FleetError] = []
    for key in NAMED_LISTS:
        items = value.get(key)
        if items is None or not isinstance(items.value, list):
            continue
        first: dict[str, Tree] = {}
        for item in items.value:
            name = _name(item)
            if name is None:
                continue
            if name in first:
                assert isinstance(item.value, dict)
                text = f"'{name}' is already the name of {first[name].path}; every {key[:-1]} has its own"
                errors.append(item.value["name"].error(text))
            first.setdefault(name, item)
    raise_all(errors)


def _name(item: Tree) -> str | None:
    if isinstance(item.value, dict) and "name" in item.value:
        name = item.value["name"].value
        return name if isinstance(name, str) else None
    return None


def _merge(under: Tree, over: Tree, *, top: bool = False) -> Tree:
    if not (isinstance(under.value, dict) and isinstance(over.value, dict)):
        return over
    merged = dict(under.value)
    for key, value in over.value.items():
        if key not in merged:
            merged[key] = value
        elif top and key in NAMED_LISTS:
            merged[key] = _merge_named(merged[key], value)
        else:
            merged[key] = _merge(merged[key], value)
    return replace(over, value=merged)


def _merge_named(under: Tree, over: Tree) -> Tree:
    """Entries of one name merge in place; new ones follow in their own order."""
    if not (isinstance(under.value, list) and isinstance(over.value, list)):
        return over
    later = {_name(i): i for i in over.value if _name(i) is not None}
    known = {_name(i) for i in under.value}
    kept = [_merge(i, later[_name(i)]) if _name(i) in later else i for i in under.value]
    return replace(over, value=[*kept, *(i for i in over.value if _name(i) is None or _name(i) not in known)])
