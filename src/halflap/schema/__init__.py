"""What JSON Schema means to us."""

from halflap.schema.arguments import argument_problems
from halflap.schema.general import declared_names, general_path
from halflap.schema.reading import Reading, read_result, reading_of
from halflap.schema.returned import is_wrapped, returned, says_something
from halflap.schema.sendable import read_arguments
from halflap.schema.size import is_small
from halflap.schema.strict import parse_json, why_no_json
from halflap.schema.tool import Parameter, ToolSchema, parse_schema
from halflap.schema.types import Type
from halflap.schema.validate import Validator, compile_or_say, compile_schema
from halflap.schema.write import compact

__all__ = [
    "Parameter",
    "Reading",
    "ToolSchema",
    "Type",
    "Validator",
    "argument_problems",
    "compact",
    "compile_or_say",
    "compile_schema",
    "declared_names",
    "general_path",
    "is_small",
    "is_wrapped",
    "parse_json",
    "parse_schema",
    "read_arguments",
    "read_result",
    "reading_of",
    "returned",
    "says_something",
    "why_no_json",
]
