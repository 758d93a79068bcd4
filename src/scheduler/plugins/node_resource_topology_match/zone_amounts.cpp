#include "scheduler/plugins/node_resource_topology_match/zone_amounts.hpp"

#include <algorithm>

namespace berth::plugins {

void ZoneAmounts::Begin(const NumaRequest& request) {
  request_ = &request;
  ++requests_;
}

void ZoneAmounts::Load(const RowTopology& row) {
  topology_ = &row.group->topology;
  plan_ = &PlanOf(*row.group);
  zones_ = topology_->zones();
  const std::size_t count = plan_->sources.size();
  if (amounts_.size() < count * zones_) amounts_.resize(count * zones_);
  const std::int64_t* const from = row.group->amounts(row.slot);
  std::int64_t* to = amounts_.data();
  for (const std::uint32_t source : plan_->sources) {
    if (source == kUnlisted) {
      std::fill_n(to, zones_, 0);
    } else {
      std::copy_n(from + source * zones_, zones_, to);
    }
    to += zones_;
  }
}

const ZoneAmounts::Plan& ZoneAmounts::PlanOf(const TopologyGroup& group) {
  if (plans_.size() <= group.index) plans_.resize(group.index + 1);
  Plan& plan = plans_[group.index];
  if (plan.request == requests_) return plan;
  plan.request = requests_;
  plan.sources.clear();
  plan.listed.clear();
  for (const NumaRequest::Resource& resource : request_->resources) {
    const NumaTopology& topology = group.topology;
    const std::size_t found = resource.id.known() ? topology.Find(resource.id) : topology.resources.size();
    const bool listed = found < topology.resources.size();
    plan.sources.push_back(listed ? static_cast<std::uint32_t>(found) : kUnlisted);
    plan.listed.push_back(listed ? topology.listed[found] : 0);
  }
  return plan;
}

}  // namespace berth::plugins
