"""Parses `berth --help` and the help of its subcommands, for manual page, completions and reference."""
import re
from dataclasses import dataclass, field

from common import PackagingError, run


@dataclass
class Option:
    names: list[str]  # as typed, "--no-controllers"; empty for positional arguments
    argument: str = ""  # "FILE", "string"; empty for a switch
    choices: list[str] = field(default_factory=list)
    text: str = ""
    repeats: bool = False

    @property
    def takes_file(self):
        named = self.names[-1] if self.names else ""
        return self.argument in ("FILE", "PATH") or bool(re.search(r"(-file|kubeconfig|--config|-to|--load|--save|--policy)$", named))


@dataclass
class Command:
    path: tuple[str, ...]  # () is berth itself
    summary: str  # from the help of its parent
    introduction: str = ""
    sections: list[tuple[str, list[Option]]] = field(default_factory=list)
    subcommands: list["Command"] = field(default_factory=list)

    @property
    def options(self):
        return [option for _, options in self.sections for option in options if option.names]

    @property
    def takes_files(self):
        """True if the command has file arguments without an option."""
        return any(not option.names and option.argument == "FILE" for _, options in self.sections for option in options)

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
    # The scheduler's help has kube-scheduler's layout; the text of the others begins in column 30.
    column = None if "\nUsage:\n" in text else 30
    title, introduction, children = None, [], []
    for line in text.splitlines():
        if re.match(r"Usage:", line):
            title = "Usage"
        elif re.match(r"[A-Z].*:$", line) and title is not None:
            title = line[:-1]
            command.sections.append((title, []))
        elif title is None:
            introduction.append(line)
        elif found := re.match(r"  ([a-z]+)  +(\S.*)$", line) if title == "Subcommands" or (title == "Usage" and not path) else None:
            children.append(found.groups())
        elif command.sections and line.startswith("  "):
            _add_line(command.sections[-1][1], line, column, positional=title == "Positionals")
    command.introduction = "\n".join(introduction).strip()
    command.sections = [(title, options) for title, options in command.sections if options]
    for option in command.options:
        if column:
            _finish(option)
        else:
            option.repeats = "May be repeated" in option.text
    command.subcommands = [_command(binary, (*path, name), about) for name, about in children]
    if path == ("extender",):  # only mentioned in the text of the help
        command.subcommands.append(_command(binary, (*path, "check"), "check that an extender works with kube-scheduler"))
    if not command.subcommands and not command.options and path != ("version",):
        raise PackagingError(f"berth {' '.join(path)} --help: no options found; has its layout changed?")
    return command


def _add_line(options, line, column, positional):
    stripped = line.strip()
    if not stripped:
        return
    indented = len(line) - len(line.lstrip()) > 8  # wrapped text, which may begin with the name of a flag
    if (indented or not stripped.startswith("-")) and not positional:
        if options:
            options[-1].text = f"{options[-1].text} {stripped}".strip()
        return
    if column and len(line) > column and line[column - 1] == " ":
        head, text = line[:column].strip(), line[column:].strip()
    else:
        head, text = (re.split(r"\s{2,}", stripped, maxsplit=1) + [""])[:2]
    if positional:
        name, _, kind = head.partition(" ")
        options.append(Option([], argument="FILE" if kind.startswith("FILE") else name, text=text))
        return
    found = re.match(r"(-[^ ]+(?:, -[^ ]+)*) ?(.*)$", head)
    names = [re.sub(r"\{.*", "", name.strip()) for name in found.group(1).split(",")]
    options.append(Option(names, argument=found.group(2), text=text))


def _finish(option):
    """Parses "TEXT:{text,json}=text REQUIRED ...": type, choices, range, default."""
    argument, notes = option.argument, []
    option.repeats = argument.endswith("...") or "may be repeated" in option.text
    argument = argument.removesuffix("...").strip()
    if argument.endswith("REQUIRED"):
        argument = argument.removesuffix("REQUIRED").strip()
        notes.append("Required.")
    if found := re.match(r"(.*[^ ])=(.*)$", argument):
        argument, default = found.groups()
        notes.append(f"Default: {default.strip('[]')}.")
    if found := re.match(r"([^:]*):\{(.*)\}$", argument):
        argument, option.choices = found.group(1), found.group(2).split(",")
        notes.insert(0, f"One of {', '.join(option.choices)}.")
    elif found := re.match(r"([^:]*):.* in \[(.*) - (.*)\]$", argument):
        argument = found.group(1)
        notes.insert(0, f"From {found.group(2)} to {found.group(3)}.")
    option.argument = argument
    text = option.text
    if text and notes:
        text = text if text.endswith(".") else f"{text}."
    option.text = " ".join([text, *notes]).strip()
