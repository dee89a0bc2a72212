"""Run workflows: as checked programs over tools that can be resumed, and as analysis jobs in processes of their own.

`program` turns a net into a program, `check` refuses what cannot be run, `journal` answers calls from the records of an interrupted
run. `suggested` makes a net of a suggested plan. `jobs` are the questions of the gepa tools, `process` runs each with limits.
"""
