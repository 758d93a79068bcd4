// Reports about a node, preemptions and plugins, which search the newest records.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "scheduler/introspection/inspector.hpp"

namespace berth::introspection {
namespace {

// A record is searched in a microsecond or two, and one with reasons that differ from node to node in about
// ten.
constexpr std::uint64_t kRecordsSearchedPerStep = 50;
// A search ends after these; the answer states how far it reaches.
constexpr std::uint64_t kMostRecordsSearched = 5'000;
// Whether a record has a nomination is found much faster.
constexpr std::uint64_t kNominationsPerStep = 1'000;
constexpr std::uint64_t kMostNominationsSearched = 100'000;

// The newest records, in steps.
struct RecordSearch {
  std::uint64_t before = 0;
  std::uint64_t end = 0;  // the number of the first record that is not searched
  SearchedRecords searched;

  void Begin(const record::RecordRing& records, WallTime now, std::uint64_t most = kMostRecordsSearched) {
    before = records.end();
    end = before - std::min<std::uint64_t>(most, records.size());
    searched.since = now;
  }
  // One step. Returns whether it was the last one.
  template <class Visit>
  bool Step(const record::RecordRing& records, Visit&& visit,
            std::uint64_t per_step = kRecordsSearchedPerStep) {
    const std::uint64_t left = before - std::min(before, end);
    before = records.ForEachBefore(before, std::min(per_step, left),
                                   [&](const record::AttemptRecord& record, WallTime at) {
                                     ++searched.attempts;
                                     searched.since = at;
                                     visit(record, at);
                                   });
    return before <= std::max(end, records.first());
  }
};

std::vector<NodeResource> ResourcesOf(const cluster::Amounts& amounts, const cluster::SymbolTable& symbols) {
  std::vector<NodeResource> all;
  const auto add = [&](cluster::ResourceId resource, std::int64_t amount) {
    if (amount != 0) all.push_back({symbols.ResourceName(resource), amount});
  };
  add(cluster::kCpu, amounts.milli_cpu);
  add(cluster::kMemory, amounts.memory);
  add(cluster::kEphemeralStorage, amounts.ephemeral_storage);
  for (const auto& [resource, amount] : amounts.scalars) add(resource, amount);
  return all;
}

// --- one node ---

struct NodeSearch {
  Inspector::Parts parts;
  std::string name;
  Inspector::TakeNode take;
  std::shared_ptr<cycle::LongestStep> longest_step;
  NodeReport report{};
  RecordSearch records{};
};

void DescribePods(cluster::Row row, NodeSearch& search) {
  const cluster::NodeTable& nodes = search.parts.cluster.nodes();
  NodeReport& report = search.report;
  report.pod_count = nodes.pods(row).size();
  for (const cluster::PlacedPod* placed : nodes.pods(row)) {
    const bool assumed = search.parts.cluster.IsAssumed(placed->pod->metadata.uid);
    report.assumed_count += assumed ? 1 : 0;
    if (report.pods.size() == kMostPodsOnNode) continue;
    report.pods.push_back({placed->pod, assumed, ResourcesOf(placed->use().requested, nodes.symbols())});
  }
  const cluster::NodeNameId id = nodes.name_id(row);
  for (const auto& [uid, nomination] : search.parts.scheduler.queue().nominator().all()) {
    if (nomination.node == id && report.nominated.size() < kMostNominated)
      report.nominated.push_back(nomination.pod->info.pod->metadata.Key());
  }
}

// Returns false if the node does not exist.
bool DescribeNode(NodeSearch& search) {
  const cluster::NodeTable& nodes = search.parts.cluster.nodes();
  const cluster::Row row = nodes.Find(search.name);
  if (row == cluster::kNoRow) return false;
  search.report.node = nodes.shared_node(row);
  for (const auto& [name, quantity] : search.report.node->allocatable) {
    if (name == "pods") {
      search.report.requested.push_back({name, nodes.pod_count()[row]});
    } else if (const cluster::ResourceId resource = nodes.symbols().FindResource(name); resource.known()) {
      search.report.requested.push_back({name, nodes.RequestedOn(row, resource)});
    }
  }
  DescribePods(row, search);
  return true;
}

void AddRejections(const record::AttemptRecord& record, WallTime at, NodeSearch& search) {
  if (record.nodes == nullptr) return;
  // The node may have had another row at that time.
  const auto& names = record.nodes->by_row;
  const cluster::NodeTable& nodes = search.parts.cluster.nodes();
  cluster::Row row = nodes.Find(search.name);
  if (row == cluster::kNoRow || row >= names.size() || names[row] != search.name) return;
  std::string_view plugin;
  for (const std::string& reason : record.ReasonsOf(row, search.parts.reasons, plugin)) {
    NodeRejection& rejection = search.report.rejections[{std::string(plugin), reason}];
    rejection.last = std::max(rejection.last, at);
    if (rejection.pods.size() < kMostRejectedPods || rejection.pods.contains(record.pod)) {
      rejection.pods.try_emplace(record.pod, at);  // the newest attempt comes first
    } else {
      ++rejection.more_pods;
    }
  }
}

void Continue(std::unique_ptr<NodeSearch> search) {
  const cycle::LongestStep::Step step(search->longest_step);
  const bool ended = search->records.Step(
      search->parts.scheduler.records(),
      [&](const record::AttemptRecord& record, WallTime at) { AddRejections(record, at, *search); });
  if (ended) {
    search->report.searched = search->records.searched;
    return search->take(std::move(search->report));
  }
  cycle::ClusterLoop& loop = search->parts.loop;
  loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
}

// --- preemptions ---

struct PreemptionSearch {
  Inspector::Parts parts;
  Inspector::TakePreemptions take;
  std::shared_ptr<cycle::LongestStep> longest_step;
  PreemptionsReport report{};
  RecordSearch records{};
};

void AddPreemption(const record::AttemptRecord& record, WallTime at, PreemptionsReport& report) {
  if (!record.nomination) return;
  if (report.preemptions.size() == kMostPreemptions) {
    ++report.more;
    return;
  }
  const std::vector<std::string>& victims = record.nomination->victims;
  PreemptionReport& added = report.preemptions.emplace_back(
      PreemptionReport{record.pod, at, record.post_filter, record.nomination->node, {}, victims.size()});
  added.victims.assign(victims.begin(),
                       victims.begin() + static_cast<std::ptrdiff_t>(std::min(victims.size(), kMostVictims)));
}

void Continue(std::unique_ptr<PreemptionSearch> search) {
  const cycle::LongestStep::Step step(search->longest_step);
  const bool ended = search->records.Step(
      search->parts.scheduler.records(),
      [&](const record::AttemptRecord& record, WallTime at) { AddPreemption(record, at, search->report); },
      kNominationsPerStep);
  if (ended) {
    search->report.searched = search->records.searched;
    return search->take(std::move(search->report));
  }
  cycle::ClusterLoop& loop = search->parts.loop;
  loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
}

// --- plugins ---

struct PluginSearch {
  Inspector::Parts parts;
  Inspector::TakePlugins take;
  std::shared_ptr<cycle::LongestStep> longest_step;
  PluginsReport report{};
  RecordSearch records{};
};

ProfilePlugins DescribeProfile(const runtime::Profile& profile) {
  ProfilePlugins report{.name = profile.name(), .points = {}, .plugins = {}, .uses = {}, .rejections = {}};
  for (const runtime::Profile::PointPlugins& point : profile.ListPlugins()) {
    ProfilePlugins::Point& added =
        report.points.emplace_back(ProfilePlugins::Point{std::string(point.point), {}});
    for (const auto& [name, weight] : point.plugins) added.plugins.emplace_back(std::string(name), weight);
  }
  const runtime::MetricsRecorder* recorder = profile.metrics_recorder();
  if (recorder == nullptr) return report;
  for (const auto& use : recorder->PluginUses()) {
    report.plugins.push_back({std::string(use.plugin), std::string(runtime::ExtensionPointName(use.point)),
                              use.evaluations, use.seconds > 0 ? std::optional(use.seconds) : std::nullopt});
  }
  for (const auto& use : recorder->PointUses()) {
    report.uses.push_back({std::string(runtime::ExtensionPointName(use.point)),
                           std::string(framework::CodeName(use.code)), use.calls, use.seconds});
  }
  return report;
}

void CountRejections(const record::AttemptRecord& record, PluginSearch& search) {
  const auto profile =
      std::ranges::find(search.report.profiles, record.scheduler_name,
                        [](const ProfilePlugins& one) { return std::string_view(one.name); });
  if (profile == search.report.profiles.end()) return;
  std::map<std::string_view, std::uint64_t> nodes;
  if (record.pre_filter) nodes[record.pre_filter->plugin] += record.all.Count();
  for (const record::Rejection& rejection : record.rejections)
    nodes[rejection.plugin] += rejection.rows.Count();
  for (const record::PluginReasons& part : record.row_reasons) nodes[part.plugin] += part.reasons.rows.size();
  for (const auto& [plugin, rejected] : nodes) {
    PluginRejections& of_plugin = profile->rejections[std::string(plugin)];
    ++of_plugin.attempts;
    of_plugin.nodes += rejected;
  }
}

void Continue(std::unique_ptr<PluginSearch> search) {
  const cycle::LongestStep::Step step(search->longest_step);
  const bool ended = search->records.Step(
      search->parts.scheduler.records(),
      [&](const record::AttemptRecord& record, WallTime) { CountRejections(record, *search); });
  if (ended) {
    search->report.searched = search->records.searched;
    return search->take(std::move(search->report));
  }
  cycle::ClusterLoop& loop = search->parts.loop;
  loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
}

}  // namespace

void Inspector::ReportNode(std::string name, TakeNode take) const {
  auto search =
      std::make_unique<NodeSearch>(NodeSearch{parts_, std::move(name), std::move(take),
                                              cycle::LongestStep::Of("node", parts_.metrics, parts_.clock)});
  parts_.loop.Post([search = std::move(search)]() mutable {
    const cycle::LongestStep::Step step(search->longest_step);
    if (!DescribeNode(*search)) return search->take(std::nullopt);
    search->records.Begin(search->parts.scheduler.records(), search->parts.clock.WallNow());
    cycle::ClusterLoop& loop = search->parts.loop;
    loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
  });
}

void Inspector::ReportPreemptions(TakePreemptions take) const {
  auto search = std::make_unique<PreemptionSearch>(PreemptionSearch{
      parts_, std::move(take), cycle::LongestStep::Of("preemptions", parts_.metrics, parts_.clock)});
  parts_.loop.Post([search = std::move(search)]() mutable {
    search->records.Begin(search->parts.scheduler.records(), search->parts.clock.WallNow(),
                          kMostNominationsSearched);
    Continue(std::move(search));
  });
}

void Inspector::ReportPlugins(TakePlugins take) const {
  auto search = std::make_unique<PluginSearch>(
      PluginSearch{parts_, std::move(take), cycle::LongestStep::Of("plugins", parts_.metrics, parts_.clock)});
  parts_.loop.Post([search = std::move(search)]() mutable {
    const cycle::LongestStep::Step step(search->longest_step);
    for (const auto& profile : search->parts.profiles)
      search->report.profiles.push_back(DescribeProfile(*profile));
    search->records.Begin(search->parts.scheduler.records(), search->parts.clock.WallNow());
    cycle::ClusterLoop& loop = search->parts.loop;
    loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
  });
}

}  // namespace berth::introspection
