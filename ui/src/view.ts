import type { Api } from "./api.ts";
import type { Route } from "./route.ts";

// One page of the interface. Created for each address without its parameters, and dropped when that changes.
export interface View {
  readonly title: string;
  // Requests what the view shows. Called again and again while the view is visible.
  load(api: Api, route: Route, signal: AbortSignal): Promise<void>;
  // The content, from what was loaded last. Must not have side effects on the document.
  render(route: Route): HTMLElement;
  // Called when the content is in the document: fills elements with data-own.
  attach?(root: Element): void;
}
