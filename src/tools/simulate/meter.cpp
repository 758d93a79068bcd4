#include "tools/simulate/meter.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/check.hpp"
#include "kubernetes/api/requests.hpp"

namespace berth::simulate {
namespace {

constexpr std::size_t kCpu = 0;  // in ResourceTable
// Fragmentation considers the most frequent requests only.
constexpr std::size_t kMostShapes = 64;
constexpr double kHot = 0.9;
constexpr std::int64_t kWholeDevice = 1000;

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

ResourceTable::ResourceTable(const Workload& workload) : names_{"cpu", "memory"} {
  std::set<std::string> extended;
  for (const NodeGroup& group : workload.groups) {
    if (!group.devices) continue;
    const std::string& driver = group.devices->driver;
    auto place = std::ranges::find(names_, driver);
    if (place == names_.end() && names_.size() == kMostResources) continue;
    if (place == names_.end()) place = names_.insert(place, driver);
    for (const api::Device& device : group.devices->devices)
      devices_.emplace_back(static_cast<std::size_t>(place - names_.begin()), device);
  }
  for (const NodeGroup& group : workload.groups) {
    for (const auto& [name, amount] : group.model.allocatable) extended.insert(name);
  }
  for (const auto* name : {"cpu", "memory", "pods", "ephemeral-storage"}) extended.erase(name);
  for (const std::string& name : extended) {
    if (names_.size() < kMostResources) names_.push_back(name);
  }
}

Amounts ResourceTable::Of(const NodeGroup& group) const {
  Amounts amounts = Of(group.model.allocatable);
  if (!group.devices) return amounts;
  const auto driver = std::ranges::find(names_, group.devices->driver);
  if (driver != names_.end()) {
    amounts[static_cast<std::size_t>(driver - names_.begin())] =
        kWholeDevice * static_cast<std::int64_t>(group.devices->devices.size());
  }
  return amounts;
}

Amounts ResourceTable::Of(const PodKind& kind) const {
  Amounts amounts = Of(api::PodRequests(kind.model, {}));
  for (const api::PodResourceClaim& reference : std::as_const(kind.model.spec.resource_claims)) {
    if (!reference.resource_claim_template_name) continue;
    for (const api::ResourceClaim::Request& request :
         kind.claims.at(*reference.resource_claim_template_name).requests) {
      if (request.exactly) {
        AddDevices(*request.exactly, amounts);
      } else if (!request.first_available.empty()) {
        AddDevices(request.first_available.front().devices, amounts);
      }
    }
  }
  return amounts;
}

void ResourceTable::AddDevices(const api::ExactDeviceRequest& request, Amounts& amounts) const {
  if (request.allocation_mode != "ExactCount" || request.admin_access.value_or(false)) return;
  for (const auto& [driver, device] : devices_) {
    double share = request.capacity ? 0 : 1;
    bool has_all = true;
    for (const auto& [name, amount] : request.capacity.value_or(api::QuantityMap())) {
      const auto capacity = device.capacity.find(name);
      has_all = has_all && capacity != device.capacity.end();
      if (!has_all) break;
      share = std::max(share, Share(static_cast<double>(amount.MilliValue()),
                                    static_cast<double>(capacity->second.value.MilliValue())));
    }
    if (!has_all) continue;
    amounts[driver] += request.count * static_cast<std::int64_t>(std::ceil(share * kWholeDevice));
    return;
  }
}

Amounts ResourceTable::Of(const api::ResourceList& list) const {
  Amounts amounts{};
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto found = list.find(names_[i]);
    if (found != list.end()) amounts[i] = i == kCpu ? found->second.MilliValue() : found->second.Value();
  }
  return amounts;
}

Meter::Meter(const Workload& workload) : resources_(workload), created_(workload.kinds.size()) {
  for (const NodeGroup& group : workload.groups) group_amounts_.push_back(resources_.Of(group));
  for (const PodKind& kind : workload.kinds) kind_amounts_.push_back(resources_.Of(kind));
  in_zone_.resize(workload.kinds.size());
}

// --- changes ---

void Meter::Advance(Duration now) {
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  for (std::size_t i = 0; i < resources_.names().size(); ++i) {
    allocatable_time_[i] += seconds * static_cast<double>(allocatable_[i]);
    used_time_[i] += seconds * static_cast<double>(used_[i]);
    held_time_[i] += seconds * static_cast<double>(held_[i]);
    if (waiting_groups_ > 0) idle_time_[i] += seconds * static_cast<double>(allocatable_[i] - used_[i]);
  }
}

void Meter::AddTo(const Node& node, int sign) {
  for (std::size_t i = 0; i < resources_.names().size(); ++i) {
    allocatable_[i] += sign * group_amounts_[node.group][i];
    used_[i] += sign * node.used[i];
  }
  zone_nodes_[node.zone] += static_cast<std::uint32_t>(sign);
}

std::uint32_t Meter::AddNode(std::size_t group, const std::string& zone, Duration now) {
  Advance(now);
  const auto known = std::ranges::find(zone_names_, zone);
  Node node;
  node.group = static_cast<std::uint32_t>(group);
  node.zone = static_cast<std::uint32_t>(known - zone_names_.begin());
  if (known == zone_names_.end()) {
    zone_names_.push_back(zone);
    zone_nodes_.push_back(0);
    for (auto& counts : in_zone_) counts.push_back(0);
  }
  AddTo(node, 1);
  if (unused_.empty()) {
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  nodes_[index] = std::move(node);
  return index;
}

void Meter::RemoveNode(std::uint32_t node, Duration now) {
  BERTH_CHECK(nodes_[node].kinds.empty(), node);
  SetReady(node, false, now);
  unused_.push_back(node);
}

void Meter::SetReady(std::uint32_t index, bool ready, Duration now) {
  Node& node = nodes_[index];
  if (node.ready == ready) return;
  Advance(now);
  node.ready = ready;
  AddTo(node, ready ? 1 : -1);
}

void Meter::Place(std::uint32_t kind, std::uint32_t index, Duration now) {
  Advance(now);
  Node& node = nodes_[index];
  const Amounts& amounts = kind_amounts_[kind];
  for (std::size_t i = 0; i < resources_.names().size(); ++i) {
    node.used[i] += amounts[i];
    if (node.ready) used_[i] += amounts[i];
  }
  ++in_zone_[kind][node.zone];
  ++running_;
  const auto known = std::ranges::find(node.kinds, kind, &std::pair<std::uint32_t, std::uint32_t>::first);
  if (known != node.kinds.end()) {
    ++known->second;
  } else {
    node.kinds.emplace_back(kind, 1);
  }
}

void Meter::Release(std::uint32_t kind, std::uint32_t index, Duration now) {
  Advance(now);
  Node& node = nodes_[index];
  const Amounts& amounts = kind_amounts_[kind];
  for (std::size_t i = 0; i < resources_.names().size(); ++i) {
    node.used[i] -= amounts[i];
    if (node.ready) used_[i] -= amounts[i];
  }
  --in_zone_[kind][node.zone];
  --running_;
  const auto known = std::ranges::find(node.kinds, kind, &std::pair<std::uint32_t, std::uint32_t>::first);
  BERTH_CHECK(known != node.kinds.end(), kind, index);
  if (--known->second > 0) return;
  *known = node.kinds.back();
  node.kinds.pop_back();
}

void Meter::Hold(std::uint32_t kind, std::int64_t members, Duration now) {
  Advance(now);
  for (std::size_t i = 0; i < resources_.names().size(); ++i) held_[i] += members * kind_amounts_[kind][i];
}

void Meter::SetWaitingGroups(std::uint64_t groups, Duration now) {
  Advance(now);
  waiting_groups_ = groups;
}

// --- samples ---

void Meter::Measure(Sample& sample, std::vector<KindResult>& kinds) {
  sample.running = running_;
  sample.waiting_groups = waiting_groups_;
  for (std::size_t i = 0; i < resources_.names().size(); ++i)
    sample.used.push_back(Share(static_cast<double>(used_[i]), static_cast<double>(allocatable_[i])));
  MeasureFragmentation(sample);
  MeasureBalance(sample);
  MeasureSpreading(kinds);
}

// Equal requests of several kinds are one shape; the weight is the number of pods that were created.
std::vector<std::pair<Amounts, double>> Meter::RequestShapes() const {
  std::map<Amounts, double> weights;
  for (std::size_t kind = 0; kind < created_.size(); ++kind) {
    if (created_[kind] > 0) weights[kind_amounts_[kind]] += static_cast<double>(created_[kind]);
  }
  std::vector<std::pair<Amounts, double>> shapes(weights.begin(), weights.end());
  std::ranges::stable_sort(shapes, std::greater(), &std::pair<Amounts, double>::second);
  if (shapes.size() > kMostShapes) shapes.resize(kMostShapes);
  return shapes;
}

void Meter::MeasureFragmentation(Sample& sample) const {
  const auto shapes = RequestShapes();
  const std::size_t resources = resources_.names().size();
  std::array<double, kMostResources> useless{}, all{};
  for (const Node& node : nodes_) {
    if (!node.ready) continue;
    Amounts free{};
    for (std::size_t i = 0; i < resources; ++i) free[i] = group_amounts_[node.group][i] - node.used[i];
    for (const auto& [request, weight] : shapes) {
      bool fits = true;
      for (std::size_t i = 0; i < resources && fits; ++i) fits = request[i] == 0 || request[i] <= free[i];
      for (std::size_t i = 0; i < resources; ++i) {
        if (request[i] <= 0 || free[i] <= 0) continue;
        const double amount = weight * static_cast<double>(free[i]);
        all[i] += amount;
        if (!fits) useless[i] += amount;
      }
    }
  }
  for (std::size_t i = 0; i < resources; ++i) sample.fragmented.push_back(Share(useless[i], all[i]));
}

void Meter::MeasureBalance(Sample& sample) const {
  double sum = 0, squares = 0, hot = 0;
  for (const Node& node : nodes_) {
    if (!node.ready) continue;
    ++sample.nodes;
    const double share =
        Share(static_cast<double>(node.used[kCpu]), static_cast<double>(group_amounts_[node.group][kCpu]));
    sum += share;
    squares += share * share;
    if (share >= kHot) ++hot;
  }
  if (sample.nodes == 0) return;
  const auto count = static_cast<double>(sample.nodes);
  const double mean = sum / count;
  sample.hot_nodes = hot / count;
  sample.imbalance = std::sqrt(std::max(squares / count - mean * mean, 0.0));
}

void Meter::MeasureSpreading(std::vector<KindResult>& kinds) const {
  std::vector<std::uint32_t> most(kinds.size());
  for (const Node& node : nodes_) {
    for (const auto& [kind, count] : node.kinds) most[kind] = std::max(most[kind], count);
  }
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (most[kind] == 0) continue;
    kinds[kind].most_on_node.Add(most[kind]);
    std::uint32_t fewest = UINT32_MAX, largest = 0, zones = 0;
    for (std::size_t zone = 0; zone < zone_nodes_.size(); ++zone) {
      if (zone_nodes_[zone] == 0) continue;
      ++zones;
      fewest = std::min(fewest, in_zone_[kind][zone]);
      largest = std::max(largest, in_zone_[kind][zone]);
    }
    if (zones >= 2) kinds[kind].zone_skew.Add(largest - fewest);
  }
}

std::vector<double> Meter::MeanOf(const Integrals& integrals, Duration now) {
  Advance(now);
  std::vector<double> shares;
  for (std::size_t i = 0; i < resources_.names().size(); ++i)
    shares.push_back(Share(integrals[i], allocatable_time_[i]));
  return shares;
}

}  // namespace berth::simulate
