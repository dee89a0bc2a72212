"""Python types for tools: what a program's author, an editor or a type checker knows of them."""

from halflap.schema.stub.module import Stub, make_stub, write_stubs, write_types
from halflap.schema.stub.records import Record, Source

__all__ = ["Record", "Source", "Stub", "make_stub", "write_stubs", "write_types"]
