// Elements from data. Text becomes text nodes only, so data of the cluster is never parsed as HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | null | undefined>;

const kSvg = "http://www.w3.org/2000/svg";
const kSvgTags = new Set(["svg", "polyline", "line", "rect"]);

// An element. Attributes that are null, undefined or false are left out; true is an empty attribute.
export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const element = (kSvgTags.has(tag) ? document.createElementNS(kSvg, tag) : document.createElement(tag)) as HTMLElement;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.appendChild(child);
    else if (child !== null && child !== undefined && child !== false) parent.appendChild(document.createTextNode(String(child)));
  }
}

// Changes the live children of `live` to those of `wanted` with as few changes as possible, so that focus, selection
// and scroll positions stay. Elements with the attribute data-own keep their children: a component owns them. Whether
// a <details> is open belongs to the user.
export function patchChildren(live: Element, wanted: Element): void {
  const next = Array.from(wanted.childNodes);
  next.forEach((node, i) => {
    const old = live.childNodes[i];
    if (old === undefined) live.appendChild(node);
    else if (!patch(old, node)) live.replaceChild(node, old);
  });
  while (live.childNodes.length > next.length) live.removeChild(live.lastChild as ChildNode);
}

// Returns false if the node has to be replaced.
function patch(live: Node, wanted: Node): boolean {
  if (live.nodeName !== wanted.nodeName) return false;
  if (!(live instanceof Element) || !(wanted instanceof Element)) {
    if (live.nodeValue !== wanted.nodeValue) live.nodeValue = wanted.nodeValue;
    return true;
  }
  if (live.getAttribute("data-key") !== wanted.getAttribute("data-key")) return false;
  for (const { name } of Array.from(live.attributes)) {
    if (!wanted.hasAttribute(name) && name !== "open") live.removeAttribute(name);
  }
  for (const { name, value } of Array.from(wanted.attributes)) {
    if (live.getAttribute(name) !== value && name !== "open") live.setAttribute(name, value);
  }
  if (wanted.hasAttribute("data-own")) return true;
  if (live instanceof HTMLSelectElement && document.activeElement === live) return true;
  patchChildren(live, wanted);
  return true;
}
