"""The forms of logs that a backfill understands. Read `records` first, then the form you are interested in."""
