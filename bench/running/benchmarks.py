"""All benchmarks. To add one, add an entry to `every_benchmark`: a name, a description, and the
program that measures it. The program prints one JSON object per line with `value` and `unit` (and `name`, if it prints
several lines). Other fields are shown, too: see SHOWN in measuring.py."""
import dataclasses
import pathlib
import typing

MORE, LESS = "more", "less"  # which of two values is better

SAMPLING = "kube-scheduler"
ALL_NODES = "kube-scheduler, all nodes"


@dataclasses.dataclass(frozen=True)
class Side:
    """One side of a comparison. `argv` is called with the Context of the run."""
    label: str
    argv: typing.Callable


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """The first side is Berth, the others are baselines; the ratio is that to the first baseline."""
    name: str
    about: str
    sides: tuple
    parameters: dict = dataclasses.field(default_factory=dict)
    better: str = MORE
    # of a program that prints several lines: the fields of the relevant one
    line: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Growth:
    """Growth of the CPU time of a decision: the exponent of a power law through the points."""
    name: str
    about: str
    points: tuple  # of (x, Benchmark)
    parameters: dict


def program(*argv):
    """Berth's side: an executable of the build directory."""
    return (Side("berth", lambda context: [str(context.bin / argv[0]), *argv[1:]]),)


# Ten devices each; the baseline takes minutes to load more of them.
MOST_NODES_WITH_DEVICES = 5000


def is_of_devices(workload):
    return workload == "gpu-claims" or workload.startswith("suite/dra/")


# A node takes one pod of these workloads; additional pods would only be rejected.
ONE_PER_NODE = {"anti-affinity", "suite/pod-anti-affinity", "suite/ns-selector/anti-affinity", "suite/filling"}


