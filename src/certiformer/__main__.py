"""`python -m certiformer` is the command line."""

from certiformer.cli import main

if __name__ == "__main__":
    main()
