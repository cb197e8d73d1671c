"""What a query that a user wrote as SQL may say: it is read by DuckDB's own parser, and checked against these lists."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from headrace.errors import InvalidArgument, SqlRejected
from headrace.model.name import folded

CATALOG = "headrace"
"""What may stand before the project in the whole name of a table."""

_EXPRESSIONS = """
CONSTANT COLUMN_REF COMPARISON CONJUNCTION OPERATOR FUNCTION CASE CAST TYPE BETWEEN STAR SUBQUERY WINDOW"""
_NODES = """
SELECT_NODE SET_OPERATION_NODE BASE_TABLE SUBQUERY JOIN EMPTY EXPRESSION_LIST ORDER_MODIFIER LIMIT_MODIFIER
DISTINCT_MODIFIER ORDER_DEFAULT ASCENDING DESCENDING"""
# None of them reads a file, a setting or the environment, changes anything, or differs from call to call.
_FUNCTION_NAMES = """
+ - * / // % ** ^ || ~~ !~~ ~~* !~~* abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp factorial
floor gcd greatest isfinite isinf isnan lcm least ln log log10 log2 mod pi pow power radians round sign sin sqrt tan
trunc xor concat concat_ws contains ends_with format hash hex instr left length len lower lpad ltrim md5 ord prefix
regexp_extract regexp_full_match regexp_matches regexp_replace repeat replace reverse right rpad rtrim sha256
split_part starts_with strip_accents strlen strpos substr substring suffix trim unhex unicode upper
date_add date_diff date_part date_sub date_trunc datediff datepart datetrunc day dayname dayofmonth dayofweek
dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear last_day make_date make_time make_timestamp
microsecond millisecond minute month monthname quarter second strftime strptime time_bucket timezone
to_days to_hours to_microseconds to_milliseconds to_minutes to_months to_seconds to_timestamp to_years try_strptime
week weekday weekofyear year yearweek
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
list_value list_extract list_element list_contains list_distinct list_sort list_aggregate array_length unnest
struct_pack struct_extract map map_keys map_values element_at row
coalesce ifnull nullif if typeof"""
_AGGREGATE_NAMES = """
any_value approx_count_distinct approx_quantile arg_max arg_min avg bit_and bit_or bit_xor bool_and bool_or corr
count count_star covar_pop covar_samp entropy first geomean kurtosis last list array_agg max max_by median min
min_by mode product quantile_cont quantile_disc regr_slope regr_intercept skewness stddev stddev_pop stddev_samp
string_agg group_concat listagg sum var_pop var_samp variance"""
_KNOWN_EXPRESSIONS = frozenset(_EXPRESSIONS.split())
_KNOWN_NODES = frozenset(_NODES.split())
AGGREGATES = frozenset(_AGGREGATE_NAMES.split())
FUNCTIONS = AGGREGATES | frozenset(_FUNCTION_NAMES.split())
# Those that are asked for most of what is not the same from call to call, with why not, and another way.
_ASKING = (
    (
        """
        now today clock_timestamp current_date current_localtime current_localtimestamp current_time
        current_timestamp get_current_time get_current_timestamp localtime localtimestamp statement_timestamp
        transaction_timestamp""",
        "it asks for the clock",
        "give the time as a parameter",
    ),
    (
        """
        current_catalog current_database current_query current_role current_schema current_schemas current_user
        session_user user""",
        "it asks who calls, and where",
        "give what it is to be as a parameter",
    ),
    (
        "currval gen_random_uuid nextval random setseed uuid uuidv4 uuidv7",
        "it gives something else each time",
        "hash(…) of a key is a number that looks like chance, and stays",
    ),
    (
        "current_setting getenv getvariable pg_backend_pid version",
        "it asks for the service's own affairs",
        "headrace status tells its version, and more is not told",
    ),
)
_WHY_NOT = {name: (why, hint) for names, why, hint in _ASKING for name in names.split()}
_MAKING_ROWS = frozenset({"range", "generate_series", "unnest"})
WHAT_THERE_IS = "headrace fg list and fv list, or the catalog of a driver, tell what there is to read"
_SOME = ["sum", "count", "min", "max", "date_trunc", "coalesce", "and about 200 more"]
_ALIKE = 0.7
"""Of names of functions; what is less alike is another word."""
_MOST_PARTS = 10_000


@dataclasses.dataclass(frozen=True)
class SqlTable:
    """A table as a query names it.

    Args:
        name: such as `flights` or `flights@v1`.
        project: None is the one in which the query is asked.
        snapshot, timestamp: what `AT (VERSION => 12)` or `AT (TIMESTAMP => '2026-11-02')` says.
    """

    name: str
    project: str | None = None
    snapshot: int | None = None
    timestamp: str | None = None

    @property
    def named(self) -> str:
        """With its project, where that is another than the query's."""
        return self.name if self.project is None else f"{self.project}.{self.name}"

    @property
    def label(self) -> str:
        """What tells it from others of the same query."""
        if self.snapshot is not None:
            return f"{self.named} at version {self.snapshot}"
        return self.named if self.timestamp is None else f"{self.named} at {self.timestamp}"

    @property
    def shown(self) -> str:
        """Its name for the engine. No query holds a NUL, so it is that of no other."""
        parts = [self.project, self.snapshot, self.timestamp]
        return shown_as("\0".join([self.name, *(str(part) for part in parts if part is not None)]))


