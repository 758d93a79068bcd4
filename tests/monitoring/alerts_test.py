#!/usr/bin/env python3
"""Unit tests of alerts in deploy/monitoring/alerts.yaml, evaluated by promtool on samples that the tests define.

    alerts_test.py

Exit code 77 without promtool (script/setup --monitoring).
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from promtool import series  # noqa: E402 (needs the path set above)

RULES = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "monitoring" / "alerts.yaml"
OF_BERTH = {"job": "scheduler", "instance": "a"}


def loops(values):
    return [series("berth_preemption_loops_total", values, **OF_BERTH)]


def quota(unserved, used, least="4"):
    """Samples of the namespace `services`; its CPU is guaranteed, its memory is used completely."""
    return [series("berth_quota_unserved_attempts_total", unserved, namespace="services", **OF_BERTH)] + [
        series(f"berth_quota_{metric}", f"{value}x60", namespace="services", resource=resource, **OF_BERTH)
        for resource, metric, value in (("cpu", "used", f"{used}+0"), ("cpu", "min", f"{least}+0"),
                                        ("memory", "used", "8+0"), ("memory", "min", "8+0"))]


SERVICES = {"namespace": "services"}
# (name, samples, one per minute; alert, minute, labels of the alerts that fire)
CASES = [
    ("no loop", loops("0+0x60"), "PreemptionLoop", 30, []),
    ("a loop", loops("0+0x10 1+0x50"), "PreemptionLoop", 13, [{}]),
    ("a loop half an hour ago", loops("0+0x10 1+0x50"), "PreemptionLoop", 40, []),
    ("attempts fail below the minimum", quota("0+1x60", 2), "QuotaMinimumNotServed", 30, [SERVICES]),
    ("attempts fail for ten minutes", quota("0+1x60", 2), "QuotaMinimumNotServed", 10, []),
    ("attempts failed half an hour ago", quota("0+1x20 20+0x40", 2), "QuotaMinimumNotServed", 50, []),
    ("the minimum is used", quota("0+1x60", 4), "QuotaMinimumNotServed", 30, []),
    ("no attempt fails", quota("0+0x60", 2), "QuotaMinimumNotServed", 30, []),
]


def annotations(alert):
    """Those of the rules, with the labels of these tests."""
    rule = RULES.read_text().split(f"  - alert: {alert}\n")[1].split("  - alert: ")[0]
    found = dict(line.strip().split(": ", 1) for line in rule.splitlines() if line.startswith("      ") and ": " in line)
    return {name: found[name].strip("'").replace("{{ $labels.namespace }}", "services")
            for name in ("summary", "description")}


def main():
    if shutil.which("promtool") is None:
        sys.exit(77)
    tests = [{"name": name, "interval": "1m", "input_series": samples,
              "alert_rule_test": [{"alertname": alert, "eval_time": f"{minute}m", "exp_alerts": [
                  {"exp_labels": {"severity": "warning", **labels}, "exp_annotations": annotations(alert)}
                  for labels in firing]}]} for name, samples, alert, minute, firing in CASES]
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "tests.json"
        file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
        run = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
    print(f"{len(CASES)} cases" if run.returncode == 0 else run.stdout + run.stderr)
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
