#!/usr/bin/env python3
"""Evaluates the queries of `berth rebalance` for the traffic of pods and the speed of links with Prometheus' evaluator.

    traffic.py <path of the program berth>

Needs promtool (script/setup --monitoring). `berth rebalance` sends the queries; promtool evaluates them.
"""

import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from check import free_port, get, wait_for
from fake_nodes import Server, answer
from promtool import EMPTY, evaluate, load_aware, series, test



def link(node, device, speed, received):
    """A link that receives some bytes per second."""
    labels = {"instance": node, "job": "node-exporter", "device": device}
    return [series("node_network_speed_bytes", f"{speed}+0x20", **labels),
            series("node_network_receive_bytes_total", f"0+{received * 60}x20", **labels)]


def interface(received, **labels):
    return [series("container_network_receive_bytes_total", f"0+{received * 60}x20", instance="a", **labels)]


SAMPLES = (
    # One link that counts: others are down, virtual, or have little traffic.
    link("a", "eth0", 1000, 500) + link("a", "mgmt0", 100, 5) + link("a", "eth1", -1, 0) +
    link("a", "veth12", 9000, 500) + link("a", "lo", 10, 900) +
    # A bond and its links.
    link("b", "bond0", 2000, 400) + link("b", "eth0", 1000, 200) + link("b", "eth1", 1000, 200) +
    # No traffic.
    link("c", "eth0", 1000, 0) + link("c", "eth1", 4000, 0) +
    # The sandbox of a pod under two names; a second interface; a node.
    interface(7, namespace="n", pod="p", interface="eth0", id="/kubepods/p/x") +
    interface(7, namespace="n", pod="p", interface="eth0", id="/kubepods/p/y", container="POD") +
    interface(3, namespace="n", pod="p", interface="net1", id="/kubepods/p/x") +
    interface(99, interface="eth0", id="/"))

EXPECTED = {
    "min by": {'{instance="a"}': 1000, '{instance="b"}': 1000, '{instance="c"}': 1000},
    "max by": {'{instance="a"}': 1000, '{instance="b"}': 2000, '{instance="c"}': 4000},
    "sum by": {'{namespace="n", pod="p"}': 10},
}


def queries(berth, directory):
    """The queries for received traffic, by their first words."""
    found = {}

    def respond(request):
        body = request.rfile.read(int(request.headers.get("Content-Length", 0))).decode()
        query = urllib.parse.parse_qs(body)["query"][0]
        if "container_network_receive" in query or "(node_network_speed_bytes > 0) and" in query:
            found[query[:6]] = query
            if len(found) == len(EXPECTED):
                complete.set()
        answer(request, 200, EMPTY, "application/json")

    complete = threading.Event()
    server = Server(respond)
    config = load_aware(directory, server.port, preset="none",
                        signals=[{"name": "network-receive", "weight": 1, "threshold": 80}])
    port = free_port()
    sandbox = subprocess.Popen([berth, "sandbox", "--nodes=1", f"--port={port}", "--kubeconfig=kubeconfig"], cwd=directory,
                               stdout=subprocess.DEVNULL)
    try:
        wait_for("the sandbox", lambda: get(f"http://127.0.0.1:{port}/api/v1/nodes"))
        rebalance = subprocess.Popen([berth, "rebalance", f"--config={config}", "--kubeconfig=kubeconfig", "--once",
                                      "--measurement-wait=20s"], cwd=directory, stdout=subprocess.DEVNULL)
        complete.wait(30)
        rebalance.kill()
        rebalance.wait()
    finally:
        sandbox.kill()
        sandbox.wait()
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        found = queries(str(pathlib.Path(sys.argv[1]).resolve()), directory)
        if found.keys() != EXPECTED.keys():
            sys.exit(f"these queries were sent: {found}")
        return evaluate(directory, "1m", [
            (SAMPLES, [test(found[words], "15m", expected) for words, expected in EXPECTED.items()])])


if __name__ == "__main__":
    sys.exit(main())
