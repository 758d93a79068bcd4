// The nodes of one attempt with their scores: sortable, filtered by name. Only the visible rows are elements, so that
// 5,000 nodes are sorted and scrolled without delay.
import { h } from "./dom.ts";
import { count } from "./format.ts";
import { link } from "./route.ts";
import type { RecordNode } from "./types.ts";

const kRowHeight = 32;  // as in page.css
const kMargin = 10;     // rows beyond the visible ones

type Column = { title: string; key: string; number: boolean };

export class DecisionTable {
  private nodes: RecordNode[] = [];
  private shown: RecordNode[] = [];
  private columns: Column[] = [];
  private sortKey = "total";
  private descending = true;
  private filter = "";
  private onlyReason = "";
  private first = -1;

  private readonly body = h("tbody");
  private readonly head = h("thead");
  private readonly table = h("table", { class: "decision" }, this.head, this.body);
  private readonly scroller = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Nodes of the attempt" }, this.table);
  private readonly input = h("input", { type: "search", placeholder: "node name", "aria-label": "Only nodes with this text in their name" }) as HTMLInputElement;
  private readonly select = h("select", { "aria-label": "Only nodes with this reason" }) as HTMLSelectElement;
  private readonly note = h("span", { class: "muted", role: "status" });

  constructor(private readonly selected: () => string | undefined) {
    this.scroller.addEventListener("scroll", () => this.draw(false));
    this.input.addEventListener("input", () => {
      this.filter = this.input.value.trim();
      this.arrange();
    });
    this.select.addEventListener("change", () => {
      this.onlyReason = this.select.value;
      this.arrange();
    });
  }

  attach(place: Element): void {
    if (this.scroller.parentNode === place) return;
    place.replaceChildren(h("div", { class: "toolbar" }, h("label", {}, "Filter ", this.input), h("label", {}, "Reason ", this.select), this.note), this.scroller);
  }

  show(nodes: RecordNode[]): void {
    if (nodes === this.nodes) return;
    this.nodes = nodes;
    const plugins = new Set<string>();
    const reasons = new Map<string, number>();
    for (const node of nodes) {
      for (const plugin in node.scores) plugins.add(plugin);
      for (const extender in node.extenders) plugins.add(extender);
      const reason = reasonOf(node);
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    this.columns = [
      { title: "Node", key: "name", number: false },
      { title: "Result", key: "reason", number: false },
      { title: "Total", key: "total", number: true },
      ...[...plugins].sort().map((plugin) => ({ title: plugin, key: "score:" + plugin, number: true })),
    ];
    if (!this.columns.some((column) => column.key === this.sortKey)) this.sortKey = "total";
    if (!reasons.has(this.onlyReason)) this.onlyReason = "";
    const options = [...reasons].sort((a, b) => b[1] - a[1]);
    this.select.replaceChildren(
      h("option", { value: "" }, "all"),
      ...options.map(([reason, number]) => h("option", { value: reason, selected: reason === this.onlyReason }, `${reason} (${count(number)})`)),
    );
    this.arrange();
  }

  private arrange(): void {
    const matching = this.nodes.filter(
      (node) => node.name.includes(this.filter) && (this.onlyReason === "" || reasonOf(node) === this.onlyReason),
    );
    // The keys are computed once per row, not once per comparison.
    const keyed = matching.map((node) => ({ node, key: keyOf(node, this.sortKey) }));
    const sign = this.descending ? -1 : 1;
    keyed.sort((a, b) => sign * compare(a.key, b.key) || fits(b.node) - fits(a.node) || compare(a.node.name, b.node.name));
    this.shown = keyed.map(({ node }) => node);
    this.note.textContent = `${count(this.shown.length)} of ${count(this.nodes.length)} nodes`;
    this.table.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.drawHead();
    this.scroller.scrollTop = 0;
    this.draw(true);
  }

  private drawHead(): void {
    const focused = document.activeElement?.getAttribute("data-sort");
    const row = h("tr", { "aria-rowindex": 1 });
    for (const column of this.columns) {
      const sorted = column.key === this.sortKey;
      const button = h("button", { type: "button", class: "sort", "data-sort": column.key }, column.title, h("span", { "aria-hidden": "true" }, sorted ? (this.descending ? " ▼" : " ▲") : ""));
      button.addEventListener("click", () => this.sortBy(column));
      row.appendChild(h("th", { scope: "col", class: column.number ? "number" : "", "aria-sort": sorted ? (this.descending ? "descending" : "ascending") : "none" }, button));
    }
    this.head.replaceChildren(row);
    if (focused) (this.head.querySelector(`[data-sort="${CSS.escape(focused)}"]`) as HTMLElement | null)?.focus();
  }

  private sortBy(column: Column): void {
    if (this.sortKey === column.key) this.descending = !this.descending;
    else [this.sortKey, this.descending] = [column.key, column.number];
    this.arrange();
  }

  private draw(always: boolean): void {
    const visible = Math.ceil((this.scroller.clientHeight || 480) / kRowHeight);
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / kRowHeight) - kMargin);
    if (!always && Math.abs(first - this.first) < kMargin / 2) return;
    this.first = first;
    const last = Math.min(this.shown.length, first + visible + 2 * kMargin);
    const rows = this.shown.slice(first, last).map((node, i) => this.rowOf(node, first + i + 2));
    this.body.replaceChildren(this.spacer(first), ...rows, this.spacer(this.shown.length - last));
  }

  private spacer(rows: number): HTMLElement {
    const row = h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: Math.max(1, this.columns.length) }));
    row.style.height = `${rows * kRowHeight}px`;
    return row;
  }

  private rowOf(node: RecordNode, index: number): HTMLElement {
    const row = h("tr", { "aria-rowindex": index, class: node.name === this.selected() ? "selected" : null });
    for (const column of this.columns) {
      if (column.key === "name") {
        row.appendChild(h("th", { scope: "row" }, h("a", { href: link(["nodes", node.name]) }, node.name)));
      } else if (column.key === "reason") {
        const reason = reasonOf(node);
        row.appendChild(h("td", { class: node.code === "Success" ? "fits" : "", title: node.plugin ? `${node.plugin}: ${reason}` : reason }, reason));
      } else {
        const value = keyOf(node, column.key);
        row.appendChild(h("td", { class: "number" }, value === null ? "–" : value));
      }
    }
    return row;
  }
}

function fits(node: RecordNode): number {
  return node.code === "Success" ? 1 : 0;
}

function reasonOf(node: RecordNode): string {
  return fits(node) ? "fits" : (node.reasons ?? [node.code]).join(", ");
}

function keyOf(node: RecordNode, key: string): string | number | null {
  if (key === "name") return node.name;
  if (key === "reason") return reasonOf(node);
  if (key === "total") return node.total ?? null;
  const plugin = key.slice("score:".length);
  return node.scores?.[plugin] ?? node.extenders?.[plugin] ?? null;
}

// Missing numbers are below all others.
function compare(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}
