"""Finding definitions by what people wrote into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.errors import InvalidArgument

_LONGEST = 1_000


def mentions(search: str | None, texts: Iterable[str]) -> bool:
    """Whether each word of `search` stands in one of the texts, in whatever case; None is in all."""
    if search is None:
        return True
    if len(search) > _LONGEST:
        raise InvalidArgument(
            f"a search for {len(search):,} characters is refused", hint="search for a few words"
        )
    lines = [text.casefold() for text in texts]
    return all(any(word in line for line in lines) for word in search.casefold().split())


def told_texts(name: str, description: str, tags: Mapping[str, str]) -> list[str]:
    """What a definition tells people."""
    return [name, description, *tags, *tags.values()]
