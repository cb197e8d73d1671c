"""Of which forms texts are that formulas convert, on every engine."""

_NUMBERS = (
    "^ *[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
    "|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN]) *\\z"
)
_DAY = "[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK = "([01]?[0-9]|2[0-3]):[0-5]?[0-9](:[0-5]?[0-9]([.][0-9]+)?)?"
FORMS = {
    "bigint": _NUMBERS,
    "double": _NUMBERS,
    "boolean": "(?i)^(t|true|y|yes|1|f|false|n|no|0)\\z",
    "date": f"^ *{_DAY} *\\z",
    "timestamp": f"^{_DAY}([ T]{_CLOCK}(Z|[+-][0-9]{{2}}(:[0-9]{{2}})?)?)?\\z",
}
"""What texts must be like to become values of each type, as regular expressions of RE2 and of Java. What one engine
takes beside them, another does not."""
_TIMES = "not in the years 1 to 9999, or in no form that is taken: "
REFUSED = {
    "bigint": "no number: ",
    "double": "no number: ",
    "boolean": "no boolean: ",
    "date": _TIMES,
    "timestamp": _TIMES,
}
"""What is put before other texts, so that no engine has a value of them, and its error tells why."""
