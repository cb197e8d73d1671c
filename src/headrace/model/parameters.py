"""The values of a query's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.errors import HeadraceError, InvalidArgument
from headrace.model.expression import Value, to_value


def to_parameters(given: Sequence[object] | Mapping[str, object] | None) -> dict[str, Value | None]:
    """Values by the names of the parameters, which are numbers from 1 on where they have none; None is null.

    Raises:
        InvalidArgument: some are no values.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        named = dict(given)
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        named = {str(number): value for number, value in enumerate(given, 1)}
    else:
        raise InvalidArgument(
            f"params is of type {type(given).__name__}, which is refused",
            hint="give a list for each ?, or a dict for each $name",
        )
    return {name: None if value is None else _value(name, value) for name, value in named.items()}


def _value(name: object, given: object) -> Value:
    if not isinstance(name, str):
        raise InvalidArgument(f"a parameter is named by text, not by {name!r}")
    try:
        return to_value(given)
    except HeadraceError as error:
        raise InvalidArgument(f"parameter ${name}: {error.message}", hint=error.hint) from None
