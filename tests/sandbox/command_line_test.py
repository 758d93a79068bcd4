#!/usr/bin/env python3
"""The program's command line with a sandbox: completion in bash with names from the cluster, the kubeconfig and the
   scheduler of the sandbox, and the signals and the log of a scheduler.
   command_line_test.py <program berth>"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

BERTH = pathlib.Path(sys.argv[1]).resolve()
DEADLINE = 60  # seconds for each wait
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"command line: {what}", file=sys.stderr)


def wait_for(what, happened):
    end = time.monotonic() + DEADLINE
    while not (result := happened()):
        if time.monotonic() > end:
            sys.exit(f"command line: waited {DEADLINE} s for {what}")
        time.sleep(0.02)
    return result


def start(log, *arguments):
    return subprocess.Popen([BERTH, *arguments], stdout=log.open("w"), stderr=subprocess.STDOUT)


def stop(process, kind=signal.SIGTERM):
    process.send_signal(kind)
    return process.wait(DEADLINE)


def request(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(call, timeout=DEADLINE) as reply:
        return json.load(reply)


def pod(name, cpu):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}}


PROGRAMS = tempfile.TemporaryDirectory()  # the program by the names that are completed
for program in ("berth", "kube-scheduler"):
    pathlib.Path(PROGRAMS.name, program).symlink_to(BERTH)


def completed(*words):
    """What bash offers for the last word."""
    script = '''PATH="$1:$PATH"; shift; source <(berth completion bash)
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf '%s\\n' "${COMPREPLY[@]}"'''
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", PROGRAMS.name, *words], capture_output=True, text=True, timeout=DEADLINE)
    check(done.stderr == "", f"bash prints {done.stderr!r} for {words}")
    return done.stdout.split()


def check_completion(kubeconfig):
    cases = [
        (["berth", "expl"], ["explain"]),
        (["berth", "help", "que"], ["queue"]),
        (["berth", "config", "co"], ["convert"]),
        (["kube-scheduler", "--leader-elect-l"], ["--leader-elect-lease-duration"]),
        (["berth", "--berth-se"], []),
        (["berth", "explain", "-o", "j"], ["json"]),
        (["berth", "explain", "--output", "=", "w"], ["wide"]),
        (["berth", "completion", ""], ["bash", "zsh", "fish"]),
        (["berth", "queue", "--place", "g"], ["gated"]),
        (["berth", "explain", "--kubeconfig", str(kubeconfig), "pod/"], ["pod/big", "pod/huge"]),
        (["berth", "why", "--kubeconfig", "=", str(kubeconfig), "pod/h"], ["pod/huge"]),
        (["berth", "why", "--kubeconfig", str(kubeconfig), "-n", "kube-system", "pod/"], []),
        (["berth", "queue", "--kubeconfig", str(kubeconfig), "-n", "kube-s"], ["kube-system"]),
        (["berth", "config", "check", "/etc/host"], None),
    ]
    for words, want in cases:
        got = completed(*words)
        check("/etc/hosts" in got if want is None else got == want, f"{words} is completed to {got}, expected {want}")


def check_deadline(folder):
    """A server that accepts connections and is silent delays a completion by some seconds only."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig = kubeconfig_for(folder / "silent", f"http://127.0.0.1:{silent.getsockname()[1]}")
        started = time.monotonic()
        check(completed("berth", "explain", "--kubeconfig", str(kubeconfig), "pod/") == [], "a silent server has pods")
        check(time.monotonic() - started < 10, f"a completion took {time.monotonic() - started:.0f} s")


def kubeconfig_for(path, url, cluster="other"):
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                                "clusters": [{"name": cluster, "cluster": {"server": url}}], "users": [{"name": "u", "user": {}}],
                                "contexts": [{"name": "c", "context": {"cluster": cluster, "user": "u"}}]}))
    return path


