"""What was measured, in words."""

from __future__ import annotations


def amount(value: float, unit: str) -> str:
    """Of an experiment's unit."""
    if unit == "bytes":
        return megabytes(value)
    if unit == "MB/s":
        return f"{value:,.0f} MB/s"
    if unit == "%":
        return f"{value:.1f} %"
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.3g} s" if value >= 0.1 else f"{1000 * value:.3g} ms"


def cpus(number: int) -> str:
    return f"{number} CPU{'' if number == 1 else 's'}"


def megabytes(value: float) -> str:
    return f"{value / 1e6:,.1f} MB"
