"""Spark where one machine ends: sessions that read by Arrow, and rows that leave pickle. Needs PySpark 3.5 or 4.1, and
`headrace-spark`."""

from typing import TYPE_CHECKING

from headrace.errors import MissingDependency
from headrace.spark.session import session

if TYPE_CHECKING:
    from headrace.spark.codec import codec_stats, install, uninstall
    from headrace.spark.serializer import RowSerializer

__all__ = ["RowSerializer", "codec_stats", "install", "session", "uninstall"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # PySpark is imported by those alone who use what is built on it.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            import pyspark  # noqa: F401
        except ImportError:
            raise MissingDependency(
                f"headrace.spark.{name} needs PySpark", hint='pip install "pyspark==3.5.*", or 4.1.*'
            ) from None
        from headrace.spark import codec

        return codec.RowSerializer if name == "RowSerializer" else getattr(codec, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
