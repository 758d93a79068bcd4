#include "scheduler/plugins/node_resource_topology_match/node_resource_topology_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "scheduler/plugins/node_resource_topology_match/alignment_text.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_alignment.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;
using framework::Attempt;
using framework::EventResource;
using framework::Status;

std::unique_ptr<TopologyCache> MakeCache(const NodeResourceTopologyMatchArgs& args,
                                         const std::string& profile, framework::Handle& handle) {
  if (args.discard_reserved_nodes) return std::make_unique<DiscardReserved>(profile, handle);
  return std::make_unique<Passthrough>(handle);
}

}  // namespace

framework::PluginOrError NodeResourceTopologyMatch::Create(const framework::RawArgs& raw,
                                                           framework::Handle& handle) {
  BERTH_TRY(NodeResourceTopologyMatchArgs args, ParseNodeResourceTopologyMatchArgs(raw));
  return std::make_unique<NodeResourceTopologyMatch>(std::move(args), raw.scheduler_name, handle);
}

NodeResourceTopologyMatch::NodeResourceTopologyMatch(NodeResourceTopologyMatchArgs args,
                                                     const std::string& profile, framework::Handle& handle)
    : args_(std::move(args)),
      strategy_(args_.strategy_type()),
      cache_(MakeCache(args_, profile, handle)),
      scratch_(handle.NewBuffer<Scratch>()),
      stale_(handle.reasons.Intern("invalid node topology data")),
      container_(handle.reasons.Intern("cannot align container")),
      init_container_(handle.reasons.Intern("cannot align init container")),
      sidecar_(handle.reasons.Intern("cannot align sidecar container")),
      pod_(handle.reasons.Intern("cannot align pod")) {
  handle.requested_resources.emplace_back("noderesourcetopologies.topology.node.k8s.io");
}

void NodeResourceTopologyMatch::Filter(const Attempt& attempt, const RowSet& candidates,
                                       framework::Rejections& out) const {
  Scratch& scratch = Begin(attempt);
  if (scratch.request.unaligned) return;
  const RowSet& stale = cache_->stale();
  const auto topologies = cache_->by_row();
  // By Misalignment; the first are the stale rows.
  auto stale_rows = attempt.Scratch(), container_rows = attempt.Scratch(), init_rows = attempt.Scratch(),
       sidecar_rows = attempt.Scratch(), pod_rows = attempt.Scratch();
  const std::pair<RowSet*, framework::ReasonId> sets[] = {{&*stale_rows, stale_},
                                                          {&*container_rows, container_},
                                                          {&*init_rows, init_container_},
                                                          {&*sidecar_rows, sidecar_},
                                                          {&*pod_rows, pod_}};
  static_assert(std::to_underlying(Misalignment::kPod) + 1 == std::size(sets));
  candidates.ForEach([&](std::size_t row) {
    if (stale.Has(row)) return stale_rows->Add(row);
    if (topologies[row].group == nullptr) return;
    const NumaTopology& topology = topologies[row].group->topology;
    if (!topology.invalid.empty()) {
      return out.Add(static_cast<Row>(row),
                     fmt::format("NodeResourceTopology {}: {}", attempt.nodes().name(static_cast<Row>(row)),
                                 topology.invalid));
    }
    if (!topology.single_numa_node) return;
    scratch.amounts.Load(topologies[row]);
    const AlignmentResult result =
        Align(scratch.request, attempt.nodes(), static_cast<Row>(row), scratch.amounts);
    if (result.part != Misalignment::kNone) sets[std::to_underlying(result.part)].first->Add(row);
  });
  for (const auto& [rows, reason] : sets) {
    if (!rows->Empty()) out.Reject(reason, attempt.nodes().rows()) |= *rows;
  }
}

NodeResourceTopologyMatch::Scratch& NodeResourceTopologyMatch::Begin(const Attempt& attempt) const {
  Scratch& scratch = attempt.Buffer(scratch_);
  ReadNumaRequest(*attempt.pod().pod, cache_->names(), attempt.nodes(), scratch.request);
  scratch.amounts.Begin(scratch.request);
  return scratch;
}

Status NodeResourceTopologyMatch::Score(const Attempt& attempt, const RowSet& feasible,
                                        framework::ScoreColumn& scores) const {
  Scratch& scratch = Begin(attempt);
  if (scratch.request.qos != QosClass::kGuaranteed) {
    scores.SetAll(framework::kMaxScore);
    return {};
  }
  FillWeights(scratch);
  const RowSet& stale = cache_->stale();
  const auto topologies = cache_->by_row();
  const auto column = scores.OverwriteBytes(framework::kMaxScore);
  feasible.ForEach([&](std::size_t row) {
    const TopologyGroup* const group = topologies[row].group;
    column[row] = 0;
    if (group == nullptr || !group->topology.invalid.empty() || stale.Has(row)) return;
    scratch.amounts.Load(topologies[row]);
    column[row] =
        static_cast<std::uint8_t>(ScoreOfZones(strategy_, scratch.request, scratch.weights, scratch.amounts));
  });
  return {};
}

void NodeResourceTopologyMatch::FillWeights(Scratch& scratch) const {
  scratch.weights.clear();
  for (const NumaRequest::Resource& resource : scratch.request.resources) {
    std::int64_t weight = 1;
    // Of equal names the last one counts.
    for (const auto& given : args_.weights) {
      if (given.name == *resource.name) weight = std::max<std::int64_t>(given.weight, 1);
    }
    scratch.weights.push_back(weight);
  }
}

Status NodeResourceTopologyMatch::Reserve(const framework::Placement& placement) {
  cache_->Reserve(placement.node, *placement.pod.pod);
  return {};
}

void NodeResourceTopologyMatch::Unreserve(const framework::Placement& placement) {
  cache_->Unreserve(placement.node, *placement.pod.pod);
}

void NodeResourceTopologyMatch::PostBind(const framework::Placement& placement) {
  cache_->PostBind(placement.node, *placement.pod.pod);
}

std::vector<framework::EventRegistration> NodeResourceTopologyMatch::EventsToRegister() const {
  using namespace framework;
  return {{EventResource::kAssignedPod, kDelete},
          {EventResource::kNode, kAdd | kUpdateNodeAllocatable},
          {EventResource::kNodeResourceTopology, kAdd | kUpdate}};
}

std::vector<framework::RejectionDetail> NodeResourceTopologyMatch::RejectionDetails(
    const Attempt& attempt, const RowSet& rejected) const {
  std::vector<framework::RejectionDetail> details;
  Scratch& scratch = Begin(attempt);
  const RowSet& stale = cache_->stale();
  const auto topologies = cache_->by_row();
  rejected.ForEach([&](std::size_t row) {
    const TopologyGroup* const group = topologies[row].group;
    if (group == nullptr || !group->topology.single_numa_node || stale.Has(row)) return;
    scratch.amounts.Load(topologies[row]);
    const AlignmentResult result =
        Align(scratch.request, attempt.nodes(), static_cast<Row>(row), scratch.amounts);
    if (result.part == Misalignment::kNone) return;
    framework::RejectionDetail& detail = details.emplace_back();
    detail.lines = DescribeMisalignment(result, scratch.request, scratch.amounts);
    detail.rows.Resize(attempt.nodes().rows());
    detail.rows.Add(row);
  });
  return details;
}

}  // namespace berth::plugins
