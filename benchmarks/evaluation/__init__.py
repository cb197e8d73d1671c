"""The experiments of the papers that Headrace comes from, measured again: `python -m benchmarks --suite NAME`.

    papers: what was printed ─┐
    experiments ── suite ── session: step by step ── reports ── rows ── page, CSV

An experiment says which cases of a workload stand for which systems of a paper; a suite, at which sizes and how
often. Each step is kept when it is done, so that a suite that was stopped goes on where it was.
"""
