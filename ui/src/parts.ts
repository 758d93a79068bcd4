// Parts that several views have.
import { h, type Child } from "./dom.ts";
import { podLink } from "./route.ts";

export function card(title: string, ...content: Child[]): HTMLElement {
  return h("section", { class: "card" }, h("h2", {}, title), ...content);
}

// A table. `numbers`: indices of the columns with numbers. It scrolls sideways if it is too wide.
export function table(label: string, columns: string[], rows: Child[][], numbers: number[] = []): HTMLElement {
  const cell = (tag: string, i: number, content: Child, scope: string | null = null) =>
    h(tag, { class: numbers.includes(i) ? "number" : null, scope }, content);
  return h(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": label },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...columns.map((column, i) => cell("th", i, column, "col")))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((content, i) => cell("td", i, content))))),
    ),
  );
}

export function facts(...pairs: [string, Child][]): HTMLElement {
  return h("dl", { class: "facts" }, ...pairs.flatMap(([name, value]) => [h("div", {}, h("dt", {}, name), h("dd", {}, value))]));
}

export function podName(namespace: string, name: string): HTMLElement {
  return h("a", { href: podLink(namespace, name) }, `${namespace}/${name}`);
}

export function podNameOf(key: string): Child {
  const slash = key.indexOf("/");
  return slash < 0 ? key : podName(key.slice(0, slash), key.slice(slash + 1));
}

export function separated(items: Child[], separator = ", "): Child[] {
  return items.flatMap((item, i) => (i === 0 ? [item] : [separator, item]));
}

// A bar for a share of a whole. The number stands beside it.
export function bar(share: number): HTMLElement {
  return h(
    "svg",
    { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("rect", { class: "bar-all", width: 100, height: 8 }),
    h("rect", { class: share > 1 ? "bar-part over" : "bar-part", width: Math.min(100, share * 100).toFixed(1), height: 8 }),
  );
}

export function withheld(text: string): HTMLElement {
  return h("p", { class: "muted" }, text);
}
