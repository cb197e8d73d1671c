"""What users hold: stores, feature groups, queries, feature views, results.

store → feature_group · query → feature_view → result; each works on a `headrace.backend.Backend`.
"""
