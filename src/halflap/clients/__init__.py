"""The clients that people have: where they keep their servers, read, taken in, and changed as text."""

from halflap.clients.command import is_passing, own_command, own_variables
from halflap.clients.configtext import Addition, Additions
from halflap.clients.configtext import added as with_additions
from halflap.clients.files import FileText, back_up, delete, read_file, replace_file
from halflap.clients.importing import Import, Taken, arrange, digests_of, same_server
from halflap.clients.installing import Installed, Moved, entry_for, install, own_entries
from halflap.clients.moving import Choice, choose
from halflap.clients.places import CLIENTS, INSTALLABLE, Client, Place, place_of, places
from halflap.clients.reading import Gathered, gather, servers_in, value_of
from halflap.clients.records import (
    Receipt,
    backups,
    imported,
    keep_receipt,
    noted_files,
    receipt_of,
    remember_imported,
)
from halflap.clients.translate import Found, has_its_name, may_be_itself, read_entry
from halflap.clients.undoing import uninstall, written_into
from halflap.clients.written import Written, read_written

__all__ = [
    "CLIENTS",
    "INSTALLABLE",
    "Addition",
    "Additions",
    "Choice",
    "Client",
    "FileText",
    "Found",
    "Gathered",
    "Import",
    "Installed",
    "Moved",
    "Place",
    "Receipt",
    "Taken",
    "Written",
    "arrange",
    "back_up",
    "backups",
    "choose",
    "delete",
    "digests_of",
    "entry_for",
    "gather",
    "has_its_name",
    "imported",
    "install",
    "is_passing",
    "keep_receipt",
    "may_be_itself",
    "noted_files",
    "own_command",
    "own_entries",
    "own_variables",
    "place_of",
    "places",
    "read_entry",
    "read_file",
    "read_written",
    "receipt_of",
    "remember_imported",
    "replace_file",
    "same_server",
    "servers_in",
    "uninstall",
    "value_of",
    "with_additions",
    "written_into",
]
