"""The manual page berth(1), generated from the program's help."""
import datetime

from common import SUMMARY, version

FILES = [
    ("/etc/berth/scheduler.yaml", "Configuration of the service berth: a KubeSchedulerConfiguration of any version, or a Policy."),
    ("/etc/berth/kubeconfig", "kubeconfig of the service. Not installed; the service starts only if it exists."),
    ("/etc/default/berth", "Additional flags of the service, in BERTH_FLAGS."),
]


def page(root, date):
    day = datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%Y-%m-%d")
    lines = [f'.TH BERTH 1 "{day}" "Berth {version()}" "User Commands"',
             ".SH NAME", f"berth, kube\\-scheduler \\- {_escape(SUMMARY)}",
             ".SH SYNOPSIS", ".B berth", ".I command", "[options]", ".br", ".B kube\\-scheduler", "[flags]",
             ".SH DESCRIPTION", _escape(root.introduction),
             "Called by the name kube\\-scheduler it is", ".BR \"berth scheduler\" .", ".SH COMMANDS"]
    for command in root.subcommands:
        lines += [".TP", f".B {command.path[-1]}", _escape(command.summary)]
    for command in root.all_commands():
        if command.path and command.sections:
            lines += _command(command)
    lines += [".SH FILES"]
    for path, text in FILES:
        lines += [".TP", f".I {_escape(path)}", _escape(text)]
    lines += [".SH SEE ALSO", "The guides in", ".IR /usr/share/doc/berth/guide .", ".BR systemctl (1)"]
    return "\n".join(lines) + "\n"


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
