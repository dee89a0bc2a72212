"""How long a workflow takes, and how long it would have to."""
