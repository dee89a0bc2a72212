"""What JSON Schema means to us."""

from halflap.schema.clean import clean, clean_deep
from halflap.schema.tool import Parameter, ToolSchema, is_wrapped, parse_schema, says_something
from halflap.schema.types import Type
from halflap.schema.validate import Validator, compile_schema
from halflap.schema.write import compact

__all__ = [
    "Parameter",
    "ToolSchema",
    "Type",
    "Validator",
    "clean",
    "clean_deep",
    "compact",
    "compile_schema",
    "is_wrapped",
    "parse_schema",
    "says_something",
]
