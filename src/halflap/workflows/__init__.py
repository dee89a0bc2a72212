"""Workflows as nets: read, judged, scored, improved and run.

A workflow is a net of tasks and conditions after YAWL (`model`), read from JSON or from YAWL's XML (`yawl`). `analysis` answers what it
can do (soundness, footprint, order, equivalence), `score` how good it is, `transform` and `optimize` make it better, and `run` turns it
into a program over tools. Every question is answered from the tree of blocks where a net is block-structured, and from its state space
where it is not. Read `model.net` first, then `model.block` and `analysis.study`.
"""
