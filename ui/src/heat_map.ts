// One cell per node, coloured by a share. One tab stop; arrow keys move between cells.
import { h } from "./dom.ts";
import { link } from "./route.ts";

export interface Cell {
  name: string;
  share: number | null;  // null: unknown; more than 1 is shown as 1
  text: string;          // after the name
  cordoned: boolean;
}

export const kSteps = 10;
const kLarge = 800;  // up to this number of nodes, cells are larger

export function step(share: number): number {
  return Math.min(kSteps - 1, Math.max(0, Math.floor(share * kSteps)));
}

export class HeatMap {
  private current = 0;
  private readonly list = h("div", { class: "heat", role: "group", "aria-label": "Nodes. Arrow keys move, Enter opens a node." });
  private readonly description = h("p", { class: "heat-text", "aria-hidden": "true" }, " ");

  constructor() {
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    for (const type of ["focusin", "mouseover"]) this.list.addEventListener(type, (event) => this.onPoint(event));
  }

  attach(place: Element): void {
    if (this.list.parentNode === place) return;
    place.replaceChildren(this.list, this.description);
  }

  show(cells: Cell[]): void {
    set(this.list, "class", cells.length <= kLarge ? "heat large" : "heat");
    const live = this.list.children;
    cells.forEach((cell, i) => {
      let element = live[i];
      if (element === undefined) {
        element = h("a", { tabindex: i === this.current ? 0 : -1 });
        this.list.appendChild(element);
      }
      const level = cell.share === null ? "unknown" : `s${step(cell.share)}`;
      set(element, "class", `cell ${level}${cell.cordoned ? " cordoned" : ""}`);
      set(element, "href", link(["nodes", cell.name]));
      set(element, "aria-label", `${cell.name}: ${cell.text}`);
    });
    while (live.length > cells.length) this.list.lastElementChild?.remove();
    if (this.current >= cells.length) this.moveTo(0, false);
  }

  private moveTo(index: number, focus: boolean): void {
    const target = this.list.children[index] as HTMLElement | undefined;
    if (target === undefined) return;
    this.list.children[this.current]?.setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
    this.current = index;
    if (focus) target.focus();
  }

  private onKey(event: KeyboardEvent): void {
    const cells = this.list.children;
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.perRow(), ArrowDown: this.perRow() };
    let next = steps[event.key] === undefined ? undefined : this.current + (steps[event.key] as number);
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = cells.length - 1;
    if (next === undefined) return;
    event.preventDefault();
    if (next >= 0 && next < cells.length) this.moveTo(next, true);
  }

  private perRow(): number {
    const cells = this.list.children;
    const top = (cells[0] as HTMLElement | undefined)?.offsetTop;
    let number = 0;
    while (number < cells.length && (cells[number] as HTMLElement).offsetTop === top) ++number;
    return Math.max(1, number);
  }

  private onPoint(event: Event): void {
    const cell = (event.target as Element).closest("a");
    if (cell === null) return;
    this.description.textContent = cell.getAttribute("aria-label");
    if (event.type === "focusin") this.moveTo(Array.prototype.indexOf.call(this.list.children, cell), false);
  }
}

function set(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
