"""What a workflow can do: soundness, footprint, order of activities, equivalence, and the comparison of two workflows.

Read `study` first: it holds what is found once about a net. `compare` is the verdict on two.
"""
