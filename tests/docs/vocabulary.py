#!/usr/bin/env python3
"""Checks names and documents against the project's vocabulary (docs/glossary.md).

    vocabulary.py <root of the repository>

- Former names of types, functions, files and flags do not occur in any tracked file. CHANGELOG.md and this file are
  exempt, and the lines that define the hidden aliases of renamed flags.
- Documents do not use the phrases of PHRASES.
- Lines of documents have at most 120 columns. Exempt: table rows, lines inside code fences, lines without a space to
  break at, generated pages (docs/reference).
- Every row of a table has as many cells as its header, and no row stands outside a table.
Prints one line per error, "file:line: text", and exits with 1 if there is one.
"""

import pathlib
import re
import subprocess
import sys

NAMES = {  # former name -> present name
    r"\bclass_memory|\bClassMemory\b": "equivalence_cache",
    r"\bKnownClass\b": "EquivalenceClass",
    r"\bDecider(Options)?\b|\bdecider_": "SchedulingAlgorithm",
    r"\b(Filter|Score|PreFilter|PreScore)Basis\b|\bBasis\b": "ResultDependency, FilterDependency, ...",
    r"\bStanding(PreFilter|PreScores)\b": "ReusableResult",
    r"\bKeepWords\b": "RecordReasons",
    r"\bVocabulary\b": "SymbolTable",
    r"\bInstruments\b": "MetricsRecorder",
    r"\b\w*Meters\b": "Metrics",
    r"\bShowSizes\b": "UpdateGauges",
    r"\bWhileWaiting\b": "PumpBindings",
    r"\bPastRejection\b": "OnPermitDone",
    r"\bOpinion(On)?\b": "EvaluateHint",
    r"\bAwait(s|ed|edBy)\b": "IsRegistered",
    r"\bInbox\b|\binbox_?\b": "mailbox",
    r"\bNobodyActs\b": "a dry run's ports",
    r"\b(nobody_looks|nowhere|homeless|guests|hurry)_\b": "a name that states the content",
    r"\bRare(List|Map)?\b": "CowPtr",
    r"\bLikenessPool\b": "WeakInternPool",
    r"\bSweeper\b": "ExpiredEntryPurger",
    r"\bBestRows\b": "TournamentTree",
    r"\bAgenda\b": "TimerQueue",
    r"\bCatchUp\b": "FreshnessBarrier",
    r"\bNewcomers\b": "UnmeasuredPods",
    r"\bWorkloadUse\b": "WorkloadUsage",
    r"\bother_views\b": "state_search",
    r"\bPreFilterAnswer\b|\bPostFilterAnswer\b|\bPermitAnswer\b": "PreFilterResult, ...",
    r"--?berth-class-memory|\"berth-class-memory": "--berth-equivalence-cache-size",
    r"--?berth-record-memory|\"berth-record-memory": "--berth-record-buffer-size",
    r"\bbench_doors\b": "bench_plugin_interfaces",
    r"\btests/(walk|peer)\b": "tests/quickstart, tests/baseline",
    r"\bBERTH_CHECKED\b": "BERTH_RETURN_IF_ERROR",
    r"\bMadeUpCluster\b|\bWirePeer\b|\bAskBare\b": "SyntheticCluster, HttpExtenderConnection, SendRaw",
    r"\bExtenderWorld\b|\bextender_world\b|\bFakeWorld\b|\bfake_world\b": "ExtenderEnvironment, FakeEnvironment",
    r"\bSourceNews\b": "SourceChange",
    r"\bmost_in_flight\b|\bneed_certificate\b": "max_in_flight, require_certificate",
    r"extender_server/(questions|answers)\b": "extender_server/requests, extender_server/replies",
    r"\bset_(placement_)?memory\b|\bplacement_memory\b": "set_data, placement_data",
    r"\bhost(\(\))?(\.|->)(say|measure|memory)\b": "host->add_reason, register_signal, data",
    r"\b[Dd]oors?\b|\w*Door[A-Z]\w*": "plugin interface, Listener",
    r"\b[Pp]layStories\b|\b(read|parse|pod)Story\b|\bstoryOf\b": "scenario, history",
    r"\bjudge[A-Z]\w*|\brunJudge\b|\boracle judge\b": "evaluate...",
    r"\bcomplain\b|\bcomplaints?_?\b": "addError, errors",
    r"\btellAttempts\b|\bhumbly\b|\bshunning\b|\bcreateStubbornly\b|\bopenCrew\b": "a name that states the effect",
    r"\b(new)?[dD]ice\b|\boddity\b": "rng, unusual",
    r"\bhomeless\b|\bstrangers\b|\btrustStranger\b": "unschedulable, untrusted, unknown",
}
ALIASES = re.compile(r"HiddenMebibytes\(")
EXEMPT = re.compile(r"^(CHANGELOG\.md|tests/docs/vocabulary(_test)?\.py)$")
PHRASES = {  # in documents other than decision records
    r"\bhangs? on\b": "depends on",
    r"\bwhoever\b": "name the actor",
    r"\bhas a say\b": "name the effect",
    r"\bis none of\b": "state the condition",
    r"\bdraws? lots\b": "chooses at random",
}
DOCUMENT = re.compile(r"^(?!docs/(adr|upstream-notes)).*\.md$")
COLUMNS = 120


def main():
    root = pathlib.Path(sys.argv[1])
    errors = check(root, tracked(root))
    for error in errors:
        print(error)
    return 1 if errors else 0


def tracked(root):
    return subprocess.check_output(["git", "-C", root, "ls-files"], text=True).splitlines()


def check(root, files):
    errors = []
    for name in files:
        if EXEMPT.match(name):
            continue
        try:
            lines = (root / name).read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        errors += former_names(name, lines)
        if name.endswith(".md"):
            errors += layout(name, lines)
        if DOCUMENT.match(name):
            errors += matches(name, lines, PHRASES)
    return errors


def former_names(name, lines):
    return matches(name, ["" if ALIASES.search(line) else line for line in lines], NAMES)


def matches(name, lines, patterns):
    return [
        f'{name}:{number}: "{found.group(0)}": write {wanted}'
        for number, line in enumerate(lines, 1)
        for pattern, wanted in patterns.items()
        if (found := re.search(pattern, line))
    ]


def layout(name, lines):
    errors = []
    header = None  # cells of the table that the line belongs to
    fence = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        if fence or line.startswith("    "):
            header = None
            continue
        if line.startswith("|"):
            cells = len(re.sub(r"`[^`]*`|\\\|", "", line).strip().strip("|").split("|"))
            following = lines[number] if number < len(lines) else ""
            if header is None and not re.match(r"^\|[\s:|-]+\|$", following):
                errors.append(f"{name}:{number}: a table row outside of a table")
            elif header is not None and cells != header:
                errors.append(f"{name}:{number}: the row has {cells} cells, the table {header} columns")
            if header is None:
                header = cells
            continue
        header = None
        if len(line) > COLUMNS and " " in line.strip()[:COLUMNS] and not name.startswith("docs/reference/"):
            errors.append(f"{name}:{number}: {len(line)} columns, at most {COLUMNS}")
    return errors


if __name__ == "__main__":
    sys.exit(main())
