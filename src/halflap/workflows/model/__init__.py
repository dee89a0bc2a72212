"""The model of a workflow: the net, its JSON form, and the tree of blocks of a block-structured net.

Read `net` first. `form` reads and writes JSON, `checks` finds structural mistakes, `reduce` finds the tree, `build` makes a net from it.
"""
