"""Texts that formulas make of others, and how long these may become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.model.formula import Call, Constant, Formula, below

LONGEST_MADE = 65_536
"""Bytes of a text that is made longer than what it is made of."""
_FEW_LETTERS, _FEW_TEXTS = 1_000, 3


def is_no_longer(one: Formula, other: Formula) -> bool:
    """Of literals, whether one has no more bytes than the other."""
    if not (isinstance(one, Constant) and isinstance(other, Constant)):
        return False
    return len(one.value.text.encode()) <= len(other.value.text.encode())


def joined(parts: Sequence[Formula]) -> Iterator[Formula]:
    """What is put together, also where it is in several steps."""
    for part in parts:
        if isinstance(part, Call) and part.function == "concat":
            yield from joined(part.arguments)
        else:
            yield part


def together(parts: Sequence[str]) -> str:
    """Texts put together in halves: one after the other, each would be copied as often as there are others."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({together(parts[:middle])} || {together(parts[middle:])})"


def is_short(parts: Sequence[Formula]) -> bool:
    """Whether a few texts that are stored, with some letters between them, are put together."""
    letters = sum(len(part.value.text) for part in parts if isinstance(part, Constant))
    others = [part for part in parts if not isinstance(part, Constant)]
    return letters <= _FEW_LETTERS and len(others) <= _FEW_TEXTS and not any(map(_grows, others))


def _grows(formula: Formula) -> bool:
    """Whether it makes longer texts of others."""
    if isinstance(formula, Call) and formula.function in ("concat", "replace"):
        return not (formula.function == "replace" and is_no_longer(*formula.arguments[:0:-1])) or any(
            map(_grows, formula.arguments)
        )
    return any(map(_grows, below(formula)))
