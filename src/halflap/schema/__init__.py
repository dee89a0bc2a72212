"""What JSON Schema means to us."""

from halflap.schema.clean import clean, clean_deep
from halflap.schema.tool import Parameter, ToolSchema, is_wrapped, parse_schema, says_something
from halflap.schema.validate import Validator, compile_schema
from halflap.schema.write import compact

__all__ = [
    "Parameter",
    "ToolSchema",
    "Validator",
    "clean",
    "clean_deep",
    "compact",
    "compile_schema",
    "is_wrapped",
    "parse_schema",
    "says_something",
]
