"""Which cases of which workloads stand for which systems of a paper."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from benchmarks.catalog import WORKLOADS

Unit = Literal["s", "bytes", "MB/s", "%"]


@dataclasses.dataclass(frozen=True)
class Point:
    """A size at which a workload is run.

    Args:
        name: as the paper says it, where it has such a size.
        workload: its name.
        scale: in the workload's unit, which is megabytes where they are counted by the second; its full size where
            none is given.
        times: how often a run does what the paper does once.
    """

    name: str
    workload: str
    scale: float | None = None
    times: float = 1

    @property
    def number(self) -> float:
        return WORKLOADS[self.workload].sizes["full"] if self.scale is None else self.scale


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One table of a paper.

    Args:
        paper: its key.
        name: as in the paper's figures.
        systems: cases of the workload, each with the paper's system for which it stands; None where the paper has none.
        ours: the case that the paper's own system became.
        against: the case that it is to replace.
        also: other cases that are compared, each with the one that it is to replace.
        sums: systems that are several cases, one after the other.
        unit: of what is compared.
        beyond: a case; what is compared is the share of each other's time that it takes longer. The unit is `%`.
        whole: whether what is given has all rows of the table, so that rows a second can be told.
        kinds: whether its sizes are of several kinds, so that the last does not stand for the others.
        boxes: whether all runs are drawn, as boxes, as the paper has them.
        said: what is to be known of the comparison, in a sentence.
    """

    paper: str
    name: str
    about: str
    points: tuple[Point, ...]
    systems: Mapping[str, str | None]
    ours: str
    against: str
    said: str
    sums: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    unit: Unit = "s"
    whole: bool = True
    kinds: bool = False
    boxes: bool = False
    also: tuple[tuple[str, str], ...] = ()
    beyond: str | None = None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What is compared, the paper's own system first."""
        return ((self.ours, self.against), *self.also)

    @property
    def key(self) -> str:
        return f"{self.paper}/{self.name}"

    @property
    def slug(self) -> str:
        """For names of files and places in a page."""
        return self.key.replace("/", "-").replace(",", "").replace(" ", "-")
