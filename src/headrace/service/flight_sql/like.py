"""Patterns of SQL's LIKE, by which clients ask for names."""

from __future__ import annotations

from headrace.errors import InvalidArgument

_LONGEST = 1_000


class LikePattern:
    """`%` is any text, `_` any character, and a backslash takes the meaning from what follows.

    Matched in time that grows with the lengths of pattern and name alone: a regular expression would try all ways in
    which several `%` can share a name, for hours, and keep everybody else waiting meanwhile.

    Raises:
        InvalidArgument: no name is as long as that.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > _LONGEST:
            raise InvalidArgument(f"a pattern of {len(pattern):,} characters is longer than any name")
        self._parts: list[str] = []
        """Single characters that must stand there; `%` and `_` with their meaning are None and the empty text."""
        self._many: list[bool] = []
        escaped = False
        for character in pattern:
            if character == "\\" and not escaped:
                escaped = True
                continue
            if character == "%" and not escaped:
                if not self._many or not self._many[-1]:
                    self._add("", many=True)
            else:
                self._add("" if character == "_" and not escaped else character)
            escaped = False
        if escaped:
            self._add("\\")

    def matches(self, name: str) -> bool:
        at = place = 0
        again: tuple[int, int] | None = None
        while at < len(name):
            if place < len(self._parts) and self._many[place]:
                again = place + 1, at
                place += 1
            elif place < len(self._parts) and self._parts[place] in ("", name[at]):
                at, place = at + 1, place + 1
            elif (
                again is not None
            ):  # the last % takes one character more; what came before it need not be tried anew
                again = again[0], again[1] + 1
                place, at = again
            else:
                return False
        return all(self._many[place:])

    def _add(self, part: str, *, many: bool = False) -> None:
        self._parts.append(part)
        self._many.append(many)
