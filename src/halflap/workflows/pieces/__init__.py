"""A workflow taken apart into pieces, and put together again from others."""
