"""The graph of data flow: which tools' results can fill which tools' parameters, and plans over it.

Everything here is pure: no I/O, no calls. Read `ports` first (a tool taken apart into places and slots), then `edges` (what
links them) and `plan` (the cheapest way to a wanted tool or field); `emit` turns a plan into a program. `naming` reads
names, `effects` decides whether a tool may change something, `paging` knows pages, `lineage` follows real values, `draw`
makes pictures.
"""
