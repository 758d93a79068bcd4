"""Parses `berth --help` and the help of its subcommands, for manual pages and reference."""
import re
from dataclasses import dataclass, field

from common import PackagingError, run


@dataclass
class Option:
    names: list[str]  # as typed, "--no-controllers"; empty for positional arguments
    argument: str = ""  # "FILE", "string"; empty for a switch
    text: str = ""


@dataclass
class Command:
    path: tuple[str, ...]  # () is berth itself
    summary: str  # from the help of its parent
    introduction: str = ""
    examples: list[str] = field(default_factory=list)  # lines of a shell
    sections: list[tuple[str, list[Option]]] = field(default_factory=list)
    subcommands: list["Command"] = field(default_factory=list)

    @property
    def options(self):
        return [option for _, options in self.sections for option in options if option.names]

    def all_commands(self):
        yield self
        for command in self.subcommands:
            yield from command.all_commands()


def describe(binary):
    """The tree of all commands."""
    return _command(binary, (), "")


def _command(binary, path, summary):
    text = run(binary, *path, "--help")
    command = Command(path, summary)
    title, introduction, children = None, [], []
    for line in text.splitlines():
        if re.match(r"[A-Z].*:$", line) and (title is not None or line == "Usage:"):
            title = line[:-1]
            command.sections.append((title, []))
        elif title is None:
            introduction.append(line)
        elif not line.startswith("  ") or title == "Usage":
            continue
        elif title == "Examples":
            command.examples.append(line.strip())
        elif title == "Commands":
            _add_child(children, line)
        else:
            _add_line(command.sections[-1][1], line, positional=title == "Arguments")
    command.introduction = "\n".join(introduction).strip()
    command.sections = [(title, options) for title, options in command.sections if options]
    command.subcommands = [_command(binary, (*path, name), about) for name, about in children]
    if not command.options:
        raise PackagingError(f"berth {' '.join(path)} --help: no options found; has its layout changed?")
    return command


def _add_child(children, line):
    if found := re.match(r"  ([a-z][a-z-]*)   +(\S.*)$", line):
        children.append(found.groups())
    else:
        name, about = children[-1]
        children[-1] = (name, f"{about} {line.strip()}")


def _add_line(options, line, positional):
    stripped = line.strip()
    indented = len(line) - len(line.lstrip()) > 8  # wrapped text, which may begin with the name of a flag
    if (indented or not stripped.startswith("-")) and not (positional and line[2] != " "):
        if options:
            options[-1].text = f"{options[-1].text} {stripped}".strip()
        return
    head, text = (re.split(r"\s{2,}", stripped, maxsplit=1) + [""])[:2]
    if positional:
        options.append(Option([], argument=head, text=text))
        return
    found = re.match(r"(-[^ ,]+(?:, -[^ ,]+)*) ?(.*)$", head)
    names = [name.strip() for name in found.group(1).split(",")]
    options.append(Option(names, argument=found.group(2), text=text))
