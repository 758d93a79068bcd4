#include "scheduler/introspection/report_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json_text.hpp"
#include "scheduler/introspection/amount_text.hpp"

namespace berth::introspection {
namespace {

using record::AttemptRecord;

constexpr std::size_t kMostNames = 10;       // of the nodes with one reason
constexpr std::size_t kMostCandidates = 10;  // of the feasible nodes

void AddTime(JsonObject& object, std::string_view key, const std::optional<WallTime>& time) {
  if (time) object.Add(key, FormatMicroTime(*time));
}

// --- a pod ---

void AppendTenant(std::string& out, const framework::TenantState& tenant) {
  JsonObject object(out);
  object.Add("name", tenant.name);
  object.AddRaw("share", fmt::format("{:.6f}", tenant.share));
  object.AddUnlessEmpty("resource", tenant.resource);
  object.AddRaw("weight", fmt::format("{}", tenant.weight));
  object.AddNumber("waiting", static_cast<std::int64_t>(tenant.waiting));
  object.AddNumber("attemptsWithoutPlacement", static_cast<std::int64_t>(tenant.unsettled));
}

// Who may read only this pod learns nothing about the other tenants but their number.
void AddTenantPlace(JsonObject& queued, const queue::TenantPlace& place, PodView view) {
  AppendTenant(queued.Key("tenant"), place.own);
  queued.AddNumber("tenantsBefore", static_cast<std::int64_t>(place.tenants_before));
  if (view == PodView::kSummary) return;
  AppendJsonList(queued.Key("firstTenants"), place.before, AppendTenant);
}

void AddQueued(JsonObject& pod, const QueuedReport& report, PodView view) {
  JsonObject queued(pod.Key("queue"));
  queued.Add("place", report.place);
  AddTime(queued, "since", report.since);
  AddTime(queued, "firstReady", report.first_ready);
  queued.AddNumber("attempts", report.attempts);
  queued.AddNumber("unschedulableAttempts", report.unschedulable_attempts);
  queued.AddNumber("consecutiveErrors", report.consecutive_errors);
  AddTime(queued, "nextRetry", report.next_retry);
  queued.AddUnlessEmpty("rejectedBy", report.rejected_by);
  queued.AddUnlessEmpty("waitingFor", report.waiting_for);
  queued.AddUnlessEmpty("gatedBy", report.gated_by);
  if (report.place == "active") queued.AddNumber("ahead", static_cast<std::int64_t>(report.ahead));
  if (report.tenant) AddTenantPlace(queued, *report.tenant, view);
  if (report.woken_by.empty()) return;
  AppendJsonList(queued.Key("wokenBy"), report.woken_by, [](std::string& out, const WakingEvents& events) {
    JsonObject one(out);
    one.Add("plugin", events.plugin);
    one.AddUnlessEmpty("events", events.events);
  });
}

// Nodes by plugin and reason.
using Reasons = std::map<std::pair<std::string_view, std::string_view>, RowSet>;

Reasons ReasonsOf(const record::DetachedRecord& attempt) {
  Reasons all;
  const AttemptRecord& record = attempt.record;
  record.ForEachReason(attempt.reasons, [&](std::string_view plugin, std::string_view text,
                                            const RowSet& rows) { all[{plugin, text}] |= rows; });
  if (!record.excluded.Empty()) all[{record.excluding_plugins, record.exclusion_reason}] |= record.excluded;
  return all;
}

void AppendNames(std::string& out, const AttemptRecord& record, const RowSet& rows) {
  std::vector<std::string_view> names;
  rows.ForEach([&](std::size_t row) { names.push_back(record.nodes->by_row[row]); });
  const auto shown = std::min(names.size(), kMostNames);
  std::ranges::partial_sort(names, names.begin() + static_cast<std::ptrdiff_t>(shown));
  names.resize(shown);
  AppendJsonList(out, names, [](std::string& text, std::string_view name) { AppendJsonString(text, name); });
}

// With the number of nodes in the attempt before, if that is known.
void AddReasons(JsonObject& object, const record::DetachedRecord& attempt,
                const record::DetachedRecord* earlier, PodView view) {
  struct Line {
    std::string_view plugin, reason;
    std::size_t nodes;
    const RowSet* rows;
  };
  const Reasons reasons = ReasonsOf(attempt);
  const Reasons before = earlier == nullptr ? Reasons{} : ReasonsOf(*earlier);
  std::vector<Line> lines;
  for (const auto& [key, rows] : reasons) lines.push_back({key.first, key.second, rows.Count(), &rows});
  std::ranges::stable_sort(lines, std::greater(), &Line::nodes);
  if (lines.empty()) return;
  AppendJsonList(object.Key("reasons"), lines, [&](std::string& out, const Line& line) {
    JsonObject one(out);
    one.Add("plugin", line.plugin).Add("reason", line.reason);
    one.AddNumber("nodes", static_cast<std::int64_t>(line.nodes));
    if (earlier != nullptr) {
      const auto found = before.find({line.plugin, line.reason});
      one.AddNumber("nodesBefore",
                    found == before.end() ? 0 : static_cast<std::int64_t>(found->second.Count()));
    }
    if (view != PodView::kSummary) AppendNames(one.Key("names"), attempt.record, *line.rows);
  });
}

void AppendScores(std::string& out, const AttemptRecord& record, std::uint32_t row) {
  std::vector<record::ScoreSnapshot::OfPlugin> plugins;
  for (const auto& plugin : record.scores.plugins()) plugins.push_back(plugin);
  AppendJsonList(out, plugins, [&](std::string& text, const record::ScoreSnapshot::OfPlugin& plugin) {
    JsonObject score(text);
    score.Add("plugin", plugin.plugin());
    score.AddNumber("score", plugin[row]);
    score.AddNumber("weight", plugin.weight());
  });
}

// The nodes with the highest totals; the selected node is the first of them.
void AddCandidates(JsonObject& object, const AttemptRecord& record) {
  if (!record.scored) return;
  AppendJsonList(object.Key("candidates"), record.Ranked(kMostCandidates),
                 [&](std::string& out, std::uint32_t row) {
                   JsonObject one(out);
                   one.Add("node", record.nodes->by_row[row]);
                   one.AddNumber("total", record.Total(row));
                   AppendScores(one.Key("scores"), record, row);
                 });
}

void AddPreemption(JsonObject& object, const AttemptRecord& record, PodView view) {
  if (record.post_filter.empty() && !record.nomination.has_value()) return;
  JsonObject preemption(object.Key("preemption"));
  preemption.AddUnlessEmpty("message", record.post_filter);
  if (!record.nomination.has_value()) return;
  preemption.Add("node", record.nomination->node);
  preemption.AddNumber("victimCount", static_cast<std::int64_t>(record.nomination->victims.size()));
  if (view != PodView::kSummary) preemption.AddUnlessEmpty("victims", record.nomination->victims);
}

// What happened to the pod's group in this attempt. A summary lists neither other members nor other groups.
void AddGroup(JsonObject& object, const AttemptRecord& record, PodView view) {
  if (record.group == nullptr) return;
  JsonObject group(object.Key("group"));
  record::AddMemberCounts(group, *record.group);
  if (view == PodView::kSummary) return;
  record::AddMemberFailures(group, *record.group);
  record::AddTree(group, *record.group);
}

void AppendAttempt(std::string& out, const AttemptReport& attempt, const AttemptReport* earlier,
                   PodView view) {
  const AttemptRecord& record = attempt.attempt->record;
  JsonObject object(out);
  AddTime(object, "time", attempt.at);
  object.Add("result", record::ResultName(record.result));
  object.AddUnlessEmpty("message", record.message);
  object.AddUnlessEmpty("node", record.SelectedNode());
  {
    JsonObject nodes(object.Key("nodes"));
    nodes.AddNumber("total", static_cast<std::int64_t>(record.all.Count()));
    nodes.AddNumber("feasible", static_cast<std::int64_t>(record.feasible.Count()));
    if (record.sampled) nodes.AddRaw("sampled", "true");
  }
  AddReasons(object, *attempt.attempt, earlier == nullptr ? nullptr : earlier->attempt.get(), view);
  AddPreemption(object, record, view);
  AddGroup(object, record, view);
  if (view == PodView::kSummary) return;
  AddCandidates(object, record);
  if (view == PodView::kRecords) object.AddRaw("record", record::ToJson(record, attempt.attempt->reasons));
}

// --- the queue ---

std::string OwnerOf(const api::Pod& pod) {
  const api::CowPtr<api::OwnerReference>& owner = pod.metadata.controller;
  return owner ? owner->kind + "/" + owner->name : "";
}

struct Counted {
  std::string ns, name;
  std::size_t pods = 0;
};
using Counts = std::map<std::pair<std::string, std::string>, std::size_t>;

// Those with most pods first.
std::vector<Counted> Most(const Counts& counts, std::size_t most) {
  std::vector<Counted> all;
  for (const auto& [key, pods] : counts) all.push_back({key.first, key.second, pods});
  std::ranges::stable_sort(all, std::greater(), &Counted::pods);
  if (all.size() > most) all.resize(most);
  return all;
}

void AddCounts(JsonObject& object, std::string_view key, std::string_view name, const Counts& counts,
               std::size_t most = kMostGroups) {
  AppendJsonList(object.Key(key), Most(counts, most), [&](std::string& out, const Counted& counted) {
    JsonObject one(out);
    one.AddUnlessEmpty("namespace", counted.ns);
    one.AddUnlessEmpty(name, counted.name);
    one.AddNumber("pods", static_cast<std::int64_t>(counted.pods));
  });
}

bool Passes(const QueueRow& row, const QueueFilter& filter) {
  return (filter.ns.empty() || row.pod->metadata.ns == filter.ns) &&
         (filter.place.empty() || row.place == filter.place) &&
         (filter.plugin.empty() ||
          std::ranges::find(row.rejected_by, filter.plugin) != row.rejected_by.end());
}

void AppendRow(std::string& out, const QueueRow& row) {
  JsonObject object(out);
  object.Add("namespace", row.pod->metadata.ns).Add("name", row.pod->metadata.name).Add("place", row.place);
  AddTime(object, "since", row.since);
  object.AddNumber("attempts", row.attempts);
  object.AddNumber("priority", row.pod->spec.priority);
  object.AddUnlessEmpty("owner", OwnerOf(*row.pod));
  object.AddUnlessEmpty("rejectedBy", row.rejected_by);
}

// The largest missing part first.
void AddShortfall(JsonObject& object, std::vector<ResourceShortfall> shortfall) {
  const auto missing = [](const ResourceShortfall& one) {
    return std::max<std::int64_t>(0, one.requested - one.free);
  };
  std::ranges::stable_sort(shortfall, std::greater(), [&](const ResourceShortfall& one) {
    return static_cast<double>(missing(one)) / static_cast<double>(one.requested);
  });
  AppendJsonList(object.Key("shortfall"), shortfall, [&](std::string& out, const ResourceShortfall& one) {
    JsonObject resource(out);
    resource.Add("resource", one.resource);
    resource.AddNumber("pods", static_cast<std::int64_t>(one.pods));
    resource.Add("requested", AmountText(one.resource, one.requested));
    resource.Add("free", AmountText(one.resource, one.free));
    resource.Add("missing", AmountText(one.resource, missing(one)));
    resource.Add("largestRequest", AmountText(one.resource, one.largest_request));
    resource.Add("largestFree", AmountText(one.resource, one.largest_free));
  });
}

void AddPods(JsonObject& object, std::span<const QueueRow> rows, const QueueFilter& filter) {
  std::vector<const QueueRow*> chosen;
  for (const QueueRow& row : rows) {
    if (Passes(row, filter)) chosen.push_back(&row);
  }
  const auto order = [](const QueueRow* row) {
    return std::tie(row->since, row->pod->metadata.ns, row->pod->metadata.name);
  };
  std::ranges::sort(chosen, {}, order);
  const std::size_t begin = std::min(filter.offset, chosen.size());
  const std::size_t end = std::min(chosen.size(), begin + filter.limit);
  object.AddNumber("matching", static_cast<std::int64_t>(chosen.size()));
  object.AddNumber("remaining", static_cast<std::int64_t>(chosen.size() - end));
  AppendJsonList(object.Key("pods"), std::span(chosen).subspan(begin, end - begin),
                 [](std::string& out, const QueueRow* row) { AppendRow(out, *row); });
}

}  // namespace

std::string PodJson(const PodReport& report, PodView view) {
  std::string out;
  JsonObject pod(out);
  pod.Add("namespace", report.ns).Add("name", report.name);
  pod.AddUnlessEmpty("uid", report.uid);
  pod.AddUnlessEmpty("schedulerName", report.scheduler_name);
  pod.AddUnlessEmpty("podGroup", report.group);
  if (report.stage != PodStage::kGone) pod.AddNumber("priority", report.priority);
  pod.AddUnlessEmpty("nominatedNode", report.nominated_node);
  pod.Add("stage", NameOf(report.stage));
  if (report.queued) AddQueued(pod, *report.queued, view);
  std::size_t number = 0;
  AppendJsonList(pod.Key("attempts"), report.attempts, [&](std::string& text, const AttemptReport& attempt) {
    ++number;
    AppendAttempt(text, attempt, number < report.attempts.size() ? &report.attempts[number] : nullptr, view);
  });
  if (report.more_attempts > 0)
    pod.AddNumber("moreAttempts", static_cast<std::int64_t>(report.more_attempts));
  pod.Close();
  return out;
}

std::string QueueJson(const QueueReport& report, const QueueFilter& filter) {
  const std::span<const QueueRow> rows = report.rows;
  Counts places, plugins, namespaces, owners;
  for (const QueueRow& row : rows) {
    ++places[{"", row.place}];
    ++namespaces[{row.pod->metadata.ns, ""}];
    if (std::string owner = OwnerOf(*row.pod); !owner.empty())
      ++owners[{row.pod->metadata.ns, std::move(owner)}];
    for (const std::string& plugin : row.rejected_by) ++plugins[{"", plugin}];
  }
  std::string out;
  JsonObject object(out);
  object.AddNumber("total", static_cast<std::int64_t>(rows.size()));
  AddCounts(object, "places", "place", places);
  AddCounts(object, "causes", "plugin", plugins);
  AddCounts(object, "namespaces", "", namespaces);
  AddCounts(object, "owners", "owner", owners);
  AddShortfall(object, report.shortfall);
  AddPods(object, rows, filter);
  object.Close();
  return out;
}

std::string StatusJson(const StatusReport& report, const Identity& identity) {
  std::string out;
  JsonObject object(out);
  object.Add("version", identity.version);
  object.AddRaw("leading", identity.leading ? "true" : "false");
  object.AddRaw("synced", report.synced ? "true" : "false");
  object.AddNumber("nodes", static_cast<std::int64_t>(report.nodes));
  {
    JsonObject queue(object.Key("queue"));
    const queue::QueueSizes& sizes = report.queue;
    for (const auto& [key, size] : {std::pair{"active", sizes.active},
                                    {"backoff", sizes.backoff},
                                    {"unschedulable", sizes.unschedulable},
                                    {"gated", sizes.gated},
                                    {"incomplete", sizes.incomplete},
                                    {"inFlight", sizes.in_flight}})
      queue.AddNumber(key, static_cast<std::int64_t>(size));
  }
  JsonObject records(object.Key("records"));
  records.AddNumber("count", static_cast<std::int64_t>(report.records));
  records.AddNumber("bytes", static_cast<std::int64_t>(report.record_bytes));
  records.AddNumber("dropped", static_cast<std::int64_t>(report.records_dropped));
  records.Close();
  object.Close();
  return out;
}

}  // namespace berth::introspection
