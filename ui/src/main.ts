// The page: login, navigation, and the periodic requests of the visible view.
import { Api, ApiError } from "./api.ts";
import { h, patchChildren, type Child } from "./dom.ts";
import { clock } from "./format.ts";
import { link, parseRoute, podLink, type Route } from "./route.ts";
import { kLocalKey, takeLocalKey } from "./local_key.ts";
import type { View } from "./view.ts";
import { NodeView } from "./views/node.ts";
import { NodesView } from "./views/nodes.ts";
import { PodView } from "./views/pod.ts";
import { PreemptionsView } from "./views/preemptions.ts";
import { QueueView } from "./views/queue.ts";
import { StatusView } from "./views/status.ts";

const kInterval = 5000;  // milliseconds between requests of the visible view
const kMostWait = 60_000;

const kSections: [string, string, () => View][] = [
  ["queue", "Queue", () => new QueueView()],
  ["nodes", "Nodes", () => new NodesView()],
  ["preemptions", "Preemptions", () => new PreemptionsView()],
  ["status", "Status", () => new StatusView()],
];

function viewOf(route: Route): View | null {
  const [section, first, second] = route.parts;
  if (route.parts.length === 3 && section === "pods") return new PodView(first as string, second as string);
  if (route.parts.length === 2 && section === "nodes") return new NodeView(first as string);
  if (route.parts.length > 1) return null;
  return kSections.find(([name]) => name === (section ?? "queue"))?.[2]() ?? null;
}

class Page {
  private api: Api | null = null;
  private route: Route = parseRoute(location.hash);
  private view: View | null = null;
  private error: ApiError | null = null;
  private updated = 0;
  private paused = false;
  private stale = true;  // what was loaded, if anything, is of another address
  private failures = 0;
  private timer = 0;
  private request: AbortController | null = null;
  private loginError = "";

  constructor(private readonly root: HTMLElement) {
    addEventListener("hashchange", () => this.go());
    document.addEventListener("visibilitychange", () => this.schedule(0));
    root.addEventListener("submit", (event) => this.onSubmit(event));
    root.addEventListener("click", (event) => this.onClick(event));
  }

  start(): void {
    const key = takeLocalKey();
    if (key !== null) this.signIn(key);
    else this.signOut("");
  }

  private signIn(token: string): void {
    this.api = new Api(token);
    this.loginError = "";
    this.view = null;
    this.go();
  }

  private signOut(message: string): void {
    this.request?.abort();
    clearTimeout(this.timer);
    sessionStorage.removeItem(kLocalKey);
    [this.api, this.view, this.error, this.loginError] = [null, null, null, message];
    this.draw();
    (this.root.querySelector("#token") as HTMLElement | null)?.focus();
  }

  private go(): void {
    const before = this.route;
    this.route = parseRoute(location.hash);
    if (this.api === null) return;
    const moved = this.view === null || before.parts.join("/") !== this.route.parts.join("/");
    if (moved) {
      this.view = viewOf(this.route);
      this.updated = 0;
    }
    this.stale = true;
    this.error = null;
    this.failures = 0;
    this.draw();
    if (moved) {
      scrollTo(0, 0);
      (this.root.querySelector("h1") as HTMLElement | null)?.focus();
    }
    this.schedule(0);
  }

  // Requests are repeated while the view is visible; each begins after the one before has ended. A new address is
  // requested also during a pause, once.
  private schedule(delay: number): void {
    clearTimeout(this.timer);
    this.request?.abort();
    this.request = null;
    if (this.api === null || this.view === null || document.hidden || (this.paused && !this.stale)) return;
    this.timer = setTimeout(() => void this.refresh(), delay);
  }

  private async refresh(): Promise<void> {
    const { api, view, route } = this;
    if (api === null || view === null) return;
    const request = new AbortController();
    this.request = request;
    let wait = kInterval;
    try {
      await view.load(api, route, request.signal);
      if (request.signal.aborted) return;
      [this.error, this.failures, this.updated, this.stale] = [null, 0, Date.now(), false];
    } catch (error) {
      if (request.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401) return this.signOut("The scheduler did not accept the token.");
      this.error = error;
      wait = Math.max(error.retryAfter * 1000, Math.min(kMostWait, kInterval * 2 ** this.failures++));
    }
    this.request = null;
    this.draw();
    this.schedule(wait);
  }

