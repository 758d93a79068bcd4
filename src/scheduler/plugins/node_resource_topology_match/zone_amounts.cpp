#include "scheduler/plugins/node_resource_topology_match/zone_amounts.hpp"

#include <algorithm>

namespace berth::plugins {

void ZoneAmounts::Load(const NumaRequest& request, const NumaTopology& topology) {
  topology_ = &topology;
  const std::size_t count = request.resources.size();
  if (listed_.size() < count) listed_.resize(count);
  if (amounts_.size() < count * zones()) amounts_.resize(count * zones());
  for (std::size_t i = 0; i < count; ++i) {
    const NumaResourceId id = request.resources[i].id;
    const std::size_t found = id.known() ? topology.Find(id) : topology.resources.size();
    const auto to = amounts_.begin() + static_cast<std::ptrdiff_t>(i * zones());
    if (found == topology.resources.size()) {
      listed_[i] = 0;
      std::fill_n(to, zones(), 0);
    } else {
      listed_[i] = topology.listed[found];
      std::copy_n(topology.available.begin() + static_cast<std::ptrdiff_t>(found * zones()), zones(), to);
    }
  }
}

}  // namespace berth::plugins
