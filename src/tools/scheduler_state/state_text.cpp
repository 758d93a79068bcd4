#include "tools/scheduler_state/state_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/text_layout.hpp"
#include "tools/migrate/server.hpp"
#include "tools/scheduler_state/age_text.hpp"
#include "tools/scheduler_state/report_values.hpp"

namespace berth::scheduler_state {
namespace {

using config::Value;
using migrate::ItemsAt;
using migrate::TextAt;
using migrate::TextsAt;

constexpr std::size_t kMostCounts = 5;
constexpr std::size_t kMostReasons = 6;

std::string Counted(std::int64_t count, std::string_view noun) {
  return berth::Counted(static_cast<std::size_t>(std::max<std::int64_t>(0, count)), noun);
}

std::string Line(std::size_t indent, std::string_view text, const StateTextOptions& options) {
  std::string line(indent, ' ');
  AppendWrapped(line, text, indent, options.width == 0 ? SIZE_MAX : std::max(options.width, indent + 20));
  return line + "\n";
}

// "1.5 MiB"
std::string SizeText(std::int64_t bytes) {
  constexpr std::int64_t kKibi = 1024;
  if (bytes < kKibi) return fmt::format("{} B", bytes);
  if (bytes < kKibi * kKibi) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKibi);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kKibi * kKibi));
}

// "3 active, 1 gated": the places with pods.
std::string PlacesText(const Value& queue) {
  std::vector<std::string> parts;
  for (const auto& [name, text] : {std::pair{"active", "active"},
                                   {"backoff", "backoff"},
                                   {"unschedulable", "unschedulable"},
                                   {"gated", "gated"},
                                   {"incomplete", "incomplete"},
                                   {"inFlight", "in flight"}}) {
    if (const std::int64_t pods = NumberAt(queue, name); pods > 0)
      parts.push_back(fmt::format("{} {}", pods, text));
  }
  return parts.empty() ? "empty" : fmt::format("{}", fmt::join(parts, ", "));
}

