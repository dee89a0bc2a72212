"""A server that cannot start: it says why on stderr and exits with 7."""

import sys

if __name__ == "__main__":
    sys.stderr.write("dies_at_start: the licence file is missing\n")
    sys.exit(7)
