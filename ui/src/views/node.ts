// One node: its resources, its pods, and the pods that it rejected.
import { ApiError, type Api } from "../api.ts";
import { h } from "../dom.ts";
import { age, amount, count, plural } from "../format.ts";
import { card, facts, podName, separated, table, withheld } from "../parts.ts";
import type { Route } from "../route.ts";
import type { NodeReport } from "../types.ts";
import type { View } from "../view.ts";

export class NodeView implements View {
  readonly title: string;
  private node: NodeReport | null = null;
  private unknown = "";

  constructor(private readonly name: string) {
    this.title = `Node ${name}`;
  }

  async load(api: Api, _route: Route, signal: AbortSignal): Promise<void> {
    const path = `nodes/${encodeURIComponent(this.name)}`;
    try {
      this.node = (await api.getEither<NodeReport>(`${path}?view=pods`, path, signal)).value;
      this.unknown = "";
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      [this.node, this.unknown] = [null, error.message];
    }
  }

  render(): HTMLElement {
    const node = this.node;
    if (node === null) return h("p", { class: "empty" }, this.unknown || "Loading…");
    return h(
      "div",
      {},
      card(
        "State",
        facts(
          ["Ready", node.ready ?? "unknown"],
          ["Cordoned", node.unschedulable ? "yes" : "no"],
          ["Pods", count(node.podCount)],
          ["Of these, binding not confirmed", count(node.assumedCount)],
          ["Nominated pods", count(node.nominatedCount)],
          ["Taints", (node.taints ?? []).map(({ key, value, effect }) => `${key}${value ? "=" + value : ""}:${effect}`).join(", ") || "none"],
        ),
      ),
      card("Resources", table("Resources", ["Resource", "Allocatable", "Requested"], node.resources.map((one) => [one.resource, amount(one.allocatable), amount(one.requested)]), [1, 2])),
      card(
        "Recent rejections",
        node.rejections.length === 0
          ? h("p", { class: "muted" }, `None in the last ${plural(node.searched.attempts, "attempt")}.`)
          : table(
              "Recent rejections",
              ["Plugin", "Reason", "Pods", "Last", "Last pods"],
              node.rejections.map((one) => [
                one.plugin,
                one.reason,
                count(one.pods) + (one.morePods ? "+" : ""),
                age(one.last),
                h("span", {}, separated((one.lastPods ?? []).map((pod) => podName(pod.namespace, pod.name)))),
              ]),
              [2, 3],
            ),
      ),
      node.pods === undefined
        ? card("Pods", withheld("The pods are shown to users who may get the path /berth.dev/v1alpha1/nodes/…"))
        : card(
            "Pods",
            node.pods.length === 0 ? h("p", { class: "muted" }, "No pod is on the node.") : table(
              "Pods on the node",
              ["Pod", "Priority", "Requests", ""],
              node.pods.map((pod) => [
                podName(pod.namespace, pod.name),
                String(pod.priority),
                pod.requests.map(({ resource, requested }) => `${resource} ${amount(requested)}`).join(", "),
                pod.assumed ? "binding not confirmed" : "",
              ]),
              [1],
            ),
            node.morePods ? h("p", { class: "muted" }, `${plural(node.morePods, "more pod is", "more pods are")} not listed.`) : null,
          ),
    );
  }
}
