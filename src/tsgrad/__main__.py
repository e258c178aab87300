"""`tsgrad`, and `python -m tsgrad`: Ctrl-C counts from here on, before anything large is imported."""

import os
import signal


def main() -> None:
    """The command line: a file that registers problems or policies of its own, and ends with this, is a `tsgrad` that
    knows them.

    Raises:
        SystemExit: with the status of the command.

    """
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))
    from tsgrad.cli import main as command

    command()


if __name__ == "__main__":
    main()
