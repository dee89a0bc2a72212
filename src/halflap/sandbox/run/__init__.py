"""One run of a program: `run` is the object that owns it, from the check to the report.

`host` makes its calls, and `report` keeps its output and writes what the model reads.
"""
