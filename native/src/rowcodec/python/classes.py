"""Which classes are records, and the classes that names of records stand for. Part of the native module."""

import abc
import copyreg
import dataclasses
import importlib
import sys

# A class with one of these pickles in a way of its own.
_OWN_WAYS = frozenset(["__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs_ex__"])


def describe(cls):
    """(kind, names of the fields, "module:name"), or None of what is no record. A Row's names are its own."""
    if cls.__name__ == "Row" and issubclass(cls, tuple):
        types = sys.modules.get("pyspark.sql.types")
        if cls is getattr(types, "Row", None):
            return ("row", None, "pyspark.sql:Row")
    found = _named_tuple(cls) or _dataclass(cls)
    if found is None:
        return None
    kind, names = found
    path = f"{cls.__module__}:{cls.__qualname__}"
    try:
        same = _found(path) is cls
        for name in (path, *names):
            name.encode()
    except (AttributeError, KeyError, UnicodeError):
        return None
    return (kind, names, path) if same else None


def _plain(cls):
    """Whether nothing about a class says how it is pickled."""
    own = cls.__dict__
    return (
        type(cls) in (type, abc.ABCMeta) and cls not in copyreg.dispatch_table and _OWN_WAYS.isdisjoint(own)
    )


def _named_tuple(cls):
    if cls.__bases__ != (tuple,) or not _plain(cls):
        return None
    own = cls.__dict__
    names = own.get("_fields")
    if own.get("__slots__") != () or "__getnewargs__" not in own or "_make" not in own:
        return None
    if type(names) is not tuple or not all(type(name) is str for name in names):
        return None
    return "namedtuple", names


def _dataclass(cls):
    own = cls.__dict__
    if "__dataclass_fields__" not in own or cls.__new__ is not object.__new__ or not cls.__dictoffset__:
        return None
    for each in cls.__mro__[:-1]:
        if not _plain(each) or each.__dict__.get("__slots__") or "__getnewargs__" in each.__dict__:
            return None
    return "dataclass", tuple(field.name for field in dataclasses.fields(cls))


def _found(path):
    module, _, name = path.partition(":")
    found = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def resolve(kind, path, names, importing):
    """The class of a record, which is looked for among the modules that are loaded, or imported.

    Raises LookupError: it is not there, or is another record now.
    """
    if kind == "row":
        path = "pyspark.sql:Row"
        importing = True
    if importing:
        try:
            importlib.import_module(path.partition(":")[0])
        except ImportError as error:
            raise LookupError(f"{path} cannot be imported: {error}") from error
    try:
        cls = _found(path)
        described = describe(cls)
    except (AttributeError, KeyError):
        raise LookupError(f"{path} is not loaded") from None
    if described is None or described[0] != kind or (kind != "row" and list(described[1]) != names):
        raise LookupError(f"{path} is no {kind} with the fields {', '.join(names)}")
    return cls
