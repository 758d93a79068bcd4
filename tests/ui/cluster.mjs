// A sandbox with a scheduler, pods that wait for different reasons, and a server with measurements of the nodes.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { request as httpsRequest } from "node:https";
import { createServer as createTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const kOperator = "operator-token", kDeveloper = "developer-token";

const kPolicy = `
users:
- {name: olga, groups: [operators], token: ${kOperator}}
- {name: dave, groups: [developers], token: ${kDeveloper}}
rules:
- {effect: allow, groups: [developers], namespaces: [shop], verbs: [get]}
- {effect: deny, groups: [developers]}
- {effect: deny, users: ["system:anonymous"], paths: ["/berth.dev/*"]}
- {effect: deny, users: ["system:anonymous"], namespaces: [vault], verbs: [delete]}
`;

async function freePort() {
  const server = createTcp().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function waitFor(what, condition, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      if (await condition()) return;
    } catch (error) {
      if (Date.now() > end) throw new Error(`${what}: ${error.message}`);
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// The query API of Prometheus: loads that differ from node to node, recent samples, and enough of them.
async function startPrometheus(names) {
  const server = createServer((request, response) => {
    let body = request.url;
    request.on("data", (data) => (body += data));
    request.on("end", () => {
      const value = (i) => (body.includes("count_over_time") ? 12 : body.includes("timestamp") ? 5 : (0.15 + (0.7 * ((i * i * 37) % 101)) / 101).toFixed(3));
      const result = names().map((node, i) => ({ metric: { instance: node }, value: [Date.now() / 1000, String(value(i))] }));
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ status: "success", data: { resultType: "vector", result } }));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return server;
}

export class Cluster {
  children = [];
  folder = mkdtempSync(join(tmpdir(), "berth-ui-"));
  nodeNames = [];

  constructor(berth) {
    this.berth = berth;
  }

  run(name, ...args) {
    const child = spawn(this.berth, args, { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    child.output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        child.output = (child.output + data).slice(-65536);
      });
    }
    child.on("exit", (code) => {
      if (code !== null && code !== 0 && !child.expected) console.error(`${name} ended with code ${code}:\n${child.output.slice(-4000)}`);
    });
    this.children.push(child);
    return child;
  }

  async start(nodes) {
    const gpus = Math.ceil(nodes / 50);
    const apiPort = await freePort();
    this.port = await freePort();
    this.api = `http://127.0.0.1:${apiPort}`;
    this.url = `https://127.0.0.1:${this.port}`;
    writeFileSync(join(this.folder, "policy.yaml"), kPolicy);
    this.run("sandbox", "sandbox", `--nodes=${nodes - gpus}`, `--gpu-nodes=${gpus}`, "--zones=3", `--port=${apiPort}`, "--kubeconfig=kubeconfig", "--policy=policy.yaml", "--pod-start=100ms", "--heartbeat=0");
    await waitFor("the sandbox", async () => (this.nodeNames = (await this.get("/api/v1/nodes")).items.map((node) => node.metadata.name)).length === nodes);
    this.prometheus = await startPrometheus(() => this.nodeNames);
    writeFileSync(
      join(this.folder, "config.yaml"),
      JSON.stringify({
        apiVersion: "kubescheduler.config.k8s.io/v1",
        kind: "KubeSchedulerConfiguration",
        leaderElection: { leaderElect: false },
        profiles: [
          {
            schedulerName: "default-scheduler",
            plugins: { multiPoint: { enabled: [{ name: "LoadAware", weight: 5 }] } },
            pluginConfig: [{ name: "LoadAware", args: { prometheusAddress: "main", signals: [{ name: "cpu", window: "1m" }] } }],
          },
        ],
      }),
    );
    writeFileSync(
      join(this.folder, "sources.yaml"),
      JSON.stringify({ sources: [{ name: "main", addresses: [`http://127.0.0.1:${this.prometheus.address().port}`], pollInterval: "2s", timeout: "2s" }] }),
    );
    await this.startScheduler();
  }

  async startScheduler() {
    this.scheduler = this.run(
      "scheduler", "scheduler", "--config=config.yaml", "--kubeconfig=kubeconfig", "--authentication-kubeconfig=kubeconfig", "--authorization-kubeconfig=kubeconfig",
      "--bind-address=127.0.0.1", `--secure-port=${this.port}`, "--berth-http-address=127.0.0.1:0", "--berth-metric-sources=sources.yaml", "--berth-ui",
    );
    await waitFor("the scheduler", () => this.scheduler.output.includes("Caches are synced"));
  }

  async request(method, path, body) {
    const response = await fetch(this.api + path, { method, headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
    return JSON.parse(text);
  }
  get(path) {
    return this.request("GET", path);
  }

  async fill({ bound, waiting }) {
    for (const name of ["shop", "batch", "vault"]) await this.request("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await this.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "urgent" }, value: 1000 });
    // A node on which a pod of higher priority displaces another one, and one on which the scheduler, which has no
    // credentials, may not evict any.
    const { items } = await this.get("/api/v1/nodes");
    const [full, guarded] = items.filter(({ spec }) => !spec.taints?.length);
    [this.fullNode, this.guardedNode] = [full.metadata.name, guarded.metadata.name];
    for (const [namespace, { metadata, status }] of [["batch", full], ["vault", guarded]]) {
      const { cpu } = status.allocatable;
      const milli = cpu.endsWith("m") ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000;
      await this.replicas(namespace, "filler", 1, { cpu: `${milli - 2000}m` }, { nodeSelector: { "kubernetes.io/hostname": metadata.name } });
      await this.bound(namespace, 1);
    }
    await this.replicas("shop", "web", bound, { cpu: "3", memory: "4Gi" });
    await this.replicas("shop", "api", Math.ceil(bound / 2), { cpu: "6", memory: "4Gi" });
    await this.bound("shop", Math.ceil(bound * 1.5));
    await this.replicas("batch", "train", waiting, { cpu: "500" });
    await this.replicas("batch", "render", Math.ceil(waiting / 10), { "nvidia.com/gpu": "64" });
    await this.replicas("shop", "cache", Math.ceil(waiting / 20), { cpu: "1" }, { nodeSelector: { "topology.kubernetes.io/zone": "zone-x" } });
    await this.replicas("shop", "import", 20, { cpu: "1" }, { schedulingGates: [{ name: "example.com/quota" }] });
    const all = waiting + Math.ceil(waiting / 10) + Math.ceil(waiting / 20) + 20;
    await waitFor(`${all} pods in the queue`, async () => {
      const { body } = await this.ask("/apis/berth.dev/v1alpha1/queue?limit=0", { Authorization: `Bearer ${kOperator}` });
      const { total, places } = JSON.parse(body);
      return total >= all && places.every(({ place }) => place === "unschedulable" || place === "gated");
    });
  }

  // A request to the scheduler.
  ask(path, headers = {}) {
    return new Promise((resolve, reject) =>
      httpsRequest(this.url + path, { rejectUnauthorized: false, headers }, (response) => {
        let body = "";
        response.on("data", (data) => (body += data));
        response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
      })
        .on("error", reject)
        .end(),
    );
  }

  async bound(namespace, number) {
    await waitFor(`${number} bound pods in ${namespace}`, async () => {
      const { items } = await this.get(`/api/v1/namespaces/${namespace}/pods?fieldSelector=spec.nodeName!=`);
      return items.length >= number;
    });
  }

  pod(namespace, name, requests, spec = {}) {
    return this.request("POST", `/api/v1/namespaces/${namespace}/pods`, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: podSpec(requests, spec) });
  }

  replicas(namespace, name, replicas, requests, spec = {}) {
    return this.request("POST", `/apis/apps/v1/namespaces/${namespace}/replicasets`, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name },
      spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: podSpec(requests, spec) } },
    });
  }

  // A kubeconfig for HTTPS: credentials are not sent over the plain HTTP of the sandbox. With --server its cluster is not
  // contacted.
  userKubeconfig(token) {
    const path = join(this.folder, "user-kubeconfig");
    const entry = (kind, content) => [{ name: "x", [kind]: content }];
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "x",
        clusters: entry("cluster", { server: "https://127.0.0.1:1" }),
        users: entry("user", { token }),
        contexts: entry("context", { cluster: "x", user: "x" }),
      }),
    );
    return path;
  }

  async end(child) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.expected = true;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(hard);
  }

  async stop() {
    this.prometheus?.closeAllConnections();
    this.prometheus?.close();
    for (const child of this.children.reverse()) await this.end(child);
    rmSync(this.folder, { recursive: true, force: true });
  }

}

function podSpec(requests, spec) {
  const extended = Object.fromEntries(Object.entries(requests).filter(([name]) => name.includes("/")));
  return { containers: [{ name: "c", image: "example", resources: { requests, limits: extended } }], ...spec };
}
