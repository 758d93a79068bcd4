// Pods per topology domain, summed from pods per row.
#pragma once

#include <cstdint>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/row_counts.hpp"

namespace berth::plugins {

// Reused between decisions to keep its buffers.
struct DomainCounts {
  cluster::LabelKeyId key;
  const cluster::Topology* topology = nullptr;
  std::vector<std::int64_t> by_domain;
  std::vector<std::uint32_t> touched;  // domains that were changed; may contain duplicates

  void Reset(cluster::LabelKeyId topology_key, const cluster::NodeTable& nodes) {
    key = topology_key;
    topology = &nodes.TopologyOf(topology_key);
    by_domain.assign(topology->domains(), 0);
    touched.clear();
  }
  // Returns whether the row belongs to a domain.
  bool Add(std::uint32_t row, std::int64_t amount) {
    const std::uint32_t domain = topology->domain[row];
    if (domain == cluster::Topology::kNoDomain) return false;
    if (by_domain[domain] == 0) touched.push_back(domain);
    by_domain[domain] += amount;
    return true;
  }
  // Adds every row's count times `weight`. Returns whether any row belongs to a domain.
  bool AddAll(const cluster::RowCounts& rows, std::int64_t weight = 1) {
    bool any = false;
    rows.ForEach([&](std::uint32_t row, std::int64_t count) { any |= Add(row, count * weight); });
    return any;
  }
};

// Adds the rows of `among` whose domain satisfies picks(domain) to `out`. `picked` contains at least these
// domains: if few, they are found by the rows of their label, otherwise by iterating over `among`.
template <class Picks>
void AddRowsOf(const cluster::Topology& topology, const cluster::NodeTable& nodes, const RowSet& among,
               const std::vector<std::uint32_t>& picked, Picks&& picks, RowSet& out) {
  constexpr std::size_t kFew = 64;
  if (picked.size() <= kFew) {
    for (const std::uint32_t domain : picked) {
      if (!topology.label_of[domain].known() || !picks(domain)) continue;
      if (const RowGroup* rows = nodes.WithLabel(topology.label_of[domain])) rows->AddTo(out);
    }
    out &= among;
    return;
  }
  among.ForEach([&](std::size_t row) {
    const std::uint32_t domain = topology.domain[row];
    if (domain != cluster::Topology::kNoDomain && picks(domain)) out.Add(row);
  });
}

}  // namespace berth::plugins
