"""Plain tables for the terminal: aligned columns, no frames, nothing cut off when the output is piped."""

from __future__ import annotations

from collections.abc import Sequence


def show(head: Sequence[str], rows: Sequence[Sequence[str]], indent: int = 0) -> None:
    """Prints a header line and rows; columns are two spaces apart, numbers to the right."""
    print(render(head, rows, indent))


def render(head: Sequence[str], rows: Sequence[Sequence[str]], indent: int = 0) -> str:
    """The table as text."""
    lines = [list(head), *[list(row) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    right = [bool(rows) and all(_number(row[i]) for row in rows) for i in range(len(head))]

    def cell(text: str, i: int) -> str:
        return text.rjust(widths[i]) if right[i] else text.ljust(widths[i])

    return "\n".join(" " * indent + "  ".join(cell(t, i) for i, t in enumerate(line)).rstrip() for line in lines)


def _number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).isdigit() or text in {"-", "?"}


def count(number: int, word: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {word}{'' if number == 1 else 's'}"
