#!/usr/bin/env python3
"""Checks links and anchors, names of files, YAML and command lines in the documents.

    check.py <root of the repository> <path of the program berth>

Prints one line per error, "file:line: text", and exits with 1 if there is any.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:  # then only the YAML that berth reads is checked
    yaml = None

ROOT = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
sys.dont_write_bytecode = True
from command_help import describe  # noqa: E402

FOLDERS = ("apps", "bench", "cmake", "deploy", "docs", "examples", "packaging", "script", "src", "testing", "tests")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
METRIC = re.compile(r"((?:berth|scheduler)_[a-z_]+_[a-z]+)(?:\{.*\})?")
PATH = re.compile(r"(?:%s)(?:/[\w.-]+)+/?" % "|".join(FOLDERS))
COMMAND = re.compile(r"(?:^|[|;&(]\s*|\s)(?:build/bin/|\.\./build/bin/|\$)?berth ([a-z][^|;&#)\n]*)")


class Document:
    """A page: its lines, its code blocks, and the anchors of its headings."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text().splitlines()
        self.code = []  # (first line, text) of each block
        self.in_code = set()
        self._find_code()
        self.anchors = self._anchors()

    def _find_code(self):
        start, fence = None, None
        for number, line in enumerate(self.lines):
            opened = re.match(r"\s*(```|~~~)", line)
            if fence:
                self.in_code.add(number)
                if opened and opened[1] == fence:
                    self._add(start + 1, number)
                    start = fence = None
            elif opened:
                if start is not None:
                    self._add(start, number)
                start, fence = number, opened[1]
                self.in_code.add(number)
            elif line.startswith("    ") and (start is not None or number == 0 or not self.lines[number - 1].strip()):
                start = number if start is None else start
                self.in_code.add(number)
            elif start is not None and line.strip():
                self._add(start, number)
                start = None
        if start is not None and fence is None:
            self._add(start, len(self.lines))

    def _add(self, first, end):
        text = [line for line in self.lines[first:end]]
        shift = min((len(line) - len(line.lstrip()) for line in text if line.strip()), default=0)
        self.code.append((first + 1, "\n".join(line[shift:] for line in text)))

    def _anchors(self):
        anchors, seen = set(), {}
        for number, line in enumerate(self.lines):
            heading = re.match(r"#{1,6} (.*)", line)
            if not heading or number in self.in_code:
                continue
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            anchors.add(slug if count == 0 else f"{slug}-{count}")
        return anchors


class Checker:
    def __init__(self, binary):
        self.binary = binary
        self.mistakes = []
        self.documents = {}
        self.commands = {command.path: command for command in describe(binary).all_commands()}
        page = ROOT / "docs" / "reference" / "metrics.md"
        self.metrics = set(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE)) if page.exists() else set()
        # Functions of loaded plugins have names like metrics.
        self.symbols = "".join(header.read_text() for header in (ROOT / "src").glob("scheduler/plugin_host/*.h"))

    def document(self, path):
        if path not in self.documents:
            self.documents[path] = Document(path)
        return self.documents[path]

    def report_error(self, document, line, what):
        self.mistakes.append(f"{document.path.relative_to(ROOT)}:{line}: {what}")

    def check(self, path):
        document = self.document(path)
        for number, line in enumerate(document.lines):
            if number in document.in_code:
                continue
            for target in LINK.findall(CODE.sub("", line)):
                self.check_link(document, number + 1, target)
            for text in CODE.findall(line):
                self.check_path(document, number + 1, text)
                self.check_metric(document, number + 1, text)
                if text.startswith("berth "):
                    self.check_command(document, number + 1, text[len("berth "):])
        for first, text in document.code:
            self.check_block(document, first, text)

    def check_link(self, document, line, target):
        if re.match(r"[a-z]+:", target):
            return
        name, _, anchor = target.partition("#")
        path = (document.path.parent / name).resolve() if name else document.path
        if not path.exists():
            self.report_error(document, line, f"link to {target}: there is no such file")
        elif anchor and path.suffix == ".md" and anchor not in self.document(path).anchors:
            self.report_error(document, line, f"link to {target}: there is no such heading")

    def check_path(self, document, line, text):
        if PATH.fullmatch(text) and not (ROOT / text).exists() and not (document.path.parent / text).exists():
            self.report_error(document, line, f"`{text}`: there is no such file")

    def check_metric(self, document, line, text):
        found = METRIC.fullmatch(text)
        if found and self.metrics and re.sub(r"_(bucket|sum|count)$", "", found[1]) not in self.metrics and found[1] not in self.metrics and found[1] not in self.symbols:
            self.report_error(document, line, f"`{text}`: there is no such metric")

    def check_block(self, document, first, text):
        for here in re.finditer(r"<<-?'?(\w+)'?\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL):
            self.check_block(document, first + text[:here.start(2)].count("\n"), here[2])
        if "<<" in text:
            pass
        elif re.search(r"^(apiVersion|kind): ", text, re.MULTILINE) and not text.lstrip().startswith(("$", "kubectl", "{")):
            self.check_yaml(document, first, text)
        for number, line in enumerate(text.replace("\\\n", "  ").splitlines()):
            for command in COMMAND.findall(line):
                self.check_command(document, first + number, command, whole="..." not in command and "…" not in command)

    def check_yaml(self, document, first, text):
        if yaml:
            try:
                list(yaml.safe_load_all(text))
            except yaml.YAMLError as error:
                self.report_error(document, first, f"YAML: {' '.join(str(error).split())}")
                return
        for part in re.split(r"^---$", text, flags=re.MULTILINE):
            if not re.search(r"^kind: KubeSchedulerConfiguration", part, re.MULTILINE):
                continue
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(part)
                file.flush()
                result = subprocess.run([self.binary, "config", "check", file.name], capture_output=True, text=True)
            if result.returncode != 0:
                self.report_error(document, first, f"a configuration that does not load: {result.stderr.strip()}")

    def check_command(self, document, line, text, whole=False):
        """Checks that subcommands and flags exist, and that complete command lines contain the required ones."""
        try:
            words = shlex.split(text.replace("…", " "), comments=True)
        except ValueError:
            words = text.split()
        path = ()
        flags, letters = [], []
        for word in words:
            if (*path, word) in self.commands:
                path = (*path, word)
            elif re.match(r"-[a-z]$", word):
                letters.append(word)
            elif word.startswith("--"):
                flags.append(re.split(r"[=,\[.]", word)[0].rstrip(".)`'\""))
            elif not path:
                return  # prose
        known = {name for end in range(len(path) + 1) for option in self.commands[path[:end]].options for name in option.names}
        for flag in flags:
            if flag not in known | {"--", "--help"}:
                self.report_error(document, line, f"berth {' '.join(path)}: there is no flag {flag}")
        for option in self.commands[path].options if whole and "--help" not in flags else []:
            if option.text.endswith("(required)") and not set(option.names) & {*flags, *letters}:
                self.report_error(document, line, f"berth {' '.join(path)} needs {option.names[-1]}")


def main():
    checker = Checker(sys.argv[2])
    pages = [path for path in ROOT.rglob("*.md") if not {"build", "node_modules", ".git"} & set(path.relative_to(ROOT).parts)
             and not any(part.startswith("build-") for part in path.relative_to(ROOT).parts)]
    for path in sorted(pages):
        checker.check(path)
    for mistake in checker.mistakes:
        print(mistake)
    if not pages:
        print("no pages found")
    return 1 if checker.mistakes or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
