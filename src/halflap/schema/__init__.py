"""JSON Schema for the rest of Halflap: types, validation, and both as text or Python.

Read `types` first (the one type model), then `read` (schema to type) and `text` (type to text); `stub` writes types as
Python. `validate` and `problems` check values and explain what is wrong, `cost` bounds that work, `result` finds the value
in a tool's result, and `tool` combines all of it for one tool. Schemas and values are untrusted: all work is bounded,
nothing is fetched, and there is no I/O.
"""

from halflap.schema.cost import is_small
from halflap.schema.read import References, read_type
from halflap.schema.result import (
    Reading,
    is_informative,
    is_wrapped,
    json_problem,
    parse_json,
    read_result,
    reading_of,
    result_type,
)
from halflap.schema.text import compact, path_of
from halflap.schema.tool import Parameter, ToolSchema, parse_schema
from halflap.schema.types import ANY, PLAIN, Field, Type, extra_of, fields_of, object_types, union
from halflap.schema.validate import Validator, argument_problems, compile_schema, read_arguments, try_compile

__all__ = [
    "ANY",
    "PLAIN",
    "Field",
    "Parameter",
    "Reading",
    "References",
    "ToolSchema",
    "Type",
    "Validator",
    "argument_problems",
    "compact",
    "compile_schema",
    "extra_of",
    "fields_of",
    "is_informative",
    "is_small",
    "is_wrapped",
    "json_problem",
    "object_types",
    "parse_json",
    "parse_schema",
    "path_of",
    "read_arguments",
    "read_result",
    "read_type",
    "reading_of",
    "result_type",
    "try_compile",
    "union",
]
