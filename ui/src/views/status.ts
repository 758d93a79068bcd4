// The scheduler itself: role, sizes, rates and latencies.
import type { Api } from "../api.ts";
import { h } from "../dom.ts";
import { bytes, count, percent, plural, rate, shortTime } from "../format.ts";
import { card, facts, table, withheld } from "../parts.ts";
import type { Route } from "../route.ts";
import type { Plugins, Status } from "../types.ts";
import type { View } from "../view.ts";

const kSamples = 120;

interface Sample {
  at: number;  // seconds
  attempts: number;
  pending: number;
  calls: Map<string, { calls: number; seconds: number }>;  // by profile and extension point
}

export class StatusView implements View {
  readonly title = "Status";
  private status: Status | null = null;
  private plugins: Plugins | null = null;
  private samples: Sample[] = [];

  async load(api: Api, _route: Route, signal: AbortSignal): Promise<void> {
    this.status = await api.get<Status>("status", signal);
    this.plugins = await api.getIfAllowed<Plugins>("plugins", signal);
    this.samples.push(sampleOf(this.status, this.plugins));
    if (this.samples.length > kSamples) this.samples.shift();
  }

  render(): HTMLElement {
    const status = this.status;
    if (status === null) return h("p", {}, "Loading…");
    const { queue, records } = status;
    return h(
      "div",
      {},
      h(
        "div",
        { class: "cards small" },
        card(
          "Scheduler",
          facts(
            ["Version", status.version],
            ["Role", status.leading ? "leader" : "standby: shows its own view"],
            ["View", status.synced ? `complete, ${plural(status.nodes, "node")}` : "not complete yet"],
            ["Records", `${plural(records.count, "attempt")}, ${bytes(records.bytes)}, ${count(records.dropped)} dropped`],
          ),
        ),
        card("Queue", facts(["Active", count(queue.active)], ["Backoff", count(queue.backoff)], ["Unschedulable", count(queue.unschedulable)], ["Gated", count(queue.gated)], ["Incomplete groups", count(queue.incomplete)], ["In flight", count(queue.inFlight)])),
        card("Attempts per second", chart(attemptRates(this.samples), rate, "Attempts per second since the view was opened")),
        card("Pods in the queue", chart(this.samples.map(({ pending }) => pending), count, "Pods in the queue since the view was opened")),
      ),
      this.plugins === null ? withheld("Rates and latencies are shown to users who may get the path /berth.dev/v1alpha1/plugins.") : this.details(this.plugins),
    );
  }

  private details(plugins: Plugins): HTMLElement {
    const first = this.samples[0], last = this.samples.at(-1);
    const interval = first !== undefined && last !== undefined ? last.at - first.at : 0;
    return h(
      "div",
      {},
      ...plugins.profiles.map((profile) => {
        const points = [...new Set(profile.calls.map(({ extensionPoint }) => extensionPoint))];
        const total = profile.costs.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
        return h(
          "div",
          { class: "cards large" },
          card(
            `Latency by extension point: ${profile.name}`,
            table(
              "Latency by extension point",
              ["Extension point", "Calls", "Mean", "Rate now", "Mean now"],
              points.map((point) => {
                const all = last?.calls.get(`${profile.name} ${point}`) ?? { calls: 0, seconds: 0 };
                const before = first?.calls.get(`${profile.name} ${point}`) ?? { calls: 0, seconds: 0 };
                const calls = all.calls - before.calls;
                return [
                  point,
                  count(all.calls),
                  all.calls > 0 ? shortTime(all.seconds / all.calls) : "–",
                  interval > 0 ? rate(calls / interval) : "–",
                  calls > 0 ? shortTime((all.seconds - before.seconds) / calls) : "–",
                ];
              }),
              [1, 2, 3, 4],
            ),
            h("p", { class: "muted" }, "Now: since this view was opened, at most ten minutes."),
          ),
          card(
            `Cost by plugin: ${profile.name}`,
            table(
              "Cost by plugin",
              ["Plugin", "Extension point", "Share of time"],
              [...profile.costs]
                .sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0))
                .slice(0, 15)
                .map((one) => [one.plugin, one.extensionPoint, one.seconds !== undefined && total > 0 ? percent(one.seconds / total) : "–"]),
              [2],
            ),
          ),
          card(
            `Rejections: ${profile.name}`,
            profile.rejections.length === 0
              ? h("p", { class: "muted" }, "None in the searched records.")
              : table("Rejections by plugin", ["Plugin", "Attempts", "Nodes"], [...profile.rejections].sort((a, b) => b.attempts - a.attempts).map((one) => [one.plugin, count(one.attempts), count(one.nodes)]), [1, 2]),
            h("p", { class: "muted" }, `In the last ${plural(plugins.searched.attempts, "attempt")}.`),
          ),
        );
      }),
    );
  }
}

function sampleOf(status: Status, plugins: Plugins | null): Sample {
  const { active, backoff, unschedulable, gated, incomplete, inFlight } = status.queue;
  const calls: Sample["calls"] = new Map();
  for (const profile of plugins?.profiles ?? []) {
    for (const use of profile.calls) {
      const key = `${profile.name} ${use.extensionPoint}`;
      const sum = calls.get(key) ?? { calls: 0, seconds: 0 };
      calls.set(key, { calls: sum.calls + use.calls, seconds: sum.seconds + use.seconds });
    }
  }
  return { at: performance.now() / 1000, attempts: status.records.count + status.records.dropped, pending: active + backoff + unschedulable + gated + incomplete + inFlight, calls };
}

// The number of records counts attempts: one record each, dropped ones included.
function attemptRates(samples: Sample[]): number[] {
  const rates: number[] = [];
  for (let i = 1; i < samples.length; ++i) {
    const before = samples[i - 1] as Sample, after = samples[i] as Sample;
    if (after.at > before.at) rates.push(Math.max(0, after.attempts - before.attempts) / (after.at - before.at));
  }
  return rates;
}

function chart(values: number[], text: (value: number) => string, label: string): HTMLElement {
  const last = values.at(-1);
  if (last === undefined || values.length < 2) return h("p", { class: "muted" }, "Measuring…");
  const most = Math.max(1, ...values);
  const points = values.map((value, i) => `${((i / Math.max(1, kSamples - 1)) * 240).toFixed(1)},${(60 - (value / most) * 56).toFixed(1)}`).join(" ");
  return h(
    "div",
    { class: "chart" },
    h("strong", { class: "big" }, text(last)),
    h("svg", { viewBox: "0 0 240 62", preserveAspectRatio: "none", role: "img", "aria-label": `${label}: now ${text(last)}, at most ${text(most)}` }, h("line", { x1: 0, y1: 61, x2: 240, y2: 61 }), h("polyline", { points })),
    h("span", { class: "muted" }, `at most ${text(most)}`),
  );
}
