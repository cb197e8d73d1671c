"""Measurements of Headrace beside what it replaces: `python -m benchmarks WORKLOAD`.

    catalog ── workload: cases, goals ── measure ── process ══ worker: runner ── system
                   │                        │
              data, lake               checksum, median ── report, plot

A workload is data: cases (one system doing one job), and goals. Each case has a process of its own. First every
case runs once and their answers are compared: where they differ, nothing is timed. Then they run in turns.
"""
