"""What moves in the text of a query in SQL: in names, in what is compared, and in numbers that look like a day."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# What has no end takes all that is left, so that no text is gone through twice.
_TOKENS = re.compile(
    r"""
      (?P<passed> --[^\n]* | /\*.*?(?:\*/|\Z) | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z) )
    | (?P<text> [eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z) )
    | (?P<name> "(?:[^"]|"")*(?:"|\Z) | [^\W\d]\w* )
    | (?P<number> \d[\w.]* )
    | (?P<other> \s+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = ("passed", "text", "name", "number", "other")
_BEFORE_TABLES = frozenset({"from", "join"})


def replaced(
    sql: str,
    table: Callable[[str], str],
    name: Callable[[str], str],
    text: Callable[[str], str],
) -> str:
    """The query with what these give in the places of the names of tables, of other names, and of texts and numbers."""
    tables = {word.casefold() for word in _tables(sql)}
    found = []
    for kind, word in _tokens(sql):
        if kind == "name":
            found.append(table(word) if word.casefold() in tables else name(word))
        else:
            found.append(text(word) if kind in ("text", "number") else word)
    return "".join(found)


def _tokens(sql: str) -> Iterator[tuple[str, str]]:
    for match in _TOKENS.finditer(sql):
        yield next(kind for kind in _KINDS if match[kind] is not None), match.group()


def _tables(sql: str) -> Iterator[str]:
    """The names after FROM and JOIN, without those of their projects."""
    words = [(kind, word) for kind, word in _tokens(sql) if kind != "passed" and not word.isspace()]
    for i, (_, word) in enumerate(words):
        if word.casefold() not in _BEFORE_TABLES:
            continue
        at = i + 1
        while at + 2 < len(words) and words[at][0] == "name" and words[at + 1][1] == ".":
            at += 2
        if at < len(words) and words[at][0] == "name":
            yield words[at][1]
