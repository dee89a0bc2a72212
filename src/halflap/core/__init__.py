"""What every other package shares: values, errors and their codes, name suggestions, text helpers.

Start with `values` (`Tool`, `Result`, `CallContext`, `ToolSource`) and `errors` (the exception tree). Nothing here
does I/O or imports another package of Halflap.
"""
