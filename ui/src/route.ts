// The address of a view: "#/queue?namespace=shop". The address holds the whole state of a view except for what the
// user types, so every state is a link.

export interface Route {
  parts: string[];
  parameters: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter((part) => part !== "").map(decoded), parameters: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// Parameters that are empty are left out.
export function link(parts: string[], parameters: Record<string, string | number | null> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== "" && value !== 0) query.set(name, String(value));
  }
  const text = query.toString();
  return "#/" + parts.map(encodeURIComponent).join("/") + (text === "" ? "" : "?" + text);
}

export function podLink(namespace: string, name: string): string {
  return link(["pods", namespace, name]);
}

// A copy of the route's parameters with changes.
export function changed(route: Route, changes: Record<string, string | number | null>): string {
  return link(route.parts, { ...Object.fromEntries(route.parameters), ...changes });
}
