"""What is kept stays within its room, and the least used goes first."""

from __future__ import annotations

from headrace.engine.kept import Kept


def test_the_least_used_goes_first():
    kept: Kept[str] = Kept(3)
    for key in "abc":
        kept.put(key, key.upper())
    assert kept.get("a") == "A"
    kept.put("d", "D")
    assert [kept.get(key) for key in "abcd"] == ["A", None, "C", "D"]


def test_sizes_count():
    kept: Kept[str] = Kept(10)
    kept.put("small", "s", 4)
    kept.put("small", "t", 6)
    kept.put("large", "l", 4)
    assert (kept.get("small"), kept.get("large")) == ("t", "l")
    kept.put("huge", "h", 11)
    assert (kept.get("small"), kept.get("large"), kept.get("huge")) == (None, None, None)


def test_what_is_dropped_makes_room():
    kept: Kept[str] = Kept(10)
    kept.put("large", "l", 9)
    kept.drop("large")
    kept.drop("never there")
    kept.put("small", "s", 4)
    kept.put("other", "o", 6)
    assert (kept.get("large"), kept.get("small"), kept.get("other")) == (None, "s", "o")
