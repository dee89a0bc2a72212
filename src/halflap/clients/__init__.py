"""Other MCP clients on this machine: import their servers, add Halflap to them, and undo that.

Read `places` first: which client has its servers in which file. `imports` reads those files and decides which servers are
new, `translate` converts their entries, `install` changes a client's file and restores it, `documents` edits JSON, TOML
and YAML without losing comments, and `files` reads and replaces files. Nothing here starts a server.
"""
