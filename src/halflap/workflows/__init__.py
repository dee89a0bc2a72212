"""Workflows as nets: read, analysed, scored, optimised and run.

A workflow is a net of tasks and conditions after YAWL (`model`), read from JSON or from YAWL's XML (`yawl`). `analysis` finds out
what it can do (soundness, footprint, order, equivalence), `score` rates it, `optimize` makes it faster or smaller, and `run` turns
it into a program over tools. Every question is answered from the tree of blocks if a net is block-structured, otherwise from its
state space. Read `model.net` first, then `model.block` and `analysis.study`.
"""
