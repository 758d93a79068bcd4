// One pod: where it is, what would help, and its last attempts with the decision about every node.
import { ApiError, podPath, type Api } from "../api.ts";
import { DecisionTable } from "../decision_table.ts";
import { h, type Child } from "../dom.ts";
import { age, clock, count, plural } from "../format.ts";
import { card, facts, podNameOf, separated, table, withheld } from "../parts.ts";
import { link, type Route } from "../route.ts";
import type { Attempt, ExplainedReason, Explanation, Pod, PreemptionCandidate, RecordNode } from "../types.ts";
import type { View } from "../view.ts";

const kAttempts = 5;
const kTemporary = [429, 502, 503, 504];  // statuses of an explanation that is requested again

export class PodView implements View {
  readonly title: string;
  private pod: Pod | null = null;
  private unknown = "";  // why there is no report
  private full = false;  // names of nodes may be shown
  private explanation: Explanation | null = null;
  private explanationError = "";
  private mayChange = false;  // the error is a temporary one
  private nodes: RecordNode[] = [];
  // The time of the attempt to which the parts that change with it belong; "" without an attempt, null if they must be
  // requested in any case.
  private loadedFor: string | null = null;
  private readonly decision = new DecisionTable(() => this.pod?.attempts[0]?.node);

  constructor(
    private readonly namespace: string,
    private readonly name: string,
  ) {
    this.title = `Pod ${namespace}/${name}`;
  }

  async load(api: Api, _route: Route, signal: AbortSignal): Promise<void> {
    const path = podPath(this.namespace, this.name);
    try {
      const { value, full } = await api.getEither<Pod>(`${path}?view=nodes&attempts=${kAttempts}`, `${path}?attempts=${kAttempts}`, signal);
      [this.pod, this.full, this.unknown] = [value, full, ""];
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      [this.pod, this.unknown] = [null, error.message];
    }
    // An evaluation costs the scheduler more than the report, and its result changes with the attempts.
    const newest = this.pod?.attempts[0]?.time ?? this.unknown;
    if (newest === this.loadedFor) return;
    await this.loadExplanation(api, path, signal);
    await this.loadRecord(api, path, signal);
    this.loadedFor = this.mayChange ? null : newest;
  }

  private async loadExplanation(api: Api, path: string, signal: AbortSignal): Promise<void> {
    try {
      this.explanation = (await api.getEither<Explanation>(`${path}/explanation?view=nodes`, `${path}/explanation`, signal)).value;
      [this.explanationError, this.mayChange] = ["", false];
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 0 || error.status === 401) throw error;
      [this.explanation, this.explanationError, this.mayChange] = [null, error.message, kTemporary.includes(error.status)];
    }
  }

  private async loadRecord(api: Api, path: string, signal: AbortSignal): Promise<void> {
    this.nodes = [];
    if (!this.full) return;
    const { attempts } = await api.get<Pod>(`${path}?view=records&attempts=1`, signal);
    this.nodes = attempts[0]?.record?.nodes ?? [];
  }

  render(): HTMLElement {
    if (this.pod === null && this.unknown === "") return h("p", {}, "Loading…");
    return h(
      "div",
      {},
      this.pod === null ? h("p", { class: "empty" }, this.unknown) : place(this.pod),
      advice(this.explanation, this.explanationError),
      preemption(this.explanation),
      this.pod === null ? null : attempts(this.pod),
      this.pod === null || this.pod.attempts.length === 0
        ? null
        : card(
            "Decision of the last attempt",
            this.full
              ? h("div", { "data-own": "decision" })
              : withheld("The nodes are shown to users who may get the path /berth.dev/v1alpha1/pods/…"),
          ),
    );
  }

  attach(root: Element): void {
    const own = root.querySelector('[data-own="decision"]');
    if (own === null) return;
    this.decision.attach(own);
    this.decision.show(this.nodes);
  }
}

const kStages = {
  queued: "waits in the queue",
  scheduling: "is being scheduled, or waits for Permit",
  binding: "has a node; the binding is not confirmed yet",
  gone: "is not pending any more: bound or deleted",
};

