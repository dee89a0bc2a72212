"""Other MCP clients on this machine: read their servers, add Halflap to them, and undo that.

Read `places` first: which client keeps its servers in which file. `read` and `translate` turn those files into entries of
Halflap's configuration, `imports` decides which are new, `install` changes a client's file and restores it, and
`documents` edits JSON, TOML and YAML without losing comments. Nothing here starts a server.
"""

from halflap.clients.documents import CannotEditError, Document, open_document, yaml_block
from halflap.clients.files import FileText, back_up, delete, read_file, replace_file
from halflap.clients.imports import Import, OwnConfig, plan_import, read_own_config, remembered
from halflap.clients.install import (
    Moved,
    Receipt,
    add_entry,
    choose,
    entry_for,
    is_temporary,
    own_command,
    own_variables,
    read_receipt,
    undo,
    write_receipt,
)
from halflap.clients.places import CLIENTS, Client, Place, place_of, places
from halflap.clients.read import Gathered, gather, servers_in
from halflap.clients.translate import Found, read_entry

__all__ = [
    "CLIENTS",
    "CannotEditError",
    "Client",
    "Document",
    "FileText",
    "Found",
    "Gathered",
    "Import",
    "Moved",
    "OwnConfig",
    "Place",
    "Receipt",
    "add_entry",
    "back_up",
    "choose",
    "delete",
    "entry_for",
    "gather",
    "is_temporary",
    "open_document",
    "own_command",
    "own_variables",
    "place_of",
    "places",
    "plan_import",
    "read_entry",
    "read_file",
    "read_own_config",
    "read_receipt",
    "remembered",
    "replace_file",
    "servers_in",
    "undo",
    "write_receipt",
    "yaml_block",
]