@dataclasses.dataclass(frozen=True)
class CheckedQuery:
    """A query that says nothing that none may say.

    Args:
        tree: what DuckDB's `json_deserialize_sql` takes. Every table in it bears the name that `shown_as` gives, those
            that the query defines itself, too: so none can be taken for a file, or for a table of the engine's own.
        tables: those that the query does not define itself.
    """

    tree: dict[str, Any]
    tables: tuple[SqlTable, ...]


def shown_as(label: str) -> str:
    """The name by which a checked query asks for a table; the engine folds the case of ASCII letters alone."""
    return f"__headrace_{folded(label).encode().hex()}"


def parameters_of(parsed: Mapping[str, Any]) -> list[str]:
    """The names of the parameters of a parsed query: numbers from 1 on, or what stands after the `$`."""
    found = {str(part["identifier"]) for part in _parts(parsed) if part.get("class") == "PARAMETER"}
    return sorted(found, key=lambda name: (len(name), name))


def with_parameters(parsed: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Put parsed expressions in the places of the parameters.

    Args:
        parsed: is changed.
        values: by the names of the parameters.

    Raises:
        InvalidArgument: some are missing, or too many.
    """
    names = parameters_of(parsed)
    missing, surplus = [n for n in names if n not in values], [n for n in values if n not in names]
    if missing or surplus:
        raise InvalidArgument(
            f"the query has {len(names)} parameters, and {len(values)} were given"
            + (f"; there is none for {', '.join(f'${n}' for n in missing)}" if missing else ""),
            hint="give a value for each ?, or by name for each $name",
        )
    for part in _parts(parsed):
        for key, value in part.items():
            if isinstance(value, list):
                part[key] = [_put(item, values, named=key == "select_list") for item in value]
            else:
                part[key] = _put(value, values)
    for statement in parsed.get("statements", ()):
        statement.pop("named_param_map", None)
    return parsed


def _put(part: Any, values: Mapping[str, Any], *, named: bool = False) -> Any:
    """The part, or what stands for it; a column is `named` like the parameter that it is."""
    if not isinstance(part, dict) or part.get("class") != "PARAMETER":
        return part
    name = str(part["identifier"])
    alias = part.get("alias") or (f"${name}" if named else None)
    return values[name] if alias is None else {**values[name], "alias": alias}


def _parts(root: object) -> list[dict[str, Any]]:
    """All objects of a parsed query. Raises SqlRejected if there are too many."""
    found: list[dict[str, Any]] = []
    left: list[object] = [root]
    seen = 0
    while left:
        part = left.pop()
        seen += 1
        if seen > _MOST_PARTS:
            raise SqlRejected(f"the query has more than {_MOST_PARTS} parts")
        if isinstance(part, list):
            left += part
        elif isinstance(part, dict):
            found.append(part)
            left += part.values()
    return found


def check_query(parsed: dict[str, Any]) -> CheckedQuery:
    """Check a query, and name its tables anew.

    Args:
        parsed: what DuckDB's `json_serialize_sql` gives; it is changed.

    Raises:
        SqlRejected: it is not one query, or says what none may say.
    """
    if parsed.get("error"):
        said = parsed.get("error_message", "no reason was given")
        if parsed.get("error_type") == "not implemented":
            said = "it is another statement"
        raise SqlRejected(
            f"the query cannot be read: {said}",
            hint="a query is one SELECT, which may begin with WITH, VALUES or FROM",
        )
    statements = parsed.get("statements", ())
    if len(statements) != 1:
        raise SqlRejected(f"{len(statements)} statements were given, and one query is expected")
    check = _Check()
    root = statements[0].get("node")
    parts = _parts(root)
    check.walk(root)
    _leave_qualifiers_out(parts, check.tables)
    return CheckedQuery(parsed, tuple(dict.fromkeys(check.tables)))


def _leave_qualifiers_out(parts: list[dict[str, Any]], tables: list[SqlTable]) -> None:
    """Columns named by project and table: the engine knows the table by its own name, or its alias, alone."""
    qualified = {(table.project, table.name) for table in tables if table.project is not None}
    for part in parts:
        names = part.get("column_names")
        if part.get("class") != "COLUMN_REF" or not isinstance(names, list) or len(names) < 3:
            continue
        start = 1 if folded(str(names[0])) == CATALOG and len(names) > 3 else 0
        if (folded(str(names[start])), folded(str(names[start + 1]))) in qualified:
            part["column_names"] = names[start + 1 :]


class _Check:
    def __init__(self) -> None:
        self.tables: list[SqlTable] = []

    def walk(self, root: object) -> None:
        """Each part with the names of the queries that are defined where it stands."""
        left: list[tuple[object, frozenset[str]]] = [(root, frozenset())]
        while left:
            part, defined = left.pop()
            if isinstance(part, list):
                left += [(item, defined) for item in part]
            elif isinstance(part, dict):
                queries = (part.get("cte_map") or {}).get("map") or ()
                for query in queries:
                    left.append((query["value"], defined))
                    query["key"] = shown_as(query["key"])
                    defined |= {query["key"]}
                self._check(part, defined)
                left += [(value, defined) for key, value in part.items() if key != "cte_map"]

    def _check(self, part: dict[str, Any], defined: frozenset[str]) -> None:
        if "class" in part:
            self._expression(part)
        elif "type" in part and isinstance(part["type"], str):
            self._node(part, defined)

    def _expression(self, part: Mapping[str, Any]) -> None:
        kind = part["class"]
        if kind not in _KNOWN_EXPRESSIONS:
            raise SqlRejected(f"{str(kind).lower().replace('_', ' ')} has no place in a query")
        if kind in ("FUNCTION", "WINDOW"):
            name = str(part.get("function_name"))
            path = part.get("qualified_name", {}).get("path") or [name]
            if path != [name]:
                raise SqlRejected(
                    f"the function {'.'.join(map(str, path))} has no place in a query",
                    hint=f"functions have no schema: write {name}(…)",
                )
            _check_function(name)
            if name.lower() == "list_aggregate":
                _check_function(_aggregate_named(part))

    def _node(self, part: dict[str, Any], defined: frozenset[str]) -> None:
        kind = part["type"]
        if kind not in _KNOWN_NODES:
            raise _no_table(part)
        if part.get("sample") is not None:
            raise SqlRejected("a sample is another one each time", hint="leave tablesample out")
        if kind == "BASE_TABLE":
            table = _table(part)
            shown = table.shown
            if shown not in defined:
                self.tables.append(table)
            part["alias"] = part.get("alias") or part["table_name"]
            part["table_name"] = shown
            part["qualified_name"] = {"path": [shown]}
            for key in ("catalog_name", "schema_name", "at_clause"):
                part.pop(key, None)


def _no_table(part: Mapping[str, Any]) -> SqlRejected:
    """What stands in the place of a table, and is none."""
    kind = str(part["type"])
    if kind == "SHOW_REF":
        return SqlRejected("SHOW, DESCRIBE and SUMMARIZE have no place in a query", hint=WHAT_THERE_IS)
    if kind == "TABLE_FUNCTION":
        name = str((part.get("function") or {}).get("function_name"))
        return SqlRejected(
            f"the table function {name} has no place in a query, which reads feature groups and views",
            hint="a list gives rows: SELECT unnest([0, 1, 2]) AS i"
            if name.lower() in _MAKING_ROWS
            else WHAT_THERE_IS,
        )
    return SqlRejected(
        f"{kind.lower().replace('_', ' ')} has no place in a query",
        hint="a query reads feature groups, its own subqueries and common table expressions alone",
    )


def _check_function(name: str) -> None:
    if name.lower() in FUNCTIONS:
        return
    said = f"the function {name} has no place in a query"
    if name.lower() in _WHY_NOT:
        why, hint = _WHY_NOT[name.lower()]
        raise SqlRejected(f"{said}: {why}", hint=hint)
    close = difflib.get_close_matches(name.lower(), FUNCTIONS, cutoff=_ALIKE)
    raise SqlRejected(said, hint=f"there is {', '.join(close or _SOME)}")


def _aggregate_named(call: Mapping[str, Any]) -> str:
    """The aggregate that a call of `list_aggregate` names, which the engine would otherwise compute from any text."""
    arguments: list[dict[str, Any]] = call.get("arguments") or []
    literal = arguments[1].get("expression", {}).get("literal", {}) if len(arguments) > 1 else {}
    if literal.get("kind") != "STRING":
        raise SqlRejected(
            "list_aggregate is not told which aggregate is meant",
            hint="name it as it is: list_aggregate(x, 'sum')",
        )
    return str(literal.get("text", ""))


def _table(part: Mapping[str, Any]) -> SqlTable:
    path = [str(name) for name in part.get("qualified_name", {}).get("path") or ()]
    if len(path) == 3 and folded(path[0]) == CATALOG:
        del path[0]
    if path[-1:] != [part.get("table_name")] or len(path) > 2:
        raise SqlRejected(
            f"{'.'.join(path)} is no feature group",
            hint='name a feature group or view, and its project where that is another: flights, shop."orders@v1"',
        )
    project = folded(path[0]) if len(path) == 2 else None
    name = folded(path[-1])
    at = part.get("at_clause")
    if at is None:
        return SqlTable(name, project)
    constant = at.get("expr", {})
    if constant.get("class") == "CAST":
        constant = constant.get("child", {})
    literal = constant.get("literal", {}) if constant.get("class") == "CONSTANT" else {}
    match str(at.get("unit")).upper(), literal.get("kind"), str(literal.get("text", "")):
        case "VERSION", "INTEGER", number if number.isascii() and number.isdigit() and len(number) < 19:
            return SqlTable(name, project, snapshot=int(number))
        case "TIMESTAMP", "STRING", time:
            return SqlTable(name, project, timestamp=time)
    raise SqlRejected(
        f"AT says no snapshot of {path[-1]}: that is a whole number from 0 on, or a time",
        hint="write AT (VERSION => 12), or AT (TIMESTAMP => '2026-11-02T00:00Z')",
    )
