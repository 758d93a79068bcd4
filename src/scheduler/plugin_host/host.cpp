// The functions of berth_host. They are called by foreign code and never throw.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "observability/log/log.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugin_host/handles.hpp"

namespace berth::plugin_host {
namespace {

using cluster::NodeTable;
using cluster::ResourceId;
using cluster::Row;

constexpr std::size_t kMaxReasons = 256;
constexpr std::size_t kMaxSignals = 16;
// Size of the struct in version 1.0.
constexpr std::size_t kFirstSignal = offsetof(berth_signal, expression) + sizeof(berth_signal::expression);

const char* OrEmpty(const char* text) { return text != nullptr ? text : ""; }
const char* TextOf(const std::string* text) { return text != nullptr ? text->c_str() : nullptr; }
const api::Pod& PodOf(const berth_pod* pod) { return *reinterpret_cast<const api::Pod*>(pod); }

// --- logs and replies ---

void Log(const berth_scheduler* scheduler, std::int32_t level, const char* text) {
  const std::string_view plugin = scheduler->name;
  if (level <= -2) return log::Error(OrEmpty(text), {{"plugin", plugin}});
  if (level == -1) return log::Warning(OrEmpty(text), {{"plugin", plugin}});
  if (const auto log = log::V(level)) log.Info(OrEmpty(text), {{"plugin", plugin}});
}

std::int32_t LogWanted(std::int32_t level) { return level <= 0 || log::V(level) ? 1 : 0; }

void AddReason(berth_reply* reply, const char* text) { reply->texts.emplace_back(OrEmpty(text)); }

void OnlyNodes(berth_reply* reply, const char* const* names, std::size_t count) {
  auto& only = reply->only.emplace();
  for (std::size_t i = 0; i < count; ++i) only.emplace_back(OrEmpty(names[i]));
}

// --- arguments ---

// Returns whether the field is present and was read; else `value` is unchanged.
template <class T>
bool Take(berth_reply* reply, const char* field, T& value) {
  if (reply->arguments == nullptr) return false;
  ArgumentReader& arguments = *reply->arguments;
  arguments.used = true;
  arguments.fields.Read(OrEmpty(field), value);
  // After a value of a wrong type the plugin is rejected.
  return arguments.fields.Has(OrEmpty(field)) && !arguments.problems.fatal();
}

void TakeInt(berth_reply* reply, const char* field, std::int64_t* value) { Take(reply, field, *value); }
void TakeNumber(berth_reply* reply, const char* field, double* value) { Take(reply, field, *value); }
void TakeBool(berth_reply* reply, const char* field, std::int32_t* value) {
  if (bool taken = false; Take(reply, field, taken)) *value = taken ? 1 : 0;
}
void TakeText(berth_reply* reply, const char* field, const char** value) {
  if (std::string taken; Take(reply, field, taken))
    *value = reply->arguments->texts.emplace_back(std::move(taken)).c_str();
}

// --- declarations in create ---

std::uint32_t Resource(berth_scheduler* scheduler, const char* name) {
  if (std::string_view(OrEmpty(name)) == "pods") return BERTH_PODS;
  return scheduler->handle.symbols.InternResource(OrEmpty(name)).value;
}

std::uint32_t RegisterSignal(berth_scheduler* scheduler, const berth_signal* wanted, berth_reply* reply) {
  constexpr std::uint32_t kRefused = UINT32_MAX;
  const auto refuse = [&](const char* text) {
    AddReason(reply, text);
    return kRefused;
  };
  if (wanted == nullptr || wanted->size < kFirstSignal)
    return refuse("signal: its size is not that of berth_signal");
  load_metrics::SignalSpec spec;
  spec.name = OrEmpty(wanted->name);
  spec.source = OrEmpty(wanted->source);
  spec.expression = OrEmpty(wanted->expression);
  if (spec.name.empty() || spec.source.empty() || spec.expression.empty())
    return refuse("signal: needs name, source and expression");
  if (wanted->hold_seconds != 0) spec.hold = std::chrono::seconds(wanted->hold_seconds);
  if (scheduler->signals.size() == kMaxSignals) return refuse("signal: a plugin can have 16");
  const auto id = scheduler->handle.signals.Declare(spec);
  scheduler->signals.push_back(static_cast<std::uint32_t>(id));
  return static_cast<std::uint32_t>(id);
}

// --- pods ---

const char* PodName(const berth_pod* pod) { return PodOf(pod).metadata.name.c_str(); }
const char* PodNamespace(const berth_pod* pod) { return PodOf(pod).metadata.ns.c_str(); }
const char* PodUid(const berth_pod* pod) { return PodOf(pod).metadata.uid.c_str(); }
const char* PodSchedulerName(const berth_pod* pod) { return PodOf(pod).spec.scheduler_name.c_str(); }
std::int32_t PodPriority(const berth_pod* pod) { return PodOf(pod).spec.priority; }
const char* PodLabel(const berth_pod* pod, const char* key) {
  return TextOf(PodOf(pod).metadata.labels.Find(OrEmpty(key)));
}
const char* PodAnnotation(const berth_pod* pod, const char* key) {
  return TextOf(PodOf(pod).metadata.Annotation(OrEmpty(key)));
}

// --- the attempt ---

const NodeTable& NodesOf(const berth_attempt* attempt) { return attempt->attempt.nodes(); }

std::int64_t AmountOf(const cluster::Amounts& amounts, std::uint32_t resource) {
  if (resource == BERTH_PODS) return 1;
  return amounts.Of(ResourceId{resource});
}

const berth_pod* ThePod(const berth_attempt* attempt) { return HandleOf(*attempt->attempt.pod().pod); }

std::int64_t Request(const berth_attempt* attempt, std::uint32_t resource) {
  return AmountOf(attempt->attempt.pod().fit(), resource);
}

void* DataIn(const framework::CycleState& state, const berth_scheduler& scheduler) {
  const PluginData* data = state.Read(scheduler.data);
  return data != nullptr ? data->get() : nullptr;
}

void SetDataIn(framework::CycleState& state, const berth_scheduler& scheduler, void* data,
               void (*destroy)(void*)) {
  state.Write(scheduler.data, PluginData(data, [destroy](void* kept) {
                if (destroy != nullptr && kept != nullptr) destroy(kept);
              }));
}

void* Data(const berth_attempt* attempt) { return DataIn(attempt->attempt.state(), attempt->scheduler); }
void SetData(const berth_attempt* attempt, void* data, void (*destroy)(void*)) {
  SetDataIn(attempt->attempt.state(), attempt->scheduler, data, destroy);
}

// --- one node ---

// Rows come from foreign code; a row that does not exist reads as an empty row instead of invalid memory.
bool HasNode(const berth_attempt* attempt, std::uint32_t row) { return NodesOf(attempt).all().Has(row); }

const char* NodeName(const berth_attempt* attempt, std::uint32_t row) {
  return HasNode(attempt, row) ? NodesOf(attempt).name(row).c_str() : "";
}
const char* NodeLabel(const berth_attempt* attempt, std::uint32_t row, const char* key) {
  if (!HasNode(attempt, row)) return nullptr;
  return TextOf(NodesOf(attempt).node(row).metadata.labels.Find(OrEmpty(key)));
}
const char* NodeAnnotation(const berth_attempt* attempt, std::uint32_t row, const char* key) {
  if (!HasNode(attempt, row)) return nullptr;
  return TextOf(NodesOf(attempt).node(row).metadata.Annotation(OrEmpty(key)));
}

const std::int64_t* Allocatable(const berth_attempt* attempt, std::uint32_t resource) {
  if (resource == BERTH_PODS) return NodesOf(attempt).allowed_pods().data();
  const auto column = NodesOf(attempt).allocatable(ResourceId{resource});
  return column.empty() ? nullptr : column.data();
}
const std::int64_t* Requested(const berth_attempt* attempt, std::uint32_t resource) {
  if (resource == BERTH_PODS) return NodesOf(attempt).pod_count().data();
  const auto column = NodesOf(attempt).requested(ResourceId{resource});
  return column.empty() ? nullptr : column.data();
}

std::int64_t Entry(const berth_attempt* attempt, const std::int64_t* column, std::uint32_t row) {
  return column != nullptr && row < NodesOf(attempt).rows() ? column[row] : 0;
}
std::int64_t NodeAllocatable(const berth_attempt* attempt, std::uint32_t row, std::uint32_t resource) {
  return Entry(attempt, Allocatable(attempt, resource), row);
}
std::int64_t NodeRequested(const berth_attempt* attempt, std::uint32_t row, std::uint32_t resource) {
  return Entry(attempt, Requested(attempt, resource), row);
}

std::size_t NodePods(const berth_attempt* attempt, std::uint32_t row) {
  return HasNode(attempt, row) ? NodesOf(attempt).pods(row).size() : 0;
}
const cluster::PlacedPod* PlacedAt(const berth_attempt* attempt, std::uint32_t row, std::size_t index) {
  return index < NodePods(attempt, row) ? NodesOf(attempt).pods(row)[index] : nullptr;
}
const berth_pod* NodePod(const berth_attempt* attempt, std::uint32_t row, std::size_t index) {
  const cluster::PlacedPod* placed = PlacedAt(attempt, row, index);
  return placed != nullptr ? HandleOf(*placed->pod) : nullptr;
}
std::int64_t NodePodRequest(const berth_attempt* attempt, std::uint32_t row, std::size_t index,
                            std::uint32_t resource) {
  const cluster::PlacedPod* placed = PlacedAt(attempt, row, index);
  return placed != nullptr ? AmountOf(placed->use().requested, resource) : 0;
}

// --- all nodes ---

std::size_t Rows(const berth_attempt* attempt) { return NodesOf(attempt).rows(); }

void AddRowsWithLabel(const berth_attempt* attempt, const char* key, const char* value,
                      std::uint64_t* words) {
  const NodeTable& nodes = NodesOf(attempt);
  const cluster::SymbolTable& symbols = nodes.symbols();
  const cluster::LabelKeyId key_id = symbols.FindKey(OrEmpty(key));
  if (!key_id.known()) return;
  const std::size_t rows = nodes.rows();
  const auto add = [&](std::size_t row) {
    if (row < rows) BERTH_ADD_ROW(words, row);
  };
  if (value == nullptr) {
    if (const RowSet* with = nodes.WithKey(key_id)) with->ForEach(add);
  } else if (const auto* with = nodes.WithLabel(symbols.FindLabel(key_id, value))) {
    with->ForEach(add);
  }
}

const double* SignalColumn(const berth_attempt* attempt, std::uint32_t signal, std::size_t* count) {
  *count = 0;
  berth_scheduler& scheduler = attempt->scheduler;
  if (std::ranges::find(scheduler.signals, signal) == scheduler.signals.end()) return nullptr;
  const auto& values = scheduler.handle.signals.signal(static_cast<load_metrics::SignalId>(signal)).values;
  *count = values.size();
  return values.data();
}

// --- a filter's result ---

void Wrong(berth_rejections* rejections, std::string what) {
  if (rejections->wrong.empty()) rejections->wrong = std::move(what);
}

// Sets have one word more than necessary, in which writes beyond the last row are detected.
std::size_t RowsWithGuard(const berth_rejections* rejections) { return rejections->rows + RowSet::kWordBits; }

RowSet* RejectSet(berth_rejections* rejections, const char* reason) {
  auto& known = rejections->scheduler.reasons;
  auto found = known.find(std::string_view(OrEmpty(reason)));
  if (found == known.end()) {
    if (known.size() == kMaxReasons) {
      Wrong(rejections,
            fmt::format("more than {} different reasons: reasons must be shared by many nodes", kMaxReasons));
      return nullptr;
    }
    found =
        known.emplace(OrEmpty(reason), rejections->scheduler.handle.reasons.Intern(OrEmpty(reason))).first;
  }
  return &rejections->out.Reject(found->second, RowsWithGuard(rejections));
}

std::uint64_t* Reject(berth_rejections* rejections, const char* reason) {
  RowSet* set = RejectSet(rejections, reason);
  return set != nullptr ? set->MutableWords() : nullptr;
}

void RejectRows(berth_rejections* rejections, const char* reason, const std::uint32_t* rows,
                std::size_t count) {
  if (count > rejections->rows)
    return Wrong(rejections, fmt::format("reject_rows: {} rows of a table of {}", count, rejections->rows));
  RowSet* set = RejectSet(rejections, reason);
  for (std::size_t i = 0; set != nullptr && i < count; ++i) {
    if (rows[i] >= rejections->rows)
      return Wrong(rejections,
                   fmt::format("reject_rows: row {} of a table of {}", rows[i], rejections->rows));
    set->Add(rows[i]);
  }
}

std::uint64_t* Unresolvable(berth_rejections* rejections) {
  rejections->out.unresolvable().Resize(RowsWithGuard(rejections));
  return rejections->out.unresolvable().MutableWords();
}

void MarkPending(berth_rejections* rejections) { rejections->out.MarkPending(); }

void FailRow(berth_rejections* rejections, std::uint32_t row, const char* text) {
  if (row >= rejections->rows)
    return Wrong(rejections, fmt::format("fail_row: row {} of a table of {}", row, rejections->rows));
  rejections->out.Fail(row, OrEmpty(text));
}

// --- placements ---

const berth_pod* PlacementPod(const berth_placement* placement) {
  return HandleOf(*placement->placement.pod.pod);
}
const char* PlacementNode(const berth_placement* placement) { return placement->placement.node.c_str(); }
void* PlacementData(const berth_placement* placement) {
  return DataIn(placement->placement.state, placement->scheduler);
}
void SetPlacementData(const berth_placement* placement, void* data, void (*destroy)(void*)) {
  SetDataIn(placement->placement.state, placement->scheduler, data, destroy);
}
std::int32_t StopRequested(const berth_placement* placement) {
  return placement->stop != nullptr && placement->stop->stop_requested() ? 1 : 0;
}

// The plugin may have been destroyed when the loop executes this; the waiting pod is looked up by UID.
template <class Do>
void WithWaitingPod(berth_scheduler* scheduler, const char* uid, Do what) {
  scheduler->poster(
      [&handle = scheduler->handle, uid = std::string(OrEmpty(uid)), what = std::move(what)]() mutable {
        if (framework::WaitingPod* waiting = handle.scheduler.FindWaitingPod(uid)) what(*waiting);
      });
}

void Allow(berth_scheduler* scheduler, const char* uid) {
  WithWaitingPod(scheduler, uid,
                 [name = scheduler->name](framework::WaitingPod& waiting) { waiting.Allow(name); });
}

void Deny(berth_scheduler* scheduler, const char* uid, const char* reason) {
  WithWaitingPod(
      scheduler, uid,
      [name = scheduler->name, reason = std::string(OrEmpty(reason))](
          framework::WaitingPod& waiting) mutable { (void)waiting.Reject(name, std::move(reason)); });
}

}  // namespace

const berth_host& Host() {
  static constexpr berth_host kHost = {
      .size = sizeof(berth_host),
      .version = BERTH_PLUGIN_VERSION,
      .log = Log,
      .log_wanted = LogWanted,
      .add_reason = AddReason,
      .take_int = TakeInt,
      .take_bool = TakeBool,
      .take_number = TakeNumber,
      .take_text = TakeText,
      .resource = Resource,
      .register_signal = RegisterSignal,
      .pod_name = PodName,
      .pod_namespace = PodNamespace,
      .pod_uid = PodUid,
      .pod_scheduler_name = PodSchedulerName,
      .pod_priority = PodPriority,
      .pod_label = PodLabel,
      .pod_annotation = PodAnnotation,
      .pod = ThePod,
      .request = Request,
      .data = Data,
      .set_data = SetData,
      .only_nodes = OnlyNodes,
      .node_name = NodeName,
      .node_label = NodeLabel,
      .node_annotation = NodeAnnotation,
      .node_allocatable = NodeAllocatable,
      .node_requested = NodeRequested,
      .node_pods = NodePods,
      .node_pod = NodePod,
      .node_pod_request = NodePodRequest,
      .rows = Rows,
      .allocatable = Allocatable,
      .requested = Requested,
      .add_rows_with_label = AddRowsWithLabel,
      .signal = SignalColumn,
      .reject = Reject,
      .reject_rows = RejectRows,
      .unresolvable = Unresolvable,
      .mark_pending = MarkPending,
      .fail_row = FailRow,
      .placement_pod = PlacementPod,
      .placement_node = PlacementNode,
      .placement_data = PlacementData,
      .set_placement_data = SetPlacementData,
      .stop_requested = StopRequested,
      .allow = Allow,
      .deny = Deny,
  };
  return kHost;
}

}  // namespace berth::plugin_host
