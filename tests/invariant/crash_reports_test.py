#!/usr/bin/env python3
"""Lets a scheduler fail in the middle of a decision, and checks its report and its exit status.

    crash_reports_test.py <path of the program berth> <path of breaking_scheduler>
"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

# Name of the pod, exit status (negative: a signal), what the log must contain.
CASES = (
    ("breaks-an-invariant", 70, (
        r'^F\d{4} [0-9:.]+ +\d+ breaking_scheduler\.cpp:\d+\] "Invariant violated" check="[^\n]*" name="breaks-an-invariant" '
        r'attempt\.nodes\(\)\.node_count\(\)=3$',
        r"^    #1 0x[0-9a-f]+ .*Defective::Filter\(")),
    ("reads-from-address-0", -signal.SIGSEGV, (
        r'^F\d{4} [0-9:.]+ +\d+ fatal_signals\.cpp:\d+\] "Fatal signal" signal="SIGSEGV" code=1 address="0x0" thread="[^"]+"$',
        r"^    #1 0x[0-9a-f]+ _Z\S*9Defective6Filter",
        r"^    #\d+ 0x[0-9a-f]+ main$")),
)


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: kubeconfig}
profiles:
- plugins: {filter: {enabled: [{name: Defective}]}}
"""


def wait_for(what, condition):
    for _ in range(600):
        if value := condition():
            return value
        time.sleep(0.05)
    sys.exit(f"crash_reports: {what} did not happen within 30 s")


def play(scheduler, folder, server, name, status, patterns):
    errors = []
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen([scheduler, "--config=scheduler.yaml", "--secure-port=0", "--berth-http-address=127.0.0.1:0"],
                                 cwd=folder, stdout=log, stderr=log)
        try:
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            urllib.request.urlopen(urllib.request.Request(f"{server}/api/v1/namespaces/default/pods", json.dumps(pod).encode(),
                                                          {"Content-Type": "application/json"})).close()
            wait_for(f"the end of the scheduler after the pod {name}", lambda: child.poll() is not None)
        finally:
            child.kill()
            child.wait()
        urllib.request.urlopen(urllib.request.Request(f"{server}/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0",
                                                      method="DELETE")).close()
        if child.returncode != status:
            errors.append(f"{name}: the scheduler ended with {child.returncode}, expected {status}")
        log.seek(0)
        text = log.read()
    for pattern in patterns:
        if not re.search(pattern, text, re.MULTILINE):
            errors.append(f"{name}: the log has no line {pattern}")
    if errors:
        print(text[-4000:], file=sys.stderr)
    return errors


def main():
    berth, scheduler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kubeconfig = folder / "kubeconfig"
        (folder / "scheduler.yaml").write_text(CONFIG)
        with open(folder / "sandbox.log", "w") as log:
            sandbox = subprocess.Popen([berth, "sandbox", "--nodes=3", "--port=0", f"--kubeconfig={kubeconfig}"], stdout=log, stderr=log)
        try:
            wait_for("the start of the sandbox", kubeconfig.exists)
            server = re.search(r"server: (\S+)", kubeconfig.read_text()).group(1)
            errors = [error for case in CASES for error in play(scheduler, folder, server, *case)]
        finally:
            sandbox.terminate()
            sandbox.wait()
    for error in errors:
        print(f"crash_reports: {error}", file=sys.stderr)
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
