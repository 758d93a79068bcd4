#!/usr/bin/env python3
"""Evaluates every expression of deploy/monitoring in a real Prometheus that scrapes a running scheduler.

    check.py <path of the program berth>

Needs prometheus (script/setup --monitoring). A cluster in memory, a scheduler that leads, a few pods that find a node and
some that do not; then each expression of the alerts, the recording rules and the dashboard must be understood, must name
metrics that exist, and those that describe a scheduler at work must have a value.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from ports import free_port  # noqa: E402 (needs the path set above)

MONITORING = ROOT / "deploy" / "monitoring"
RULES = ("alerts.yaml", "recording-rules.yaml")
# Families that only appear after failures, which do not occur here; checks that the code contains them.
RARE = {"berth_reflector_failures_total", "berth_objects_skipped_total", "berth_plugin_overruns_total",
        # With hierarchy: Koordinator, which excludes the quotas of namespaces.
        "berth_quota_group_used", "berth_quota_group_runtime", "berth_quota_group_min", "berth_quota_groups_without_place"}
# Expressions without a value in a healthy cluster, by a part of the expression.
QUIET = ("absent(", "== 0", "> 1", "> 0.05", "> 10", "> 30", "> 100", 'code=~"5..', "berth_reflector_failures_total",
         "berth_objects_skipped_total", "berth_plugin_overruns_total", "increase(berth_events_dropped_total",
         "increase(berth_overcommitted_placements_total", "increase(berth_preemption_loops_total",
         "increase(berth_quota_unserved_attempts_total", "berth_quota_group")
# With the plugins whose metrics appear in the row of tenants.
CONFIGURATION = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: kubeconfig}
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: CapacityScheduling}, {name: EvictionBudget}]}
    queueSort: {disabled: [{name: "*"}], enabled: [{name: FairOrder}]}
  pluginConfig:
  - {name: EvictionBudget, args: {loops: {}}}
"""
METRIC = re.compile(r"\b((?:scheduler|leader_election|rest_client|process|berth)_[a-z0-9_]+)\b(?!\s*:)")


def expressions():
    """(position, expression) for each shipped expression."""
    for name in RULES:
        # promtool checks the rules; only the expressions after "expr:" are needed here.
        lines = (MONITORING / name).read_text().splitlines()
        for number, line in enumerate(lines):
            if not (found := re.match(r"\s*expr: (.*)", line)):
                continue
            text = found.group(1)
            if text == "|":
                indent = len(line) - len(line.lstrip())
                block = []
                for following in lines[number + 1:]:
                    if following.strip() and len(following) - len(following.lstrip()) <= indent:
                        break
                    block.append(following.strip())
                text = " ".join(block)
            yield f"{name}:{number + 1}", text
    for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", []):
            yield f"dashboard.json: {panel['title']}", target["expr"].replace("$job", "scheduler")


