"""Queries of Berth, evaluated by promtool on samples that a test defines."""

import json
import subprocess

# The answer of a Prometheus without data.
EMPTY = b'{"status":"success","data":{"resultType":"vector","result":[]}}'


def series(metric, values, **labels):
    """Samples in promtool's notation."""
    text = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return {"series": f"{metric}{{{text}}}", "values": values}


def load_aware(directory, port, **arguments):
    """Writes a configuration with LoadAware that queries this port of the machine. Returns its path."""
    config = directory / "config.json"
    config.write_text(json.dumps({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "LoadAware"}]}},
                      "pluginConfig": [{"name": "LoadAware", "args": {
                          "prometheusAddress": f"http://127.0.0.1:{port}", **arguments}}]}]}))
    return config


def test(expression, time, expected):
    """`expected` maps labels, as Prometheus prints them, to values."""
    return {"expr": expression, "eval_time": time,
            "exp_samples": [{"labels": labels, "value": value} for labels, value in expected.items()]}


def evaluate(directory, interval, cases):
    """`cases` are pairs of samples, one per interval, and their tests. Prints the result; returns the exit code."""
    file = directory / "tests.json"
    file.write_text(json.dumps({"rule_files": [], "evaluation_interval": interval, "tests": [
        {"interval": interval, "input_series": samples, "promql_expr_test": tests} for samples, tests in cases]}))
    run = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
    count = sum(len(tests) for _, tests in cases)
    print(f"{count} queries evaluated" if run.returncode == 0 else run.stdout + run.stderr)
    return run.returncode