def check_sandbox(folder):
    kubeconfig, log = folder / "kubeconfig", folder / "sandbox.log"
    sandbox = start(log, "sandbox", "--nodes", "2", "--port", "0", "--scheduler", "--kubeconfig", kubeconfig)
    try:
        url = wait_for("the sandbox", lambda: re.search(r"nodes at (http://\S+);", log.read_text()))[1]
        for name in ("big", "huge"):
            request(url, "/api/v1/namespaces/default/pods", pod(name, "1000"))
        request(url, "/api/v1/namespaces/default/pods", pod("small", "1"))
        wait_for("a pod that the sandbox's scheduler has bound",
                 lambda: request(url, "/api/v1/namespaces/default/pods/small")["status"].get("phase") == "Running")
        check_completion(kubeconfig)
        scheduler_log = pathlib.Path(wait_for("the scheduler's log", lambda: re.search(r"its log: (\S+)", log.read_text()))[1])
        check(scheduler_log.exists(), f"{scheduler_log} does not exist")
        check_hangup(folder, kubeconfig)
    finally:
        check(stop(sandbox) == 0, f"the sandbox ends with {sandbox.returncode}: {log.read_text()}")
    check(not scheduler_log.parent.exists(), f"{scheduler_log.parent} is left")


def check_save(folder):
    """The objects are saved, too, when the scheduler ends and takes the sandbox with it."""
    log, saved = folder / "saved.log", folder / "saved.json"
    sandbox = start(log, "sandbox", "--nodes", "2", "--port", "0", "--scheduler", "--save", saved)
    scheduler_log = pathlib.Path(wait_for("the scheduler's log", lambda: re.search(r"its log: (\S+)", log.read_text()))[1])
    for child in pathlib.Path(f"/proc/{sandbox.pid}/task/{sandbox.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)
    check(sandbox.wait(DEADLINE) == 1, f"exit code {sandbox.returncode}: {log.read_text()}")
    shutil.rmtree(scheduler_log.parent)
    check(saved.exists() and len(json.loads(saved.read_text())["items"]) > 2, "the objects are not saved")


def check_kubeconfig(folder):
    """A kubeconfig is replaced only if a sandbox has written it."""
    path, log = kubeconfig_for(folder / "mine", "https://prod.example", "prod"), folder / "refused.log"
    before = path.read_bytes()
    code = start(log, "sandbox", "--port", "0", "--kubeconfig", path).wait(DEADLINE)
    check(code == 1 and f"--kubeconfig: {path} exists and was not written by a sandbox (it has prod)" in log.read_text(),
          f"exit code {code}: {log.read_text()}")
    check(path.read_bytes() == before, "the kubeconfig of another cluster was changed")
    shutil.copy(folder / "kubeconfig", folder / "again")
    again = start(log, "sandbox", "--port", "0", "--kubeconfig", folder / "again")
    wait_for("the second sandbox", lambda: "nodes at" in log.read_text())
    check(stop(again) == 0, "a kubeconfig of a sandbox is not replaced")


def check_hangup(folder, kubeconfig):
    log = folder / "scheduler.log"
    scheduler = start(log, "scheduler", "--kubeconfig", kubeconfig, "--secure-port", "0", "--berth-http-address", "127.0.0.1:0",
                      "--leader-elect=false")
    wait_for("the scheduler", lambda: "Starting Kubernetes Scheduler" in log.read_text())
    scheduler.send_signal(signal.SIGHUP)
    wait_for("the log of SIGHUP", lambda: "SIGHUP has no effect" in log.read_text() or scheduler.poll() is not None)
    check(scheduler.poll() is None, "SIGHUP ended the scheduler")
    check(stop(scheduler) == 0, f"SIGTERM: exit code {scheduler.returncode}")


def check_outage(folder):
    """One warning for all resources if the API server cannot be reached at the start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    log = folder / "outage.log"
    kubeconfig = kubeconfig_for(folder / "closed", f"http://127.0.0.1:{closed}")
    scheduler = start(log, "scheduler", "--kubeconfig", kubeconfig, "--secure-port", "0", "--berth-http-address", "127.0.0.1:0",
                      "--leader-elect=false")
    wait_for("the warning", lambda: "The API server is unreachable" in log.read_text())
    check(stop(scheduler) == 0, f"exit code {scheduler.returncode}")
    warnings = [line for line in log.read_text().splitlines() if line.startswith("W")]
    check(len(warnings) == 1, f"{len(warnings)} warnings: {warnings}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_sandbox(folder)
        check_save(folder)
        check_kubeconfig(folder)
        check_deadline(folder)
        check_outage(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
