"""One run of a program: `run` is the object that owns it, from the check to the report.

`host` makes its calls, `permissions` says which it may make, `output` keeps what it prints and shows, and `report` writes
what the model reads.
"""
