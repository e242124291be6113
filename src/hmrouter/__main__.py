"""`python -m hmrouter`: the command line, where the command `hmrouter` is not on the path."""

from hmrouter.cli import main

if __name__ == "__main__":
    main()
