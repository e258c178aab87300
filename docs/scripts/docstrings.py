"""How the reference reads the code: examples become code blocks, and a function is not taken for its module."""

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
    """Markdown would take `>>>` for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrites the docstring of everything that has one."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


class FunctionsNotModules(griffe.Extension):
    """`tsgrad.gradient` is the function that `tsgrad.estimate` imports from its module of the same name."""

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        """Points public names that lead to such a module at what is in it."""
        for name, member in list(pkg.members.items()):
            if member.is_alias and member.target_path.startswith(f"{pkg.path}."):
                target = pkg[member.target_path.removeprefix(f"{pkg.path}.")]
                if isinstance(target, griffe.Module) and name in target.members:
                    pkg.set_member(name, griffe.Alias(name, f"{target.path}.{name}", parent=pkg))
