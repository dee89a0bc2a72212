"""Run the command line: `python -m halflap`."""

from halflap.cli import main

if __name__ == "__main__":
    main()
