"""What JSON Schema means to us."""

from halflap.schema.signature import signature
from halflap.schema.validate import Validator, compile_schema

__all__ = ["Validator", "compile_schema", "signature"]