function place(pod: Pod): HTMLElement {
  const queue = pod.queue;
  const pairs: [string, Child][] = [["Stage", kStages[pod.stage]]];
  if (queue !== undefined) {
    pairs.push(["Place", `${queue.place} for ${age(queue.since)}`], ["Attempts", count(queue.attempts)]);
    if (queue.ahead !== undefined) pairs.push(["Ahead of it", plural(queue.ahead, "entry", "entries")]);
    if (queue.nextRetry !== undefined) pairs.push(["Next retry at the latest", clock(queue.nextRetry)]);
    if (queue.rejectedBy?.length) pairs.push(["Rejected by", queue.rejectedBy.join(", ")]);
    if (queue.waitingFor?.length) pairs.push(["Waits for", queue.waitingFor.join(", ")]);
    if (queue.gatedBy) pairs.push(["Gated by", queue.gatedBy]);
    if (queue.consecutiveErrors > 0) pairs.push(["Errors in a row", count(queue.consecutiveErrors)]);
  }
  if (pod.priority !== undefined) pairs.push(["Priority", String(pod.priority)]);
  if (pod.podGroup) pairs.push(["Pod group", pod.podGroup]);
  if (pod.nominatedNode) pairs.push(["Nominated node", h("a", { href: link(["nodes", pod.nominatedNode]) }, pod.nominatedNode)]);
  if (pod.schedulerName) pairs.push(["Profile", pod.schedulerName]);
  const woken = queue?.wokenBy ?? [];
  return card(
    "State",
    facts(...pairs),
    woken.length === 0
      ? null
      : h(
          "details",
          {},
          h("summary", {}, "Events after which it may be retried"),
          h("ul", {}, ...woken.map(({ plugin, events }) => h("li", {}, h("strong", {}, plugin), ": ", (events ?? []).join("; ")))),
        ),
  );
}

function reasonText(reason: ExplainedReason): Child {
  return [`${reason.plugin}: ${reason.reason}`, reason.values?.length ? h("span", { class: "muted" }, ` (${reason.values.join("; ")})`) : null];
}

function advice(explanation: Explanation | null, error: string): HTMLElement {
  if (explanation === null) return card("Advice", h("p", { class: "muted" }, error || "Evaluating…"));
  const nodes = explanation.nodes;
  const all = explanation.advice ?? [];
  return card(
    "Advice",
    h(
      "p",
      {},
      explanation.boundTo ? `On node ${explanation.boundTo}; evaluated as if it were not there. ` : "",
      nodes === undefined ? "" : `${count(nodes.feasible)} of ${plural(nodes.total, "node")} fit now. `,
      explanation.node ? ["The best one is ", h("a", { href: link(["nodes", explanation.node]) }, explanation.node), ". "] : null,
    ),
    explanation.podReasons?.length ? h("ul", {}, ...explanation.podReasons.map((reason) => h("li", {}, reasonText(reason)))) : null,
    all.length === 0 && !explanation.adviceWithheld && nodes?.feasible === 0 ? h("p", {}, "No single change was found with which the pod fits.") : null,
    h(
      "ol",
      { class: "advice" },
      ...all.map((one) =>
        h(
          "li",
          {},
          h("strong", {}, one.steps.join("; ")),
          ` – ${plural(one.nodes, "node")} ${one.nodes === 1 ? "fits" : "fit"} then`,
          one.names?.length ? h("span", { class: "muted" }, ` (${one.names.join(", ")}${one.nodes > one.names.length ? ", …" : ""})`) : null,
          one.victimCount > 0 ? [`; ${plural(one.victimCount, "pod")} would be evicted`, one.victims?.length ? [": ", separated(one.victims.map(podNameOf))] : null] : null,
        ),
      ),
    ),
    explanation.adviceWithheld ? withheld(`${plural(explanation.adviceWithheld, "more proposal")} would name nodes or other pods, which you may not see.`) : null,
    groups(explanation),
    h(
      "p",
      { class: "muted" },
      `Evaluated on the cluster of ${clock(explanation.clusterAsOf)}`,
      explanation.leading ? "" : " by a standby",
      explanation.leftOut?.length ? `; not considered: ${explanation.leftOut.join(", ")}` : "",
      ". It is evaluated again after the next attempt.",
    ),
  );
}

function groups(explanation: Explanation): Child {
  const all = explanation.groups ?? [];
  if (all.length === 0) return null;
  return h(
    "details",
    { open: (explanation.advice ?? []).length === 0 },
    h("summary", {}, `Nodes that do not fit, by reason (${plural(all.length + (explanation.moreGroups ?? 0), "group")}, the closest first)`),
    table(
      "Nodes that do not fit",
      ["Nodes", "Reasons", "Names"],
      all.map((group) => [
        count(group.nodes),
        group.reasons.length === 0 ? "pods that are nominated to the nodes" : h("ul", { class: "plain" }, ...group.reasons.map((reason) => h("li", {}, reasonText(reason)))),
        (group.names ?? []).join(", ") + ((group.names?.length ?? group.nodes) < group.nodes ? ", …" : ""),
      ]),
      [0],
    ),
  );
}

