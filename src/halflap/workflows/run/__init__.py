"""Run workflows as checked programs over tools, which can be resumed, and analyse them in separate processes.

`program` turns a net into a program, `check` refuses what cannot be run, `journal` answers calls from the records of an
interrupted run. `suggested` makes a net of a suggested plan. `jobs` are the analyses behind the gepa tools, `process` runs each
with limits on time and memory.
"""
