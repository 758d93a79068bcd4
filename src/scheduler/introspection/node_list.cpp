// The report about all nodes.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "scheduler/introspection/inspector.hpp"

namespace berth::introspection {
namespace {

constexpr cluster::Row kNodesPerStep = 200;

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
    if (signal.spec.subject != load_metrics::Subject::kNode || signals.IsGuard(load_metrics::SignalId{i}))
      continue;
    search.signals.push_back(load_metrics::SignalId{i});
    NodesMeasurement& added =
        search.report.measurements.emplace_back(signal.spec.name, std::string(NameOf(signal.state)));
    if (HasValues(signal.state)) added.polled_at = clock.WallNow() + (signal.polled_at - clock.Now());
  }
}

// Adds the resources of the node that the report does not have yet, unless it has too many.
void AddResources(const api::Node& node, NodesReport& report) {
  for (const auto& [name, quantity] : node.allocatable) {
    if (report.resources.size() == kMostNodeResources) return;
    if (std::ranges::find(report.resources, name) == report.resources.end()) report.resources.push_back(name);
  }
}

// The columns of the report's resources, valid during one step.
struct Column {
  std::span<const std::int64_t> allocatable, requested;
};
std::vector<Column> ColumnsOf(const NodesReport& report, const cluster::NodeTable& nodes) {
  std::vector<Column> columns;
  for (const std::string& resource : report.resources) {
    if (resource == "pods") {
      columns.push_back({nodes.allowed_pods(), nodes.pod_count()});
    } else {
      const cluster::ResourceId id = nodes.symbols().FindResource(resource);
      columns.push_back({nodes.allocatable(id), nodes.requested(id)});
    }
  }
  return columns;
}

NodeRow RowOfNode(cluster::Row row, std::span<const Column> columns, const NodesSearch& search) {
  const cluster::NodeTable& nodes = search.parts.cluster.nodes();
  NodeRow added{nodes.shared_node(row), nodes.pod_count()[row], {}, {}};
  added.resources.reserve(columns.size());
  for (const Column& column : columns) {
    const bool has = row < column.allocatable.size();  // a resource that no node has has no column
    added.resources.emplace_back(has ? column.allocatable[row] : 0, has ? column.requested[row] : 0);
  }
  added.measured.reserve(search.signals.size());
  for (const load_metrics::SignalId signal : search.signals)
    added.measured.push_back(search.parts.signals.signal(signal).At(row));
  return added;
}

void Continue(std::unique_ptr<NodesSearch> search) {
  const cycle::LongestStep::Step step(search->longest_step);
  const cluster::NodeTable& nodes = search->parts.cluster.nodes();
  const auto rows = static_cast<cluster::Row>(nodes.rows());
  const cluster::Row end = std::min(rows, search->next + kNodesPerStep);
  for (cluster::Row row = search->next; row < end; ++row) {
    if (const api::NodePtr& node = nodes.shared_node(row)) AddResources(*node, search->report);
  }
  const std::vector<Column> columns = ColumnsOf(search->report, nodes);
  for (; search->next < end; ++search->next) {
    if (nodes.shared_node(search->next) != nullptr)
      search->report.nodes.push_back(RowOfNode(search->next, columns, *search));
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