// What preemption would evict on each node, the selected one first, and why other nodes are no candidates.
function preemption(explanation: Explanation | null): Child {
  const candidates = explanation?.preemption?.candidates ?? [];
  const refusals = explanation?.preemption?.refusals ?? [];
  if (candidates.length === 0 && refusals.length === 0) return null;
  return card(
    "Preemption, node by node",
    candidates.length === 0
      ? null
      : table(
          "Preemption by node",
          ["Node", "Evictions", "Choice", "Evicted pods"],
          candidates.map((candidate, i) => [
            h("a", { href: link(["nodes", candidate.node]) }, candidate.node),
            count(candidate.victimCount),
            choice(candidate, i === 0),
            victims(candidate),
          ]),
          [1],
        ),
    explanation?.preemption?.notShown ? h("p", { class: "muted" }, `${plural(explanation.preemption.notShown, "further candidate")} not listed.`) : null,
    refusals.length === 0 ? null : h("ul", {}, ...refusals.map((refusal) => h("li", {}, `${plural(refusal.nodes, "node is", "nodes are")} no candidate: ${refusal.reason}`))),
  );
}

function choice(candidate: PreemptionCandidate, selected: boolean): string {
  const text = selected ? "selected" : candidate.drawback ? `not selected: ${candidate.drawback}` : "equally good";
  return candidate.violations > 0 ? `${text}; ${candidate.violations} against a PodDisruptionBudget` : text;
}

function victims(candidate: PreemptionCandidate): Child {
  const all = candidate.victims ?? [];
  const more = candidate.victimCount - all.length;
  return h(
    "ul",
    { class: "plain" },
    ...all.map((victim) =>
      h(
        "li",
        {},
        podNameOf(victim.pod),
        h(
          "span",
          { class: "muted" },
          victim.owner ? ` (${victim.owner})` : "",
          `, priority ${victim.priority}, ${victim.started ? `started ${clock(victim.started)}` : "not started"}`,
          victim.budget ? `, PodDisruptionBudget ${victim.budget} allows no disruption` : "",
        ),
      ),
    ),
    more > 0 ? h("li", {}, `and ${count(more)} more`) : null,
  );
}

function attempts(pod: Pod): HTMLElement {
  if (pod.attempts.length === 0) return card("Attempts", h("p", { class: "muted" }, "No attempt of this pod is recorded."));
  return card(
    "Attempts",
    ...pod.attempts.map((attempt, i) => h("details", { class: "attempt", open: i === 0, "data-key": attempt.time }, h("summary", {}, summary(attempt)), details(attempt))),
    pod.moreAttempts ? h("p", { class: "muted" }, `${plural(pod.moreAttempts, "older attempt is", "older attempts are")} recorded.`) : null,
  );
}

function summary(attempt: Attempt): Child {
  const { feasible, total, sampled } = attempt.nodes;
  return [
    h("time", { datetime: attempt.time }, clock(attempt.time)),
    ` ${attempt.result}`,
    attempt.node ? ` to ${attempt.node}` : "",
    total > 0 ? `; ${count(feasible)} of ${plural(total, "node")} fit${sampled ? " (sampled)" : ""}` : "",
  ];
}

function details(attempt: Attempt): Child {
  const preemption = attempt.preemption;
  return [
    attempt.message ? h("p", { class: "message" }, attempt.message) : null,
    attempt.reasons?.length
      ? table(
          "Reasons of the attempt",
          ["Nodes", "Before", "Plugin", "Reason", "Names"],
          attempt.reasons.map((reason) => [
            count(reason.nodes),
            reason.nodesBefore === undefined ? "–" : count(reason.nodesBefore),
            reason.plugin,
            reason.reason,
            (reason.names ?? []).join(", ") + ((reason.names?.length ?? reason.nodes) < reason.nodes ? ", …" : ""),
          ]),
          [0, 1],
        )
      : null,
    preemption
      ? h(
          "p",
          {},
          h("strong", {}, "Preemption: "),
          preemption.node ? [`nominated to `, h("a", { href: link(["nodes", preemption.node]) }, preemption.node), `, ${plural(preemption.victimCount ?? 0, "victim")}`] : null,
          preemption.victims?.length ? [": ", separated(preemption.victims.map(podNameOf))] : null,
          preemption.message ? ` ${preemption.message}` : "",
        )
      : null,
  ];
}
