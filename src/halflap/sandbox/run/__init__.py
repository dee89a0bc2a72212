"""One program's run: `run` has the object that owns it, from its start to its report.

It also decides what may be called. `output` keeps what it prints and shows, `report` writes what the model reads.
"""
