"""Reports of steps, as if they had been measured."""

from __future__ import annotations

import dataclasses

from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation.suite import Step
from benchmarks.machine import Load, machine
from benchmarks.outcome import case_outcomes
from benchmarks.report import Report
from benchmarks.sample import Sample
from benchmarks.workload import Case

SECONDS = {"pickle, a row": 0.5, "headrace": 0.125}


def report_of(step: Step, seconds: dict[str, float] = SECONDS) -> Report:
    """As if each case took so long in all rounds."""
    workload = WORKLOADS[step.workload]
    samples = [
        Sample(
            case=name,
            number=number,
            first=number == 0,
            wall=seconds.get(name, 1.0),
            cpu=1.0,
            server_cpu=0.0,
            written=0,
            rows=10,
            checksum=None,
            client_peak=1,
            service_peak=0,
            size=100 if name == "headrace" else 250,
        )
        for name in workload.systems
        for number in range(step.runs + 1)
    ]
    cases = [Case(name, None) for name in workload.systems]  # type: ignore[arg-type]
    return Report(
        workload=step.workload,
        about=workload.about,
        size=f"{step.scale:g}",
        scale=step.scale,
        unit=workload.unit,
        runs=step.runs,
        command="",
        started="2026-01-01T00:00:00+00:00",
        seconds=60.0,
        machine=dataclasses.replace(machine(), processors=tuple(range(step.cpus or 2))),
        load=Load(1.0, 2.0),
        elsewhere=0.0,
        noisy=False,
        background={},
        baseline=workload.baseline,
        cases=case_outcomes(dataclasses.replace(workload, baseline=None), cases, samples),
        goals=[],
        samples=samples,
    )