def most_pods(workload, nodes):
    return max(1, nodes // 4) if workload in ONE_PER_NODE or is_of_devices(workload) else 40 * nodes


@dataclasses.dataclass(frozen=True)
class Decisions:
    """Decisions of a workload: bench_decisions and the baseline get the same objects."""
    workload: str
    nodes: int
    pods: int
    pods_per_node: int = 0
    config: str = ""

    def cluster(self, context):
        pods = min(context.pods or self.pods, most_pods(self.workload, self.nodes))
        return ["--workloads", self.workload, "--nodes", str(self.nodes), "--pods", str(pods),
                "--pods-per-node", str(self.pods_per_node)]

    def config_flags(self, context):
        return ["--config", str(context.file(self.config, ".yaml"))] if self.config else []

    def berth(self, context):
        return [str(context.bin / "bench_decisions"), *self.cluster(context), *self.config_flags(context),
                "--rounds", "1", "--json"]

    def baseline(self, context, *flags):
        dump = [str(context.bin / "bench_decisions"), "--dump", *self.cluster(context)]
        return [str(context.baseline), "--events", str(context.output_of(dump)), *self.config_flags(context), *flags]

    def benchmark(self, name, about, baselines=(SAMPLING, ALL_NODES)):
        flags = {SAMPLING: [], ALL_NODES: ["--all-nodes"]}
        sides = [Side("berth", self.berth)]
        sides += [Side(label, lambda context, label=label: self.baseline(context, *flags[label])) for label in baselines]
        parameters = {"workload": self.workload, "nodes": self.nodes, "podsPerNode": self.pods_per_node, "batching": bool(self.config)}
        return Benchmark(name, about, tuple(sides), parameters)


SIZES = (100, 1000, 5000, 20000, 100000)

# Opportunistic batching reuses results for identical pods. It never applies with the default topology spread,
# which pods cannot disable; and it helps only if a pod fills its node.
BATCHING = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: []}
"""


def pods_for(nodes):
    return 1000 if nodes <= 20000 else 300


def decisions(workloads):
    """`workloads` are those of bench_decisions: pairs of name and description."""
    for nodes in SIZES:
        # With 100,000 nodes kube-scheduler takes a second per pod if it evaluates all nodes.
        baselines = (SAMPLING, ALL_NODES) if nodes <= 20000 else (SAMPLING,)
        for workload, about in workloads:
            if is_of_devices(workload) and nodes > MOST_NODES_WITH_DEVICES:
                continue
            of = Decisions(workload, nodes, pods_for(nodes))
            if workload.startswith("preemption"):
                yield of.benchmark(f"preemption/{nodes}" + workload.removeprefix("preemption").replace("-", "/"),
                                   about, baselines)
            else:
                yield of.benchmark(f"decisions/{nodes}/{workload}", about, baselines)
        for workload in ("classes-1", "suite/filling"):
            of = Decisions(workload, nodes, pods_for(nodes), config=BATCHING)
            yield of.benchmark(f"decisions/{nodes}/batching/{workload.removeprefix('suite/')}",
                               "opportunistic batching possible: no default topology spread, identical pods", baselines)


def growth():
    for workload in ("distinct", "classes-5", "suite/basic"):
        sizes = (1000, 2000, 5000, 10000, 20000, 50000, 100000)
        points = tuple((nodes, Decisions(workload, nodes, 300).benchmark(f"{nodes} nodes", "", (SAMPLING,)))
                       for nodes in sizes)
        yield Growth(f"growth/nodes/{workload}", "CPU time of a decision by the number of nodes", points,
                     {"workload": workload})
        points = tuple((there, Decisions(workload, 1000, 500, there).benchmark(f"{there} pods per node", "", (SAMPLING,)))
                       for there in (0, 1, 3, 10, 30, 100))
        yield Growth(f"growth/pods-per-node/{workload}", "CPU time of a decision by the number of bound pods", points,
                     {"workload": workload, "nodes": 1000})


    # Enough pods that the first one of each class, which evaluates all nodes, hardly counts; too many for
    # kube-scheduler.
    for workload in ("classes-1", "classes-5"):
        points = tuple((nodes, Decisions(workload, nodes, 10000).benchmark(f"{nodes} nodes", "", ())) for nodes in sizes)
        yield Growth(f"growth/long/{workload}", "CPU time of a decision by the number of nodes, 10,000 pods", points, {"workload": workload})


def groups():
    for nodes in (1000, 5000):
        for workload, pods, about in (("gang-1000", 1000, "a group of 1,000 equal pods"),
                                      ("gangs-64", 6400, "100 groups of 64 equal pods with 4 GPUs each"),
                                      ("gangs-64-in-rack", 640, "10 such groups, each in one rack of 50 nodes")):
            def cluster(context, nodes=nodes, workload=workload, pods=pods):
                pods = min(context.pods or pods, nodes)  # a node has GPUs for two pods
                return ["--workloads", workload, "--nodes", str(nodes), "--pods", str(pods)]

            def berth(context, cluster=cluster):
                return [str(context.bin / "bench_groups"), *cluster(context), "--rounds", "1", "--json"]

            def baseline(context, cluster=cluster):
                dump = [str(context.bin / "bench_groups"), "--dump", *cluster(context)]
                return [str(context.baseline), "--groups", "--events", str(context.output_of(dump))]

            yield Benchmark(f"groups/{nodes}/{workload}", f"{about}, from the queue to the bindings",
                            (Side("berth", berth), Side(SAMPLING, baseline)), {"workload": workload, "nodes": nodes})


def queue():
    for pods in (10000, 100000):
        for line, about in (("add", "a pod is added"), ("add-gated", "a gated pod is added"),
                            ("pop-done", "a pod is popped and done"), ("pop-rejected", "a pod is popped and requeued"),
                            ("event-helps-none", "an event that requeues none of them, per pod"),
                            ("event-helps-all", "an event that requeues all of them, per pod"),
                            ("flush-backoff", "backoff ends for all of them, per pod"), ("delete", "a pod is deleted")):
            name = f"queue/{pods}/{line}"
            yield Benchmark(name, about, program("bench_queue", "--pods", str(pods), "--json"), {"pods": pods}, LESS, {"name": name})


def fair_order():
    for case, about in (("fits", "50,000 pods of another tenant that fit"), ("rejected", "50,000 pods of another tenant that fit on no node"),
                        ("tenants", "50,000 pods of 10,000 other tenants")):
        for order in ("PrioritySort", "FairOrder"):
            name = f"fair_order/{case}/{order}"
            yield Benchmark(name, f"attempts before the first pod of a tenant behind {about}",
                            program("bench_fair_order", "--cases", case, "--json"), {}, LESS, {"name": name})


def simulation():
    for shapes in (1, 5):
        yield Benchmark(f"simulation/5000/shapes-{shapes}", "placements of berth simulate, with 20,000 pods at the same time",
                        program("bench_simulation", "--shapes", str(shapes), "--json"), {"nodes": 5000})


def plugin_interfaces():
    for nodes in (1000, 5000):
        for interface in ("linked-all-nodes", "linked-one-node", "loaded-all-nodes", "loaded-one-node", "extender"):
            name = f"plugin_interfaces/{nodes}/{interface}"
            yield Benchmark(name, "overhead of a small custom rule per decision",
                            program("bench_plugin_interfaces", "--nodes", str(nodes), "--rounds", "9", "--json"), {"nodes": nodes}, LESS, {"name": name})


def sandbox():
    for line, about in (("memory-per-pod", "of 50,000"), ("memory-per-watcher", "of 200, on all pods"),
                        ("cpu-per-event", "to 200 watchers"), ("cpu-per-delivery", "of an event to a watcher"),
                        ("peak", "memory with all watchers")):
        name = f"sandbox/{line}"
        yield Benchmark(name, about, (Side("berth", lambda context: [
            str(context.bin / "bench_sandbox_watch"), "--berth", str(context.bin / "berth"), "--json"]),), {}, LESS, {"name": name})


def memory():
    for line, about in (("heap_per_node", "memory per node"), ("heap_per_bound_pod", "memory per bound pod"),
                        ("heap_per_pending_pod", "memory per pending pod"), ("decode_node", "CPU to decode a node"),
                        ("decode_bound_pod", "CPU to decode a bound pod")):
        yield Benchmark(f"memory/5000/{line}", f"{about}, with 5,000 nodes and 30,000 pods",
                        program("bench_memory", "--nodes", "5000", "--pods", "30000", "--json"),
                        {"nodes": 5000, "pods": 30000}, LESS, {"name": line})


def encodings():
    for encoding in ("json", "protobuf"):
        yield Benchmark(f"encodings/{encoding}", "CPU to decode a pod of a Deployment", program("bench_encodings", "--json", "--only", encoding),
                        {}, LESS, {"name": f"encodings/{encoding}"})


def device_selectors():
    for selector in ("driver", "typical", "version", "pattern"):
        yield Benchmark(f"device_selectors/{selector}", "CPU to evaluate a device selector (CEL)", program("bench_device_selectors", "--json"),
                        {}, LESS, {"name": f"device_selectors/{selector}"})


# Without a configuration file: measures the start with the defaults.
BERTH_STARTS = "{berth} scheduler --kubeconfig {{kubeconfig}} --leader-elect=false --secure-port=0 --berth-http-address=127.0.0.1:0"
REAL_STARTS = "{real} kube-scheduler --kubeconfig {{kubeconfig}} --leader-elect=false --secure-port=0 --authentication-skip-lookup"


def start():
    for pods in (30000, 150000):
        def scheduler(context, command, pods=pods):
            berth = context.bin / "berth"
            return [str(pathlib.Path(__file__).resolve().parents[1] / "start.py"), "--nodes", "5000",
                    "--pods", str(context.pods or pods), "--json", "--berth", str(berth),
                    "--scheduler", command(context)]
        sides = (Side("berth", lambda context, run=scheduler: run(context, lambda c: BERTH_STARTS.format(berth=c.bin / "berth"))),
                 Side(SAMPLING, lambda context, run=scheduler: run(context, lambda c: REAL_STARTS.format(real=c.real))))
        for line, about, which in (("start_to_first_bind", "from the start to the first binding", {}),
                                   ("start_cpu", "CPU until the first binding", {"thread": "all"}),
                                   ("rss", "memory two seconds later", {}), ("rss_peak", "peak memory", {})):
            yield Benchmark(f"start/5000/{pods}/{line}", f"{about}, with 5,000 nodes and {pods:,} bound pods", sides,
                            {"nodes": 5000}, LESS, {"name": line, **which})


BERTH = "{berth} scheduler --config {{config}} --kubeconfig {{kubeconfig}} --secure-port=0 --berth-http-address=127.0.0.1:0"
REAL = "{real} kube-scheduler --config {{config}} --kubeconfig {{kubeconfig}} --secure-port=0 --authentication-skip-lookup"


def end_to_end():
    for nodes in (1000, 5000):
        for kind, about in (("plain", "pods with requests only"), ("varied", "all pods different"),
                            ("spread", "a hard spread over zones and hosts")):
            def scheduler(context, command, nodes=nodes, kind=kind):
                return [str(context.bin / "bench_end_to_end"), "--nodes", str(nodes), "--pods", str(context.pods or 10000),
                        "--rounds", "1", "--pod-kind", kind, "--json", "--scheduler",
                        "it=" + command.format(berth=context.bin / "berth", real=context.real)]
            yield Benchmark(f"end-to-end/{nodes}/{kind}", f"{about}, over HTTP against a sandbox",
                            (Side("berth", lambda context, run=scheduler: run(context, BERTH)),
                             Side(SAMPLING, lambda context, run=scheduler: run(context, REAL))),
                            {"nodes": nodes, "podKind": kind})


def latency():
    # kube-scheduler sustains 200 pods per second at both sizes, and 1,000 at neither.
    for nodes, rate in ((1000, 1000), (5000, 1000), (1000, 200), (5000, 200)):
        def scheduler(context, command, nodes=nodes, rate=rate):
            return [str(context.bin / "bench_latency"), "--nodes", str(nodes), "--rate", str(rate), "--seconds",
                    str((context.pods or 10 * rate) / rate), "--rounds", "1", "--json", "--scheduler",
                    "it=" + command.format(berth=context.bin / "berth", real=context.real)]
        yield Benchmark(f"latency/{nodes}/{rate}-per-second", "from the watch event of a new pod to that of its binding, p99, "
                        f"{rate:,} pods per second offered", (Side("berth", lambda context, run=scheduler: run(context, BERTH)),
                                                             Side(SAMPLING, lambda context, run=scheduler: run(context, REAL))),
                        {"nodes": nodes, "offeredPerSecond": rate}, LESS)


def every_benchmark(workloads):
    return [*decisions(workloads), *growth(), *groups(), *queue(), *memory(), *encodings(), *device_selectors(), *start(), *plugin_interfaces(), *sandbox(), *fair_order(), *simulation(), *end_to_end(), *latency()]


def default_bin():
    return pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"
