#!/usr/bin/env python3
"""Evaluates the queries of LoadAware's forecast with Prometheus' own evaluator on two days of samples.

    forecast.py <path of the program berth>

Needs promtool (script/setup --monitoring). `berth measure` prints the queries; promtool evaluates them at the end of the
second day.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from fake_nodes import Server, answer
from promtool import EMPTY, evaluate, load_aware, series, test

# One sample every five minutes. The memory of a pod is low during the first hour of a day.
DAY = "1000x11 5000x275"


def pod(name, values, owner=None, label=None, counter=None):
    """The series of a pod with one container; `values` are its memory."""
    present = re.sub(r"(?<![\dx])\d+x", "1x", values)
    out = [series("container_memory_working_set_bytes", values, namespace="default", pod=name, container="c"),
           series("container_memory_working_set_bytes", values, namespace="default", pod=name, container="POD")]
    if counter:
        out.append(series("container_cpu_usage_seconds_total", counter, namespace="default", pod=name, container="c"))
    if owner:
        # Redundant servers.
        for replica in "ab":
            out.append(series("kube_pod_owner", present, namespace="default", pod=name, owner_kind=owner[0],
                              owner_name=owner[1], owner_is_controller="true", replica=replica))
    if label:
        out.append(series("kube_pod_labels", present, namespace="default", pod=name, label_app=label))
    return out


def queries(berth, directory, forecast):
    """The queries by the name of their signal."""
    def respond(request):
        request.rfile.read(int(request.headers.get("Content-Length", 0)))
        answer(request, 200, EMPTY, "application/json")

    server = Server(respond)
    config = load_aware(directory, server.port, forecast=forecast)
    nodes = directory / "nodes.json"
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}]}))
    text = subprocess.run([berth, "measure", "--config", config, "-f", nodes], capture_output=True, text=True).stdout
    return dict(re.findall(r"^(\S.*)\n  source: .*\n  query:  (.*)$", text, re.M))


def case(forecast, resource, samples, expected):
    return {"forecast": forecast, "resource": resource, "samples": samples, "expected": expected}


def cases():
    by_owner = (
        pod("web-5d4f8-aaaaa", f"{DAY} {DAY} 1000x0", ("ReplicaSet", "web-5d4f8"), counter="0+300x576") +
        # Its pods did not exist yesterday.
        pod("new-0", "_x567 300x8", ("StatefulSet", "new")) +
        # Starts at the time of the query.
        pod("starting-0", "_x576 900x0", ("StatefulSet", "starting")) +
        # Ended yesterday after the first hour.
        pod("nightly-28931040-bbbbb", "700x288 700x11 _x276", ("Job", "nightly-28931040")) +
        pod("bare", f"{DAY} {DAY} 1000x0"))
    owner = "namespace,owner_kind,owner_name"
    yield case({"periods": 1}, "memory", by_owner, {
        (owner, "default,ReplicaSet,web-5d4f8"): 1000,
        (owner, "default,StatefulSet,new"): 300,
        (owner, "default,Job,nightly-28931040"): 700})
    yield case({"periods": 1}, "cpu", by_owner, {(owner, "default,ReplicaSet,web-5d4f8"): 1})
    # Of the two hours, the percentile of all readings.
    yield case({"periods": 2, "percentile": 100, "period": "12h"}, "memory", by_owner, {
        (owner, "default,ReplicaSet,web-5d4f8"): 5000,
        (owner, "default,StatefulSet,new"): 300,
        (owner, "default,Job,nightly-28931040"): 700})
    yield case({"periods": 1, "workloadLabels": ["app"]}, "memory", pod("p", f"{DAY} {DAY} 1000x0", label="flink") + pod(
        "q", f"{DAY} {DAY} 1000x0"), {("namespace,label_app", "default,flink"): 1000})


def labels_of(names, values):
    return "{" + ", ".join(f'{name}="{value}"' for name, value in zip(names.split(","), values.split(","))) + "}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    berth = str(pathlib.Path(sys.argv[1]).resolve())
    evaluated = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for one in cases():
            expression = queries(berth, directory, one["forecast"])[f"forecast of workloads: {one['resource']}"]
            expected = {labels_of(*key): value for key, value in one["expected"].items()}
            evaluated.append((one["samples"], [test(expression, "48h", expected)]))
        return evaluate(directory, "5m", evaluated)


if __name__ == "__main__":
    sys.exit(main())
