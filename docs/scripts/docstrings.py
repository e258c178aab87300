"""Examples in docstrings become code blocks of the reference: Markdown would take `>>>` for quotations."""

import re

import griffe

_EXAMPLE = re.compile(r"(?m)^( *)>>> .*\n?(?:^(?! *$).*\n?)*")


def fenced(text: str) -> str:
    r"""The text with every example between fences.

    >>> fenced("It adds.\n\n    >>> 1 + 1\n    2")
    'It adds.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """

    def fence(found: re.Match[str]) -> str:
        indent = found[1]
        lines = [line.removeprefix(indent) for line in found[0].rstrip("\n").split("\n")]
        return "\n".join(["```pycon", *lines, "```", ""]).rstrip() + "\n" * found[0].endswith("\n")

    return _EXAMPLE.sub(fence, text)


class FencedExamples(griffe.Extension):
    """What mkdocstrings loads."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrites the docstring of everything that has one."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
