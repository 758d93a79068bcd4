// All nodes as a heat map: by the requested share of a resource, or by a measurement.
import type { Api } from "../api.ts";
import { h } from "../dom.ts";
import { age, count, percent, plural } from "../format.ts";
import { HeatMap, kSteps, step, type Cell } from "../heat_map.ts";
import { card, table } from "../parts.ts";
import { changed, link, type Route } from "../route.ts";
import type { ListedNode, Nodes } from "../types.ts";
import type { View } from "../view.ts";

const kPage = 5000;
const kMostNodes = 20_000;  // cells in the document
const kFullest = 10;

export class NodesView implements View {
  readonly title = "Nodes";
  private loaded: Nodes | null = null;
  private cells: Cell[] = [];
  private readonly map = new HeatMap();

  async load(api: Api, _route: Route, signal: AbortSignal): Promise<void> {
    let all = await api.get<Nodes>(`nodes?limit=${kPage}`, signal);
    while (all.remaining > 0 && all.nodes.length < kMostNodes) {
      const next = await api.get<Nodes>(`nodes?limit=${kPage}&offset=${all.nodes.length}`, signal);
      if (next.nodes.length === 0) break;
      all = { ...next, nodes: [...all.nodes, ...next.nodes] };
    }
    this.loaded = all;
  }

  render(route: Route): HTMLElement {
    const all = this.loaded;
    if (all === null) return h("p", {}, "Loading…");
    const resources = [...new Set(all.nodes.flatMap((node) => node.requested.map(({ resource }) => resource)))];
    const by = route.parameters.get("by") ?? resources[0] ?? "";
    const measured = all.measurements.find(({ name }) => by === `measured:${name}`);
    const values = measured === undefined ? all.nodes.map((node) => requested(node, by)) : all.nodes.map((node) => measurement(node, measured.name));
    const scale = measured === undefined ? 1 : scaleOf(values);
    const text = (value: number | null) =>
      value === null ? "no value" : measured === undefined ? `${percent(value)} of ${by} requested` : `${measured.name} ${Number(value.toPrecision(4))}`;
    this.cells = all.nodes.map((node, i) => {
      const value = values[i] ?? null;
      return {
        name: node.name,
        share: value === null ? null : value / scale,
        text: `${text(value)}, ${plural(node.podCount, "pod")}${node.unschedulable ? ", cordoned" : ""}${node.ready !== undefined && node.ready !== "True" ? ", not ready" : ""}`,
        cordoned: node.unschedulable || (node.ready !== undefined && node.ready !== "True"),
      };
    });
    if (route.parameters.get("order") === "share") this.cells.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
    const chip = (key: string, label: string) => h("a", { class: "chip", href: changed(route, { by: key }), "aria-current": key === by ? "true" : null }, label);
    const order = route.parameters.get("order") === "share" ? "share" : "name";
    return h(
      "div",
      {},
      h("p", { class: "lead" }, `${plural(all.total, "node")}, ${plural(all.nodes.reduce((sum, node) => sum + node.podCount, 0), "pod")} on them`),
      h(
        "div",
        { class: "toolbar" },
        h("span", {}, "Requested: "),
        ...resources.map((resource) => chip(resource, resource)),
        all.measurements.length > 0 ? h("span", {}, "Measured: ") : null,
        ...all.measurements.map(({ name }) => chip(`measured:${name}`, name)),
        h("span", {}, "Order: "),
        ...["name", "share"].map((key) => h("a", { class: "chip", href: changed(route, { order: key === "name" ? null : key }), "aria-current": key === order ? "true" : null }, key)),
      ),
      measured === undefined
        ? null
        : h(
            "p",
            { class: measured.state === "fresh" ? "muted" : "warning" },
            `The signal ${measured.name} is ${measured.state}`,
            measured.polledAt ? `; its values are ${age(measured.polledAt)} old` : "",
            measured.state === "held" ? ": the last query failed" : "",
            ".",
          ),
      card(measured === undefined ? `Requested share of ${by}` : `Measured: ${measured.name}`, legend(scale, measured === undefined), h("div", { "data-own": "map" })),
      h("div", { class: "cards" }, fullest(this.cells), distribution(this.cells, scale, measured === undefined)),
      all.total > all.nodes.length ? h("p", { class: "muted" }, `${plural(all.total - all.nodes.length, "more node is", "more nodes are")} not shown.`) : null,
    );
  }

  attach(root: Element): void {
    const own = root.querySelector('[data-own="map"]');
    if (own === null) return;
    this.map.attach(own);
    this.map.show(this.cells);
  }
}

function requested(node: ListedNode, resource: string): number | null {
  return node.requested.find((one) => one.resource === resource)?.share ?? null;
}

function measurement(node: ListedNode, name: string): number | null {
  return node.measured?.find((one) => one.name === name)?.value ?? null;
}

// Measurements have different units: shares, percentages, bytes per second.
function scaleOf(values: (number | null)[]): number {
  const most = values.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  if (most <= 1) return 1;
  return most <= 100 ? 100 : most;
}

function valueText(share: number, scale: number, shares: boolean): string {
  return shares ? `${Math.round(share * 100)} %` : String(Number((share * scale).toPrecision(3)));
}

function legend(scale: number, shares: boolean): HTMLElement {
  return h(
    "p",
    { class: "legend" },
    h("span", {}, valueText(0, scale, shares)),
    ...Array.from({ length: kSteps }, (_, i) => h("span", { class: `cell s${i}`, "aria-hidden": "true" })),
    h("span", {}, valueText(1, scale, shares)),
    h("span", { class: "cell unknown", "aria-hidden": "true" }),
    h("span", {}, "no value"),
    h("span", { class: "cell s0 cordoned", "aria-hidden": "true" }),
    h("span", {}, "cordoned or not ready"),
  );
}

function fullest(cells: Cell[]): HTMLElement {
  const known = cells.filter((cell) => cell.share !== null).sort((a, b) => (b.share as number) - (a.share as number));
  return card(
    "Highest values",
    h("ol", {}, ...known.slice(0, kFullest).map((cell) => h("li", {}, h("a", { href: link(["nodes", cell.name]) }, cell.name), `: ${cell.text}`))),
  );
}

function distribution(cells: Cell[], scale: number, shares: boolean): HTMLElement {
  const numbers = new Array<number>(kSteps).fill(0);
  for (const { share } of cells) {
    if (share !== null) numbers[step(share)] = (numbers[step(share)] ?? 0) + 1;
  }
  return card(
    "Distribution",
    table(
      "Distribution",
      ["From", "To", "Nodes"],
      numbers.map((number, i) => [valueText(i / kSteps, scale, shares), i + 1 === kSteps ? "more" : valueText((i + 1) / kSteps, scale, shares), count(number)]),
      [0, 1, 2],
    ),
  );
}
