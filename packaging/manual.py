"""The manual pages berth(1) and berth-COMMAND(1), generated from the program's help."""
import datetime

from common import SUMMARY, version

FILES = [
    ("/etc/berth/scheduler.yaml", "Configuration of the service berth: a KubeSchedulerConfiguration of any version, or a Policy."),
    ("/etc/berth/kubeconfig", "kubeconfig of the service. Not installed; the service starts only if it exists."),
    ("/etc/default/berth", "Additional flags of the service, in BERTH_FLAGS."),
]


def pages(root, date):
    """The text of each page by its name: berth, and one per command, which contains the commands below it."""
    day = datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%Y-%m-%d")
    found = {"berth": _overview(root, day)}
    for command in root.subcommands:
        found[_name(command)] = _page(command, day)
    return found


def _name(command):
    return f"berth-{command.path[0]}"


def _head(name, day):
    return f'.TH {name.upper()} 1 "{day}" "Berth {version()}" "User Commands"'


def _overview(root, day):
    lines = [_head("berth", day), ".SH NAME", f"berth \\- {_escape(SUMMARY)}",
             ".SH SYNOPSIS", ".B berth", ".I command", "[options]", ".br", ".B kube\\-scheduler", "[flags]", ".br",
             ".B kubectl berth", ".I command", "[options]", ".SH DESCRIPTION", _escape(root.introduction),
             "Called by the name kube\\-scheduler it is", ".BR berth\\-scheduler (1).", ".SH COMMANDS"]
    for command in root.subcommands:
        lines += [".TP", f".BR {_escape(_name(command))} (1)", _escape(command.summary)]
    lines += [".SH FILES"]
    for path, text in FILES:
        lines += [".TP", f".I {_escape(path)}", _escape(text)]
    lines += [".SH SEE ALSO", "The guides in", ".IR /usr/share/doc/berth/guide .", ".BR systemctl (1)"]
    return "\n".join(lines) + "\n"


def _page(command, day):
    lines = [_head(_name(command), day), ".SH NAME", f"{_escape(_name(command))} \\- {_escape(command.summary)}"]
    for one in command.all_commands():
        lines += _command(one)
    return "\n".join([*lines, ".SH SEE ALSO", ".BR berth (1)"]) + "\n"


def _command(command):
    lines = [f".SH BERTH {' '.join(command.path).upper()}"]
    for line in command.introduction.splitlines():
        lines.append(_escape(line) if line.strip() else ".PP")
    if command.examples:
        lines += [".PP", ".EX", *(_escape(f"  {line}") for line in command.examples), ".EE"]
    for title, options in command.sections:
        lines.append(f".SS {_escape(title)}")
        for option in options:
            names = ", ".join(f"\\fB{_escape(name)}\\fR" for name in option.names)
            argument = f"\\fI{_escape(option.argument)}\\fR" if option.argument else ""
            lines += [".TP", " ".join(part for part in (names, argument) if part), _escape(option.text)]
    return [line for line in lines if line != ""]


def _escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
