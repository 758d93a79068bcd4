#include "scheduler/load_metrics/node_directory.hpp"

#include <algorithm>

namespace berth::load_metrics {
namespace {

// Addresses of existing nodes rarely change; a rebuild after this many refreshes is enough to detect it.
constexpr std::uint32_t kRefreshesBetweenRebuilds = 64;
constexpr cluster::Row kAmbiguous = cluster::kNoRow - 1;

// The first label of a host name; empty: the text is an IPv4 address, whose first number many machines share.
std::string_view FirstLabelOf(std::string_view host) {
  const auto dot = host.find('.');
  const bool address = dot != host.npos && host.find_first_not_of("0123456789.") == host.npos;
  return address ? std::string_view() : host.substr(0, dot);
}

}  // namespace

std::string_view WithoutPort(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    return end == text.npos ? text : text.substr(1, end - 1);
  }
  const auto colon = text.find(':');
  // an IPv6 address without brackets has no port
  if (colon == text.npos || text.find(':', colon + 1) != text.npos) return text;
  const std::string_view port = text.substr(colon + 1);
  const bool digits = !port.empty() && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? text.substr(0, colon) : text;
}

std::uint64_t NodeDirectory::Refresh() {
  if (!stale_ && ++refreshes_ < kRefreshesBetweenRebuilds) return generation_;
  names_.clear();
  shorts_.clear();
  // A node's own name has precedence over the addresses of other nodes.
  nodes_.all().ForEach(
      [&](std::size_t row) { names_.emplace(nodes_.name(static_cast<cluster::Row>(row)), row); });
  nodes_.all().ForEach([&](std::size_t at) {
    const cluster::Row row = static_cast<cluster::Row>(at);
    for (const api::NodeAddress& address : nodes_.node(row).addresses) Add(address.address, row);
    const std::string_view label = FirstLabelOf(nodes_.name(row));
    if (label.empty()) return;
    const auto [known, first] = shorts_.emplace(std::string(label), row);
    if (!first) known->second = kAmbiguous;
  });
  stale_ = false;
  refreshes_ = 0;
  return ++generation_;
}

void NodeDirectory::Add(std::string_view text, cluster::Row row) {
  if (text.empty()) return;
  const auto [known, first] = names_.emplace(std::string(text), row);
  if (first || known->second == row) return;
  // An address of two nodes is ambiguous, unless it is the name of one of them.
  if (known->second != kAmbiguous && nodes_.name(known->second) == text) return;
  known->second = kAmbiguous;
}

cluster::Row NodeDirectory::Find(std::string_view text) const {
  const auto find = [](const Index& index, std::string_view wanted) {
    const auto found = index.find(wanted);
    return found == index.end() || found->second == kAmbiguous ? cluster::kNoRow : found->second;
  };
  if (text.empty()) return cluster::kNoRow;
  if (const cluster::Row row = find(names_, text); row != cluster::kNoRow) return row;
  const std::string_view host = WithoutPort(text);
  if (host.size() != text.size()) {
    if (const cluster::Row row = find(names_, host); row != cluster::kNoRow) return row;
  }
  return find(shorts_, FirstLabelOf(host));
}

cluster::Row NodeDirectory::Find(const SeriesName& series) const {
  for (const auto& [label, value] : series) {
    if (const cluster::Row row = Find(value); row != cluster::kNoRow) return row;
  }
  return cluster::kNoRow;
}

}  // namespace berth::load_metrics
