"""Planted defects. Each must make at least one of its tests fail (tests/mutants/run)."""
from dataclasses import dataclass


@dataclass
class Mutant:
    name: str
    file: str
    find: str  # occurs exactly once in the file
    replace: str
    effect: str  # what a user would see
    tests: tuple[str, ...]  # names of ctest, cheapest first; one of them must fail


CACHE = "src/scheduler/equivalence_cache/equivalence_cache.cpp"
ALGORITHM = "src/scheduler/algorithm/scheduling_algorithm.cpp"
STATE = "src/scheduler/cluster/cluster_state.cpp"
TABLE = "src/scheduler/cluster/node_table.cpp"
QUEUE = "src/scheduler/queue/scheduling_queue.cpp"
PLUGINS = "src/scheduler/plugins"

MUTANTS = [
    # --- equivalence cache ---
    Mutant("several-changed-rows-are-not-evaluated", CACHE,
           "  if (changed_.Empty()) return true;\n",
           "  if (changed_.Empty() || changed_.HasMoreThan(1)) return true;\n",
           "pods are placed on nodes that other pods have filled meanwhile", ("scheduler_algorithm", )),
    Mutant("node-changes-do-not-invalidate", CACHE,
           "const bool can_follow = node_changes_ == nodes.node_changes() &&",
           "const bool can_follow = node_changes_ != 0 &&",
           "a new taint is ignored for pods of a known shape", ("scheduler_algorithm", )),
    Mutant("other-skipped-filters-do-not-invalidate", CACHE,
           "skipped_filters_ == pre_filter.skipped_filters &&", "",
           "a filter that was skipped for the first pod of a shape stays skipped", ("scheduler_algorithm", "corpus")),
    Mutant("rows-rejected-by-earlier-filters-are-evaluated", CACHE,
           "  changed_ &= reaching_;\n", "",
           "a node that an earlier filter rejected becomes feasible", ("scheduler_algorithm", )),
    Mutant("changed-verdicts-keep-the-old-rows", CACHE,
           "known.rejections[i].rows -= changed_;", "known.rejections[i].rows -= again_.unresolvable;",
           "messages count a node twice", ("scheduler_algorithm", )),
    Mutant("feasible-rows-stay-feasible", CACHE,
           "  known.feasible -= changed_;\n", "",
           "a full node stays feasible for pods of a known shape", ("scheduler_algorithm", )),
    Mutant("records-keep-old-verdicts", CACHE,
           "  kept_ = false;\n  const auto by_plugin", "  const auto by_plugin",
           "explanations show the verdicts of an earlier attempt", ("scheduler_algorithm", )),
    Mutant("scores-of-joining-rows-are-not-normalized", CACHE,
           "    if (!part.by_row && !joined_or_left_) continue;\n", "    if (!part.by_row) continue;\n",
           "a node that becomes feasible keeps an old score", ("scheduler_algorithm", )),
    Mutant("totals-of-other-rows", CACHE,
           "    for (const std::size_t row : scored_rows_) best_.Set(row, Total(row));\n",
           "    for (const std::size_t row : scored_rows_) best_.Set(row, Total(scored_rows_.front()));\n",
           "the wrong node wins after several rows have changed", ("scheduler_algorithm", )),
    Mutant("an-infeasible-row-stays-in-the-ranking", CACHE,
           "      best_.Set(row, TournamentTree::kExcluded);\n", "",
           "a pod is placed on a full node", ("scheduler_algorithm", )),
    # --- dependencies that plugins declare ---
    Mutant("node-ports-depends-on-nodes-only", f"{PLUGINS}/node_ports/node_ports.hpp",
           "return framework::ResultDependency::kRow;", "return framework::ResultDependency::kNodes;",
           "two pods get the same host port", ("scheduler_algorithm", )),
    Mutant("resources-filter-depends-on-nodes-only", f"{PLUGINS}/node_resources/node_resources_fit.hpp",
           "  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {\n"
           "    return framework::ResultDependency::kRow;",
           "  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {\n"
           "    return framework::ResultDependency::kNodes;",
           "nodes are overcommitted", ("scheduler_algorithm", )),
    Mutant("balanced-allocation-depends-on-nodes-only", f"{PLUGINS}/node_resources/balanced_allocation.hpp",
           "return framework::ResultDependency::kRow;", "return framework::ResultDependency::kNodes;",
           "pods of one Deployment pile up on one node", ("scheduler_algorithm", )),
    # --- algorithm ---
    Mutant("sampling-starts-at-the-same-node", ALGORITHM,
           "  next_start_ = (next_start_ + visited) % nodes;\n", "",
           "with sampling the same nodes get all pods", ("scheduler_algorithm", )),
    Mutant("sampling-counts-infeasible-nodes", ALGORITHM,
           "      kept.Add(row);\n      ++found;\n    }\n", "      kept.Add(row);\n    }\n    ++found;\n",
           "with sampling fewer feasible nodes are scored", ("scheduler_algorithm", )),
    Mutant("lower-priority-nominations-count", ALGORITHM,
           "nomination.pod->priority() >= pod.priority() &&", "",
           "a pod waits for room that is promised to a less important pod", ("scheduler_algorithm", "corpus")),
    Mutant("a-pod-is-blocked-by-its-own-nomination", ALGORITHM,
           "        nomination.pod->pod->metadata.uid != pod.pod->metadata.uid) {", "        true) {",
           "a preemptor never takes the room that it has made", ("scheduler_algorithm", "corpus")),
    Mutant("unresolvable-nodes-are-preempted", ALGORITHM,
           "  verdicts.unresolvable |= record.excluded;\n", "",
           "pods are evicted from nodes that cannot take the preemptor", ("scheduler_algorithm", "corpus")),
    # --- cluster state ---
    Mutant("assumed-pods-take-no-room", STATE,
           "  ++assumed_;\n  table_.AddPod(row, state->placed);\n", "  ++assumed_;\n",
           "nodes are overcommitted until the binding is seen", ("scheduler_cluster", "scheduler_algorithm")),
    Mutant("forget-removes-bound-pods", STATE,
           "return IsAssumed(uid) && RemovePod(uid);", "return RemovePod(uid);",
           "a late failure of a binding frees the room of a running pod", ("scheduler_cluster", )),
    Mutant("pods-of-a-removed-node-are-lost", STATE,
           "    pods_without_node_[pod.node].push_back(&pod);\n  }\n  table_.Remove(row);",
           "  }\n  table_.Remove(row);",
           "a node that comes back looks empty", ("scheduler_cluster", )),
    Mutant("a-reused-row-keeps-its-images-and-labels", TABLE,
           "  SetLabels(row, node->metadata.labels, false);\n  SetImages(row, node->images, false);\n"
           "  taint_rows_[taints_[row].value].Remove(row);",
           "  SetImages(row, node->images, false);\n  taint_rows_[taints_[row].value].Remove(row);",
           "a new node matches the selectors of the one before it", ("scheduler_cluster", "scheduler_algorithm", "corpus")),
    Mutant("a-change-of-taints-is-not-noted", TABLE,
           "    SetTaints(row, symbols_.InternTaints(node->taints));\n    ++node_changes_;",
           "    SetTaints(row, symbols_.InternTaints(node->taints));",
           "a new taint is ignored for pods of a known shape", ("scheduler_cluster", "scheduler_algorithm")),
    Mutant("a-removed-pod-is-no-change", TABLE,
           "void NodeTable::RemovePod(Row row, PlacedPod& pod) {\n  NoteChange(row);",
           "void NodeTable::RemovePod(Row row, PlacedPod& pod) {",
           "room of a deleted pod is not seen by pods of a known shape", ("scheduler_cluster", "scheduler_algorithm")),
    # --- queue ---
    Mutant("events-in-flight-are-dropped", QUEUE,
           "  for (Entry* entry : entries) Move(*entry, event, objects);\n"
           "  if (!in_flight_.empty()) Note(event, objects);",
           "  for (Entry* entry : entries) Move(*entry, event, objects);",
           "a pod misses the event that would place it", ("scheduler_queue", )),
    Mutant("backoff-does-not-grow", QUEUE,
           "++i) duration *= 2;", "++i) duration *= 1;",
           "a pod that never fits is tried every second", ("scheduler_queue", )),
    Mutant("errors-do-not-reset", QUEUE,
           "    ++pod->unschedulable_count;\n    pod->consecutive_errors = 0;", "    ++pod->unschedulable_count;",
           "a pod waits for a back-off of errors that are over", ("scheduler_queue", "queue_replay")),
    Mutant("deferred-events-are-dropped", QUEUE,
           "  deferred_.push_back({event, objects});\n  with_deferred_ = unschedulable_.size();",
           "  deferred_.push_back({event, objects});",
           "with many rejected pods some are never retried", ("scheduler_queue", )),
    Mutant("gated-pods-follow-every-event", QUEUE,
           "if (pod.gated() && !event.wildcard() && !policy_.IsRegisteredBy(pod.profile, pod.gated_by, event))",
           "if (false)",
           "gates are evaluated at every event", ("scheduler_queue", "queue_replay")),
    # --- cycles ---
    Mutant("unreserve-runs-in-order", "src/scheduler/runtime/placing.cpp",
           "for (auto plugin = reserves_.rbegin(); plugin != reserves_.rend(); ++plugin) {",
           "for (auto plugin = reserves_.begin(); plugin != reserves_.end(); ++plugin) {",
           "plugins release resources in the wrong order", ("scheduler_cycle", )),
    Mutant("a-failed-permit-does-not-unreserve", "src/scheduler/cycle/binding_cycle.cpp",
           "    cycle->profile.RunUnreserve(cycle->placement);\n", "",
           "a rejected pod keeps volumes reserved", ("scheduler_cycle", )),
    # --- preemption ---
    Mutant("budgets-are-not-charged", f"{PLUGINS}/default_preemption/disruption_budgets.cpp",
           "if (--budget.left < 0) return true;", "if (budget.left <= 0) return true;",
           "one preemption evicts more pods than the budget permits", ("scheduler_plugins", )),
    Mutant("pods-within-budgets-are-spared-first", f"{PLUGINS}/default_preemption/dry_run.cpp",
           "  budgets_.Split(trial.pods, order_, harmless_);", "  budgets_.Split(trial.pods, harmless_, order_);",
           "preemption violates budgets without need", ("scheduler_plugins", "corpus")),
    Mutant("more-victims-are-better", f"{PLUGINS}/default_preemption/candidates.cpp",
           "cost.started_ago = -earliest;", "cost.started_ago = earliest;",
           "of equal candidates the one with the oldest pods is chosen", ("scheduler_plugins", "corpus")),
    # --- symbols ---
    Mutant("symbols-in-use-are-removed", "src/scheduler/cluster/symbol_table.cpp",
           "    if (lease.use_count() > 1) return false;\n", "",
           "a waiting pod is placed by the labels of another pod", ("scheduler_cluster", )),
    Mutant("cached-results-keep-deleted-pods", "src/scheduler/cycle/scheduler.cpp",
           "  algorithm_.ReleaseUnused();\n", "",
           "the memory of deleted pods is never returned", ("scheduler_cycle", )),
    Mutant("cached-uses-keep-deleted-pods", STATE,
           "  uses_.ReleaseUnused();\n", "",
           "the memory of deleted pods is never returned", ("scheduler_cluster", )),
    Mutant("large-values-stay-in-the-pools", "src/kubernetes/api/sharing.cpp",
           "    if (digest.bytes() > kLargestShared) return;\n", "",
           "the memory of deleted pods is returned late", ("kubernetes_api", )),
    # --- load-aware plugins ---
    Mutant("estimates-close-nodes-without-an-event", f"{PLUGINS}/load_aware/load_aware.cpp",
           "  return signal.hot().Has(row) || signal.filled().Has(row) || (reject",
           "  return signal.hot().Has(row) || (reject",
           "pods wait although the estimate that rejected them is gone", ("scheduler_plugins", "scheduler_cycle")),
    Mutant("pods-open-nodes-without-an-event", f"{PLUGINS}/load_aware/load_aware.cpp",
           "  if (row) return RefreshRow(*row);", "  if (row) return RefreshScore(*row);",
           "pods wait although a pod was deleted that closed the node", ("scheduler_plugins", "scheduler_cycle")),
    Mutant("measured-nodes-open-without-an-event", f"{PLUGINS}/load_aware/load_aware.cpp",
           " || (reject_unknown_ && signal.unknown().Has(row));", ";",
           "with onOutage: reject, pods wait although the nodes are measured", ("scheduler_plugins", "scheduler_cycle")),
    Mutant("estimates-in-the-filter-have-no-limit", f"{PLUGINS}/load_aware/load_signal.cpp",
           "std::min(PercentOf(unmeasured_pods_.PlacedSince(row), row), max_estimate_)",
           "PercentOf(unmeasured_pods_.PlacedSince(row), row)",
           "a wrong estimate closes nodes that are not busy", ("scheduler_plugins", )),
    # --- decoding ---
    Mutant("skipped-objects-are-not-counted", "src/kubernetes/client/reflector.cpp",
           "  skipped.Add();\n", "",
           "objects that cannot be decoded disappear silently", ("kubernetes_client", )),
    Mutant("skipped-objects-become-deletions", "src/kubernetes/client/reflector.cpp",
           "  skipped_keys.insert(key);\n", "",
           "a repaired object is taken for an unknown one", ("kubernetes_client", )),
]
