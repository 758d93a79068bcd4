// The pods in the queue: by cause, with the shortfall of the cluster.
import type { Api } from "../api.ts";
import { h, type Child } from "../dom.ts";
import { age, amount, count, plural } from "../format.ts";
import { bar, card, podName, table } from "../parts.ts";
import { changed, type Route } from "../route.ts";
import type { Queue } from "../types.ts";
import type { View } from "../view.ts";

const kPage = 50;
const kFilters = ["namespace", "place", "plugin"] as const;

export class QueueView implements View {
  readonly title = "Queue";
  private queue: Queue | null = null;

  async load(api: Api, route: Route, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ limit: String(kPage), offset: String(offsetOf(route)) });
    for (const name of kFilters) {
      const value = route.parameters.get(name);
      if (value) query.set(name, value);
    }
    this.queue = await api.get<Queue>(`queue?${query}`, signal);
  }

  render(route: Route): HTMLElement {
    const queue = this.queue;
    if (queue === null) return h("p", {}, "Loading…");
    if (queue.total === 0) return h("div", {}, h("p", { class: "empty" }, "No pod is waiting."));
    return h(
      "div",
      {},
      h("p", { class: "lead" }, `${plural(queue.total, "pod")} in the queue: `, queue.places.map(({ place, pods }) => `${place} ${count(pods)}`).join(", ")),
      h("div", { class: "cards" }, causes(queue, route), groups(queue, route)),
      shortfall(queue),
      pods(queue, route),
    );
  }
}

function pageText(queue: Queue, offset: number): string {
  if (queue.matching === 0) return "no pod matches";
  if (queue.pods.length === 0) return `${plural(queue.matching, "pod matches", "pods match")}, none on this page`;
  return `${count(offset + 1)}–${count(offset + queue.pods.length)} of ${count(queue.matching)}, oldest first`;
}

function offsetOf(route: Route): number {
  const offset = Number(route.parameters.get("offset") ?? 0);
  return Number.isSafeInteger(offset) && offset > 0 ? offset : 0;
}

function causes(queue: Queue, route: Route): HTMLElement {
  return card(
    "Rejected by",
    queue.causes.length === 0
      ? h("p", { class: "muted" }, "No plugin has rejected a waiting pod.")
      : h(
          "ul",
          { class: "bars" },
          ...queue.causes.map(({ plugin, pods }) =>
            h("li", {}, h("a", { href: changed(route, { plugin, offset: 0 }) }, plugin), bar(pods / queue.total), h("span", { class: "number" }, count(pods))),
          ),
        ),
  );
}

function shortfall(queue: Queue): HTMLElement {
  if (queue.shortfall.length === 0) {
    return card("Shortfall", h("p", { class: "muted" }, "No resource is short: the free amounts of the nodes cover the requests of the waiting pods."));
  }
  return card(
    "Shortfall",
    table(
      "Shortfall",
      ["Resource", "Pods", "Requested", "Free", "Missing", "Largest request", "Largest free"],
      queue.shortfall.map((one) => [
        one.resource,
        count(one.pods),
        amount(one.requested),
        amount(one.free),
        one.missing === "0" ? "–" : h("strong", {}, amount(one.missing)),
        amount(one.largestRequest),
        amount(one.largestFree),
      ]),
      [1, 2, 3, 4, 5, 6],
    ),
    h("p", { class: "muted" }, "Of pods that NodeResourcesFit rejected. Free: on all nodes that are not cordoned; largest: of one pod, on one node."),
  );
}

function groups(queue: Queue, route: Route): HTMLElement {
  const line = (name: Child, pods: number) => h("li", {}, name, bar(pods / queue.total), h("span", { class: "number" }, count(pods)));
  return card(
    "Namespaces and owners",
    h("ul", { class: "bars" }, ...queue.namespaces.slice(0, 8).map(({ namespace, pods }) => line(h("a", { href: changed(route, { namespace, offset: 0 }) }, namespace), pods))),
    h("ul", { class: "bars" }, ...queue.owners.slice(0, 8).map(({ namespace, owner, pods }) => line(h("span", {}, `${namespace}: ${owner}`), pods))),
  );
}

function pods(queue: Queue, route: Route): HTMLElement {
  const offset = offsetOf(route);
  const given = kFilters.filter((name) => route.parameters.get(name));
  const places = queue.places.map(({ place }) => place);
  return card(
    "Pods",
    h(
      "div",
      { class: "toolbar" },
      h("span", {}, "Place: "),
      ...places.map((place) =>
        h("a", { class: "chip", href: changed(route, { place: route.parameters.get("place") === place ? null : place, offset: 0 }), "aria-current": route.parameters.get("place") === place ? "true" : null }, place),
      ),
      ...given
        .filter((name) => name !== "place")
        .map((name) => h("a", { class: "chip", href: changed(route, { [name]: null, offset: 0 }), "aria-current": "true" }, `${name} ${route.parameters.get(name)} ✕`)),
    ),
    table(
      "Pods in the queue",
      ["Pod", "Place", "For", "Attempts", "Priority", "Owner", "Rejected by"],
      queue.pods.map((pod) => [
        podName(pod.namespace, pod.name),
        pod.place,
        age(pod.since),
        count(pod.attempts),
        String(pod.priority),
        pod.owner ?? "",
        (pod.rejectedBy ?? []).join(", "),
      ]),
      [2, 3, 4],
    ),
    h(
      "nav",
      { class: "pages", "aria-label": "Pages of the queue" },
      offset > 0 ? h("a", { href: changed(route, { offset: Math.max(0, offset - kPage) }) }, "← earlier") : h("span", { class: "muted" }, "← earlier"),
      h("span", {}, pageText(queue, offset)),
      queue.remaining > 0 ? h("a", { href: changed(route, { offset: offset + kPage }) }, "later →") : h("span", { class: "muted" }, "later →"),
    ),
  );
}

