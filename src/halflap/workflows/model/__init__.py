"""What a workflow is: the net, its JSON form, and the tree of blocks that a well-structured net consists of.

Read `net` first. `form` reads and writes JSON, `checks` finds structural mistakes, `reduce` finds the tree, `build` makes a net from it.
"""
