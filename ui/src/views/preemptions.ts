// The preemptions in the newest records.
import type { Api } from "../api.ts";
import { h } from "../dom.ts";
import { age, count, plural } from "../format.ts";
import { card, podName, podNameOf, separated, table } from "../parts.ts";
import { link, type Route } from "../route.ts";
import type { Preemptions } from "../types.ts";
import type { View } from "../view.ts";

export class PreemptionsView implements View {
  readonly title = "Preemptions";
  private report: Preemptions | null = null;

  async load(api: Api, _route: Route, signal: AbortSignal): Promise<void> {
    this.report = await api.get<Preemptions>("preemptions", signal);
  }

  render(): HTMLElement {
    const report = this.report;
    if (report === null) return h("p", {}, "Loading…");
    return h(
      "div",
      {},
      h("p", { class: "lead" }, `${plural(report.preemptions.length + (report.morePreemptions ?? 0), "preemption")} in the last ${plural(report.searched.attempts, "attempt")}`),
      report.preemptions.length === 0
        ? h("p", { class: "empty" }, "No pod was nominated to a node whose pods are evicted.")
        : card(
            "Preemptions",
            table(
              "Preemptions",
              ["Pod", "Ago", "Node", "Victims", "Names", "Message"],
              report.preemptions.map((one) => [
                podName(one.namespace, one.name),
                age(one.time),
                h("a", { href: link(["nodes", one.node]) }, one.node),
                count(one.victimCount),
                h("span", {}, separated((one.victims ?? []).map(podNameOf)), one.victimCount > (one.victims?.length ?? 0) ? ", …" : ""),
                one.message ?? "",
              ]),
              [1, 3],
            ),
          ),
    );
  }
}
