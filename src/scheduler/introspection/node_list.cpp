// The report about all nodes.
#include <algorithm>
#include <memory>
#include <utility>

#include "scheduler/introspection/inspector.hpp"

namespace berth::introspection {
namespace {

constexpr cluster::Row kNodesPerStep = 1'000;

struct NodesSearch {
  Inspector::Parts parts;
  Inspector::TakeNodes take;
  std::shared_ptr<cycle::LongestStep> longest_step;
  NodesReport report{};
  std::vector<load_metrics::SignalId> signals{};  // of the measurements
  cluster::Row next = 0;
};

void AddMeasurements(NodesSearch& search) {
  const load_metrics::SignalTable& signals = search.parts.signals;
  const Clock& clock = search.parts.clock;
  for (std::uint32_t i = 0; i < signals.size() && search.signals.size() < kMostMeasurements; ++i) {
    const load_metrics::Signal& signal = signals.signal(load_metrics::SignalId{i});
    if (signal.spec.subject != load_metrics::Subject::kNode) continue;
    search.signals.push_back(load_metrics::SignalId{i});
    NodesMeasurement& added =
        search.report.measurements.emplace_back(signal.spec.name, std::string(NameOf(signal.state)));
    if (HasValues(signal.state)) added.polled_at = clock.WallNow() + (signal.polled_at - clock.Now());
  }
}

// The place of the resource in the report; its size if there are too many.
std::size_t PlaceOf(const std::string& resource, NodesReport& report) {
  const auto found = std::ranges::find(report.resources, resource);
  const auto place = static_cast<std::size_t>(found - report.resources.begin());
  if (found == report.resources.end() && report.resources.size() < kMostNodeResources)
    report.resources.push_back(resource);
  return place;
}

NodeRow RowOfNode(cluster::Row row, NodesSearch& search) {
  const cluster::NodeTable& nodes = search.parts.cluster.nodes();
  NodeRow added{nodes.shared_node(row), nodes.pod_count()[row], {}, {}};
  for (const auto& [name, quantity] : added.node->allocatable) {
    const std::size_t place = PlaceOf(name, search.report);
    if (place >= kMostNodeResources) continue;
    if (added.resources.size() <= place) added.resources.resize(place + 1);
    if (name == "pods") {
      added.resources[place] = {nodes.allowed_pods()[row], nodes.pod_count()[row]};
    } else if (const cluster::ResourceId resource = nodes.symbols().FindResource(name); resource.known()) {
      const auto allocatable = nodes.allocatable(resource);
      if (row < allocatable.size())
        added.resources[place] = {allocatable[row], nodes.requested(resource)[row]};
    }
  }
  for (const load_metrics::SignalId signal : search.signals)
    added.measured.push_back(search.parts.signals.signal(signal).At(row));
  return added;
}

void Continue(std::unique_ptr<NodesSearch> search) {
  const cycle::LongestStep::Step step(search->longest_step);
  const cluster::NodeTable& nodes = search->parts.cluster.nodes();
  const auto rows = static_cast<cluster::Row>(nodes.rows());
  const cluster::Row end = std::min(rows, search->next + kNodesPerStep);
  for (; search->next < end; ++search->next) {
    if (nodes.shared_node(search->next) != nullptr)
      search->report.nodes.push_back(RowOfNode(search->next, *search));
  }
  if (search->next >= rows) return search->take(std::move(search->report));
  cycle::ClusterLoop& loop = search->parts.loop;
  loop.Post([search = std::move(search)]() mutable { Continue(std::move(search)); });
}

}  // namespace

void Inspector::ReportNodes(TakeNodes take) const {
  auto search = std::make_unique<NodesSearch>(
      NodesSearch{parts_, std::move(take), cycle::LongestStep::Of("nodes", parts_.metrics, parts_.clock)});
  parts_.loop.Post([search = std::move(search)]() mutable {
    AddMeasurements(*search);
    Continue(std::move(search));
  });
}

}  // namespace berth::introspection
