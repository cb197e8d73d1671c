"""Point-in-time joins of random groups, queries and spines, against the brute-force reference."""

from __future__ import annotations

import hypothesis
import pytest

from contract.cases import Case, cases
from contract.driver import check

# Daily event times make every creation warn.
pytestmark = pytest.mark.filterwarnings("ignore:.*min_age:UserWarning", "ignore:.*can match:UserWarning")
EXAMPLES = hypothesis.settings.default.max_examples


@hypothesis.given(cases())
def test_joins_are_those_of_the_reference(embedded_store, case: Case):
    check(embedded_store, case)


@hypothesis.settings(max_examples=max(EXAMPLES // 10, 20))
@hypothesis.given(cases())
def test_joins_are_those_of_the_reference_remote(remote_store, case: Case):
    check(remote_store, case)