def get(url, body=None):
    request = urllib.request.Request(url, data=body and json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if condition():
                return
        except (urllib.error.URLError, OSError, ValueError, LookupError):
            pass
        time.sleep(0.1)
    sys.exit(f"monitoring: {what} did not happen within {seconds} s")


def pod(name, cpu, priority=""):
    return {"metadata": {"name": name}, "spec": {"priorityClassName": priority, "containers": [
        {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}]}}


class Prometheus:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/api/v1/"

    def query(self, expression):
        """The samples, or the error text."""
        try:
            return json.loads(get(self.url + "query?" + urllib.parse.urlencode({"query": expression})))["data"]["result"]
        except urllib.error.HTTPError as error:
            return json.loads(error.read().decode())["error"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    berth = str(pathlib.Path(sys.argv[1]).resolve())
    subprocess.run(["promtool", "check", "rules", *(str(MONITORING / name) for name in RULES)], check=True, stdout=subprocess.DEVNULL)
    api, own, web = free_port(), free_port(), free_port()
    children = []
    with tempfile.TemporaryDirectory() as directory:
        def start(name, *command):
            log = open(pathlib.Path(directory) / f"{name}.log", "w")
            children.append(subprocess.Popen(command, cwd=directory, stdout=log, stderr=log))

        try:
            start("sandbox", berth, "sandbox", "--nodes=5", "--node-cpus=8", f"--port={api}", "--kubeconfig=kubeconfig")
            pods = f"http://127.0.0.1:{api}/api/v1/namespaces/default/pods"
            wait_for("the cluster", lambda: json.loads(get(pods)))
            (pathlib.Path(directory) / "scheduler.yaml").write_text(CONFIGURATION)
            start("scheduler", berth, "scheduler", "--config=scheduler.yaml", "--secure-port=0",
                  f"--berth-http-address=127.0.0.1:{own}", "--berth-http-metrics", "--berth-class-label=tier")
            (pathlib.Path(directory) / "prometheus.yaml").write_text(json.dumps({
                "global": {"scrape_interval": "500ms", "evaluation_interval": "1s"},
                "rule_files": [str(MONITORING / name) for name in RULES],
                "scrape_configs": [{"job_name": "scheduler", "static_configs": [{"targets": [f"127.0.0.1:{own}"]}]}]}))
            start("prometheus", "prometheus", "--config.file=prometheus.yaml", f"--web.listen-address=127.0.0.1:{web}",
                  "--storage.tsdb.path=data")
            prometheus = Prometheus(web)
            wait_for("leading", lambda: prometheus.query('leader_election_master_status == 1'))
            work(pods)
            scheduled = 'scheduler_schedule_attempts_total{result="scheduled"} >= 42'
            wait_for("scheduling", lambda: prometheus.query(scheduled))
            # Two scrapes of all counters, so that rates have values.
            seen = time.time()
            wait_for("another scrape", lambda: float(prometheus.query("timestamp(up)")[0]["value"][1]) > seen + 1)
            sys.exit(evaluate(prometheus))
        finally:
            for child in reversed(children):
                child.terminate()
                child.wait()


def work(pods):
    server = pods.split("/api/")[0]
    get(server + "/api/v1/namespaces", {"metadata": {"name": "tenant"}})
    get(server + "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/tenant/elasticquotas",
        {"metadata": {"name": "quota"}, "spec": {"min": {"cpu": "1"}, "max": {"cpu": "2"}}})
    get(pods.replace("/default/", "/tenant/"), pod("own", "500m"))
    for number in range(40):
        get(pods, pod(f"small-{number}", "500m"))
    get(pods, pod("huge", "1000"))
    wait_for("the rejection of a huge pod", lambda: any(
        condition.get("reason") == "Unschedulable" for condition in json.loads(get(pods + "/huge"))["status"].get("conditions", [])))
    get(server + "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1000})
    get(pods, pod("strong", "7", priority="high"))
    wait_for("a preemption", lambda: json.loads(get(pods + "/strong"))["spec"].get("nodeName"))


def value_of(prometheus, expression, seconds=10):
    """The result of an expression that must have one. After a scrape that took too long, all series are missing until the next."""
    end = time.monotonic() + seconds
    while not (result := prometheus.query(expression)) and time.monotonic() < end:
        time.sleep(0.2)
    return result


def evaluate(prometheus):
    code = (ROOT / "src").rglob("*.cpp")
    sources = "".join(path.read_text() for path in code)
    known = {re.sub(r"_(bucket|sum|count)$", "", name) for name in
             json.loads(get(prometheus.url + "label/__name__/values"))["data"]}
    wrong = []
    count = 0
    for where, expression in expressions():
        count += 1
        for name in METRIC.findall(expression):
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            if family not in known and not (family in RARE and f'"{family}"' in sources):
                wrong.append(f"{where}: there is no {family}")
        quiet = any(part in expression for part in QUIET)
        result = prometheus.query(expression) if quiet else value_of(prometheus, expression)
        if isinstance(result, str):
            wrong.append(f"{where}: {result}")
        elif not result and not quiet:
            wrong.append(f"{where}: no value: {expression}")
    firing = [alert["labels"]["alertname"] for alert in json.loads(get(prometheus.url + "alerts"))["data"]["alerts"]
              if alert["state"] == "firing"]
    wrong += [f"{name} fires although all is well" for name in firing]
    for line in wrong:
        print("WRONG", line)
    print(f"{count} expressions evaluated, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