  private onSubmit(event: Event): void {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    if (form.id === "login") {
      const token = (form.querySelector("#token") as HTMLInputElement).value.trim();
      if (token === "" || /[^\x21-\x7e]/.test(token)) {
        this.loginError = token === "" ? "Enter a token." : "A token has no spaces and only ASCII characters.";
        return this.draw();
      }
      form.reset();
      this.signIn(token);
    } else if (form.id === "find") {
      const [namespace, name] = splitPod((form.querySelector("#pod") as HTMLInputElement).value.trim());
      if (name === "") return;
      form.reset();
      location.hash = podLink(namespace, name);
    }
  }

  private onClick(event: Event): void {
    const action = (event.target as Element).closest("[data-action]")?.getAttribute("data-action");
    if (action === "sign-out") this.signOut("");
    if (action === "pause") {
      this.paused = !this.paused;
      this.draw();
      this.schedule(0);
    }
    if (action === "skip") (this.root.querySelector("h1") as HTMLElement | null)?.focus();
  }

  private draw(): void {
    const wanted = h("div", {}, this.api === null ? this.login() : this.content());
    patchChildren(this.root, wanted);
    this.view?.attach?.(this.root);
    document.title = this.api === null ? "Berth" : `${this.view?.title ?? "Unknown page"} – Berth`;
  }

  private login(): Child {
    return h(
      "main",
      { class: "login", "data-key": "login" },
      h("h1", {}, "Berth"),
      h("p", {}, "Why pods are pending, what would help, and the state of nodes and of the scheduler."),
      h(
        "form",
        { id: "login", autocomplete: "off" },
        h("label", { for: "token" }, "Bearer token"),
        h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", "aria-describedby": "token-help" + (this.loginError ? " token-error" : ""), "aria-invalid": this.loginError ? "true" : null }),
        this.loginError ? h("p", { id: "token-error", class: "error", role: "alert" }, this.loginError) : null,
        h("p", { id: "token-help", class: "muted" }, "A token of your cluster, for example from: kubectl create token NAME. It stays in the memory of this page until you sign out or reload it."),
        h("button", { type: "submit" }, "Sign in"),
      ),
    );
  }

  private content(): Child {
    const section = this.route.parts[0] ?? "queue";
    const error = this.error;
    return [
      h(
        "header",
        { class: "top" },
        h("button", { type: "button", class: "skip", "data-action": "skip" }, "Skip to the content"),
        h("strong", { class: "brand" }, "Berth"),
        h("nav", { "aria-label": "Views" }, ...kSections.map(([name, title]) => h("a", { href: link([name]), "aria-current": name === section ? "page" : null }, title))),
        h("form", { id: "find", role: "search" }, h("input", { id: "pod", type: "search", placeholder: "namespace/pod", "aria-label": "Pod, as namespace/name", autocomplete: "off", spellcheck: "false" }), h("button", { type: "submit" }, "Show pod")),
        h(
          "span",
          { class: "tools" },
          h("button", { type: "button", "data-action": "pause", "aria-pressed": String(this.paused) }, this.paused ? "Paused" : "Live"),
          h("button", { type: "button", "data-action": "sign-out" }, "Sign out"),
        ),
      ),
      h(
        "main",
        { "data-key": this.route.parts.join("/") },
        h("h1", { tabindex: -1 }, this.view?.title ?? "Unknown page"),
        error === null ? null : h("p", { class: "error", role: "alert" }, errorText(error)),
        this.view === null ? h("p", {}, "There is no such page. ", h("a", { href: link(["queue"]) }, "To the queue")) : error !== null && this.updated === 0 ? null : this.view.render(this.route),
      ),
      h("footer", { class: "muted" }, this.updated > 0 ? `Updated ${clock(this.updated)}` : ""),
    ];
  }
}

function splitPod(text: string): [string, string] {
  const slash = text.indexOf("/");
  return slash < 0 ? ["default", text] : [text.slice(0, slash) || "default", text.slice(slash + 1)];
}

function errorText(error: ApiError): string {
  if (error.status === 403) return `${error.message}. You can still see the pods that you may get: enter one above.`;
  if (error.status === 429) return `The scheduler is busy: ${error.message}.`;
  if (error.status === 0) return `Not connected: ${error.message}. It is tried again.`;
  return error.message;
}

new Page(document.getElementById("page") as HTMLElement).start();
