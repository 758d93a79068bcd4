#!/usr/bin/env python3
"""A scheduler extender: pods with a label "rack" go to nodes of that rack, all others anywhere.

    extender.py [port]        listens on 127.0.0.1, port 12345, for POST /api/scheduler/filter
"""

import http.server
import json
import sys


def fits(pod, node):
    wanted = pod["metadata"].get("labels", {}).get("rack")
    return wanted is None or node["metadata"].get("labels", {}).get("rack") == wanted


def filtered(question):
    """The answer, with keys as the libraries of that time wrote them."""
    pod, nodes = question["Pod"], question["Nodes"]["items"]
    failed = {node["metadata"]["name"]: "node is in another rack" for node in nodes if not fits(pod, node)}
    return {"nodes": {"metadata": {}, "items": [node for node in nodes if fits(pod, node)]},
            "nodenames": None, "failedNodes": failed, "error": ""}


class Extender(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/api/scheduler/filter":
            return self.answer(404, {"error": "no such verb: " + self.path})
        answer = filtered(question)
        print(f"filter {question['Pod']['metadata']['name']}: {len(answer['nodes']['items'])} nodes fit", flush=True)
        self.answer(200, answer)

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 12345
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Extender).serve_forever()