// "NodeResourcesFit 12, TaintToleration 3": the most frequent ones of a list of counts.
std::string CountsText(const std::vector<Value>& counts, std::string_view name) {
  std::vector<std::string> parts;
  for (const Value& count : counts) {
    if (parts.size() == kMostCounts) {
      parts.push_back(fmt::format("{} more", counts.size() - kMostCounts));
      break;
    }
    const std::string ns = TextAt(count, {"namespace"}), text = TextAt(count, {name});
    parts.push_back(
        fmt::format("{}{}{} {}", ns, ns.empty() || text.empty() ? "" : "/", text, NumberAt(count, "pods")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "nvidia.com/gpu: 12 missing for 5 pods, which request 40; 28 free", or where only one pod is too large for
// each node "cpu: a pod requests 16; at most 8 free on a node".
std::string ShortfallText(const Value& shortfall) {
  const std::string resource = TextAt(shortfall, {"resource"}), missing = TextAt(shortfall, {"missing"});
  if (missing == "0")
    return fmt::format("{}: a pod requests {}; at most {} free on a node", resource,
                       TextAt(shortfall, {"largestRequest"}), TextAt(shortfall, {"largestFree"}));
  const std::int64_t pods = NumberAt(shortfall, "pods");
  return fmt::format("{}: {} missing for {}, which request{} {}; {} free", resource, missing,
                     Counted(pods, "pod"), pods == 1 ? "s" : "", TextAt(shortfall, {"requested"}),
                     TextAt(shortfall, {"free"}));
}

std::string AgeAt(const Value& value, std::string_view name, std::int64_t now) {
  const auto time = TimeAt(value, name);
  return time ? AgeText(now - *time) : "-";
}

// "batch has 31.2% of the cluster's cpu (weight 2)"
std::string ShareText(const Value& tenant) {
  const auto number = [&](const char* name) {
    const Value* value = tenant.Find(name);
    return value == nullptr ? std::string() : value->text;
  };
  const std::string resource = TextAt(tenant, {"resource"}), name = TextAt(tenant, {"name"});
  if (resource.empty()) return name + " uses nothing";
  std::string text = fmt::format("{} has {:.1f}% of the cluster's {}", name,
                                 100 * std::strtod(number("share").c_str(), nullptr), resource);
  if (const std::string weight = number("weight"); weight != "1") text += fmt::format(" (weight {})", weight);
  return text;
}

// The order of tenants decides when the first pod of the tenant is tried.
std::string TenantText(const Value& queue, const StateTextOptions& options) {
  const Value* own = queue.Find("tenant");
  if (own == nullptr) return "";
  std::string text = Line(2, "tenant " + ShareText(*own), options);
  const std::int64_t before = NumberAt(queue, "tenantsBefore");
  if (before == 0) return text + Line(2, "its first pod is the next one that is tried", options);
  std::vector<std::string> parts;
  for (const Value& tenant : ItemsAt(queue, "firstTenants")) parts.push_back(ShareText(tenant));
  // A summary does not name them.
  if (parts.empty())
    return text + Line(2, "before it, one pod each of " + Counted(before, "other tenant"), options);
  if (const auto shown = static_cast<std::int64_t>(parts.size()); shown < before)
    parts.push_back(fmt::format("{} more", before - shown));
  return text + Line(2, fmt::format("before it, one pod each: {}", fmt::join(parts, "; ")), options);
}

// "is unschedulable for 12m, after 4 attempts; the next attempt comes within 3m"
std::string PlaceText(const Value& pod, const StateTextOptions& options) {
  const std::string stage = TextAt(pod, {"stage"});
  if (stage == "scheduling")
    return "is being scheduled: an attempt is in progress, or a Permit plugin delays it";
  if (stage == "binding") return "has a node; its binding is not confirmed yet";
  if (stage != "queued") return "does not wait in the queue: it was bound or deleted";
  const Value* queue = pod.Find("queue");
  if (queue == nullptr) return "waits in the queue";
  std::string text =
      fmt::format("is in the queue ({}) for {}, after {}", TextAt(*queue, {"place"}),
                  AgeAt(*queue, "since", options.now), Counted(NumberAt(*queue, "attempts"), "attempt"));
  if (queue->Find("ahead") != nullptr)
    text += fmt::format("; {}{} before it", Counted(NumberAt(*queue, "ahead"), "pod"),
                        queue->Find("tenant") == nullptr ? "" : " of its tenant");
  if (const auto retry = TimeAt(*queue, "nextRetry")) {
    text += *retry <= options.now
                ? "; the next attempt is due"
                : fmt::format("; the next attempt comes within {}", AgeText(*retry - options.now));
  }
  return text;
}

std::string CausesText(const Value& queue, const StateTextOptions& options) {
  std::string text = TenantText(queue, options);
  if (const auto rejected = TextsAt(queue, "rejectedBy"); !rejected.empty())
    text += Line(2, fmt::format("rejected by {}", fmt::join(rejected, ", ")), options);
  if (const auto waiting = TextsAt(queue, "waitingFor"); !waiting.empty())
    text += Line(2, fmt::format("waits for {}", fmt::join(waiting, ", ")), options);
  if (const std::string gate = TextAt(queue, {"gatedBy"}); !gate.empty())
    text += Line(2, fmt::format("gated by {}", gate), options);
  for (const Value& waking : ItemsAt(queue, "wokenBy")) {
    const auto events = TextsAt(waking, "events");
    text += Line(
        2,
        fmt::format("retried earlier for {} after {}", TextAt(waking, {"plugin"}), fmt::join(events, "; ")),
        options);
  }
  return text;
}

// How many members of the pod's group found a node in the attempt, and why the first of the others did not.
std::string GroupLines(const Value& group, const StateTextOptions& options) {
  const std::int64_t failed = NumberAt(group, "failed"), not_tried = NumberAt(group, "notTried");
  std::string line = fmt::format("group: {} of {} found a node", NumberAt(group, "placed"),
                                 Counted(NumberAt(group, "pending"), "waiting member"));
  if (failed > 0) line += fmt::format(", {} found none", failed);
  if (not_tried > 0) line += fmt::format(", {} not evaluated", not_tried);
  line += fmt::format("; {} needed, {} on nodes before", NumberAt(group, "minCount"),
                      NumberAt(group, "scheduled"));
  std::string text = Line(4, line, options);
  if (const std::vector<Value>& failures = ItemsAt(group, "failures"); !failures.empty()) {
    text += Line(
        4, fmt::format("{}: {}", TextAt(failures.front(), {"pod"}), TextAt(failures.front(), {"message"})),
        options);
  }
  return text;
}

std::string AttemptText(const Value& attempt, const StateTextOptions& options) {
  const std::string node = TextAt(attempt, {"node"}), message = TextAt(attempt, {"message"});
  std::string line =
      fmt::format("attempt {} ago: {}", AgeAt(attempt, "time", options.now), TextAt(attempt, {"result"}));
  if (!node.empty()) line += " on " + node;
  if (const Value* nodes = attempt.Find("nodes"))
    line += fmt::format("; {} of {} fit", NumberAt(*nodes, "feasible"),
                        Counted(NumberAt(*nodes, "total"), "node"));
  std::string text = Line(2, line, options);
  const std::vector<Value>& reasons = ItemsAt(attempt, "reasons");
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    const Value& reason = reasons[i];
    const std::int64_t count = NumberAt(reason, "nodes");
    std::string one = fmt::format("{}: {} [{}]", Counted(count, "node"), TextAt(reason, {"reason"}),
                                  TextAt(reason, {"plugin"}));
    if (reason.Find("nodesBefore") != nullptr && NumberAt(reason, "nodesBefore") != count)
      one += fmt::format("; {} in the attempt before", NumberAt(reason, "nodesBefore"));
    text += Line(4, one, options);
  }
  if (reasons.size() > kMostReasons)
    text +=
        Line(4, Counted(static_cast<std::int64_t>(reasons.size() - kMostReasons), "further reason"), options);
  if (reasons.empty() && !message.empty()) text += Line(4, message, options);
  if (const Value* preemption = attempt.Find("preemption")) {
    const std::string on = TextAt(*preemption, {"node"}), why = TextAt(*preemption, {"message"});
    if (!on.empty()) {
      text += Line(4,
                   fmt::format("preemption: evicts {} from {}",
                               Counted(NumberAt(*preemption, "victimCount"), "pod"), on),
                   options);
    } else if (!why.empty()) {
      text += Line(4, why, options);
    }
  }
  if (const Value* group = attempt.Find("group")) text += GroupLines(*group, options);
  return text;
}

}  // namespace

std::string StatusText(const Value& status, const std::string& where) {
  const Value kNothing = Value::Map();
  const auto part = [&](std::string_view name) -> const Value& {
    const Value* found = status.Find(name);
    return found == nullptr ? kNothing : *found;
  };
  const Value& records = part("records");
  return TextTable({
      {"scheduler", where},
      {"version", "Berth " + TextAt(status, {"version"})},
      {"role", FlagAt(status, "leading") ? "leader" : "standby: it does not schedule"},
      {"view", fmt::format("{}; {}", Counted(NumberAt(status, "nodes"), "node"),
                           FlagAt(status, "synced") ? "complete" : "not complete yet: scheduling waits")},
      {"queue", PlacesText(part("queue"))},
      {"records", fmt::format("{} in {}; {} dropped", Counted(NumberAt(records, "count"), "attempt"),
                              SizeText(NumberAt(records, "bytes")), NumberAt(records, "dropped"))},
  });
}

std::string QueueText(const Value& queue, const StateTextOptions& options) {
  const std::int64_t total = NumberAt(queue, "total");
  if (total == 0) return "No pod waits in the queue.\n";
  std::string text = fmt::format("{} in the queue: {}\n", Counted(total, "pod"),
                                 CountsText(ItemsAt(queue, "places"), "place"));
  for (const auto& [title, list, name] : {std::tuple{"rejected by", "causes", "plugin"},
                                          {"namespaces", "namespaces", ""},
                                          {"owners", "owners", "owner"}}) {
    if (const auto& counts = ItemsAt(queue, list); !counts.empty())
      text += Line(2, fmt::format("{}: {}", title, CountsText(counts, name)), options);
  }
  const std::vector<Value>& shortfall = ItemsAt(queue, "shortfall");
  for (std::size_t i = 0; i < std::min(shortfall.size(), kMostCounts); ++i)
    text += Line(2, ShortfallText(shortfall[i]), options);
  const std::int64_t matching = NumberAt(queue, "matching");
  if (matching == 0) return text + "No pod matches the flags.\n";
  std::vector<TableRow> rows{{"NAMESPACE", "POD", "PLACE", "FOR", "ATTEMPTS", "PRIORITY", "REJECTED BY"}};
  for (const Value& pod : ItemsAt(queue, "pods")) {
    const auto rejected = TextsAt(pod, "rejectedBy");
    rows.push_back({TextAt(pod, {"namespace"}), TextAt(pod, {"name"}), TextAt(pod, {"place"}),
                    AgeAt(pod, "since", options.now), std::to_string(NumberAt(pod, "attempts")),
                    std::to_string(NumberAt(pod, "priority")),
                    rejected.empty() ? "-" : fmt::format("{}", fmt::join(rejected, ", "))});
  }
  text += "\n" + TextTable(rows);
  if (const std::int64_t remaining = NumberAt(queue, "remaining"); remaining > 0)
    text += fmt::format("{} of {} matching pods; --offset and --limit show the others\n", rows.size() - 1,
                        matching);
  return text;
}

std::string PodText(const Value& pod, const std::string& where, const StateTextOptions& options) {
  std::string text = Line(0,
                          fmt::format("{}/{} {} ({})", TextAt(pod, {"namespace"}), TextAt(pod, {"name"}),
                                      PlaceText(pod, options), where),
                          options);
  if (const std::string group = TextAt(pod, {"podGroup"}); !group.empty())
    text += Line(2, "member of pod group " + group, options);
  if (const std::string node = TextAt(pod, {"nominatedNode"}); !node.empty())
    text += Line(2, "nominated to " + node + " after preemption", options);
  if (const Value* queue = pod.Find("queue")) text += CausesText(*queue, options);
  for (const Value& attempt : ItemsAt(pod, "attempts")) text += AttemptText(attempt, options);
  if (const std::int64_t more = NumberAt(pod, "moreAttempts"); more > 0)
    text += Line(2, Counted(more, "older attempt"), options);
  return text;
}

}  // namespace berth::scheduler_state
