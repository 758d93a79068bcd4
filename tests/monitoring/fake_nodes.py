"""Node exporters of many nodes in one process, and a proxy of Prometheus that can inject errors."""

import gzip
import http.server
import threading
import time
import urllib.error
import urllib.request


class Server:
    def __init__(self, handler):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                handler(self)

            do_POST = do_GET

            def log_message(self, *args):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args):
                pass  # the client has disconnected

        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()


def answer(request, status, body, content_type="text/plain", length=None):
    request.send_response(status)
    request.send_header("Content-Type", content_type)
    request.send_header("Content-Length", str(len(body) if length is None else length))
    request.end_headers()
    request.wfile.write(body)


class Exporter:
    """Counters that grow as if each node were busy by its share; loads is {instance: share from 0 to 1}.

    ages is {instance: seconds} of nodes whose samples have a timestamp with that age, as a relay exports them for a dead
    node; negative: the node's clock is ahead."""

    CORES = 2
    LINK = 1.25e8

    def __init__(self, loads, ages=None):
        self.loads = dict(loads)
        self.ages = ages or {}
        self.counters = {instance: [1000.0, 1e9, 500.0] for instance in loads}
        self.last = time.time()
        self.lock = threading.Lock()
        self.server = Server(lambda request: answer(request, 200, self.page().encode()))
        self.port = self.server.port

    def page(self):
        with self.lock:
            now = time.time()
            passed, self.last = now - self.last, now
            lines = []
            for instance, load in self.loads.items():
                counter = self.counters[instance]
                counter[0] += passed * (1 - load)
                counter[1] += passed * load * self.LINK
                counter[2] += passed * load
                label = f'instance="{instance}"'
                first = len(lines)
                for core in range(self.CORES):
                    lines.append(f'node_cpu_seconds_total{{{label},cpu="{core}",mode="idle"}} {counter[0]}')
                    lines.append(f'node_cpu_seconds_total{{{label},cpu="{core}",mode="user"}} {counter[2]}')
                lines.append(f'node_memory_MemTotal_bytes{{{label}}} 1e10')
                lines.append(f'node_memory_MemAvailable_bytes{{{label}}} {1e10 * (1 - load)}')
                lines.append(f'node_network_receive_bytes_total{{{label},device="ens192"}} {counter[1]}')
                lines.append(f'node_network_speed_bytes{{{label},device="ens192"}} {self.LINK}')
                lines.append(f'node_disk_io_time_seconds_total{{{label},device="sda"}} {counter[2]}')
                lines.append(f'node_load1{{{label}}} {load * self.CORES}')
                if instance in self.ages:
                    when = int((now - self.ages[instance]) * 1000)
                    lines[first:] = [f"{line} {when}" for line in lines[first:]]
            return "\n".join(lines) + "\n"


def drip(request):
    """A byte every half second, which no timeout between bytes notices."""
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    while True:
        request.wfile.write(b" ")
        request.wfile.flush()
        time.sleep(0.5)


def endless(request):
    """As fast as the client reads."""
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    block = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while True:
        request.wfile.write(block)


def bomb(request):
    """A thousandth of what it unpacks to."""
    body = gzip.compress(b" " * (200 << 20), 1)
    request.send_response(200)
    request.send_header("Content-Encoding", "gzip")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


HOSTILE = {"drip": drip, "endless": endless, "bomb": bomb}


class Middle:
    """Forwards queries to Prometheus and counts them; mode selects an error instead."""

    def __init__(self, port):
        self.target = f"http://127.0.0.1:{port}"
        self.mode = "pass"
        self.queries = 0
        self.server = Server(self.handle)
        self.url = f"http://127.0.0.1:{self.server.port}"

    def handle(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.queries += 1
        if self.mode == "hang":
            time.sleep(3600)
        if self.mode == "error":
            return answer(request, 503, b"Service Unavailable")
        if self.mode in HOSTILE:
            return HOSTILE[self.mode](request)
        if self.mode == "html":
            return answer(request, 200, b"<html><body>Please log in</body></html>", "text/html")
        headers = {"Content-Type": request.headers.get("Content-Type", "")}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.target + request.path, body or None, headers), timeout=10) as reply:
                status, text = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        except OSError:
            return request.connection.close()
        if self.mode == "half":
            answer(request, status, text[:len(text) // 2], "application/json", len(text))
            return request.connection.close()
        answer(request, status, text, "application/json")
