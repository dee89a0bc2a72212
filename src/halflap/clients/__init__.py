"""Other MCP clients on this machine: read their servers, add Halflap to them, and undo that.

Read `places` first: which client keeps its servers in which file. `imports` reads those files and decides which servers
are new, `translate` turns their entries into Halflap's, `install` changes a client's file and restores it, `documents`
edits JSON, TOML and YAML without losing comments, and `files` reads and replaces files. Nothing here starts a server.
"""
