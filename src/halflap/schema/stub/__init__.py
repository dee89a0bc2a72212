"""Tools as typed Python functions, for authors, editors and type checkers. Read `module` first.

Everything is built as `ast` nodes, so that text from a server can only ever become a constant.
"""

from halflap.schema.stub.annotations import Record, Source, is_name
from halflap.schema.stub.module import (
    TRACED_TYPES,
    Stub,
    make_stub,
    other_arguments,
    write_stubs,
    write_types,
)

__all__ = [
    "TRACED_TYPES",
    "Record",
    "Source",
    "Stub",
    "is_name",
    "make_stub",
    "other_arguments",
    "write_stubs",
    "write_types",
]
