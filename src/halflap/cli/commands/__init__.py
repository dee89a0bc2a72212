"""The commands, one module for each group; `halflap.cli.app` lists them."""
