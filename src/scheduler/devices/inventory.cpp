#include "scheduler/devices/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <set>
#include <utility>

#include "base/append_format.hpp"
#include "base/check.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/devices/node_match.hpp"

namespace berth::devices {
namespace {

using api::ResourceSlice;

// A text with the parts of a key; parts of different kinds cannot be confused.
class KeyText {
 public:
  KeyText& Add(std::string_view part) {
    AppendFormat(text_, "{}:{}", part.size(), part);
    return *this;
  }
  KeyText& Add(std::uint64_t number) {
    AppendFormat(text_, "{};", number);
    return *this;
  }
  KeyText& Add(const api::QuantityMap& amounts) {
    Add(amounts.size());
    for (const auto& [name, amount] : amounts) Add(name).Add(amount.Canonical());
    return *this;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

void AddTo(KeyText& key, const std::optional<api::Quantity>& amount) {
  key.Add(amount ? amount->Canonical() : "");
}

void AddTo(KeyText& key, const api::DeviceAttribute& attribute) {
  key.Add(attribute.value.index());
  struct Write {
    KeyText& key;
    void operator()(std::monostate) {}
    void operator()(std::int64_t value) { key.Add(static_cast<std::uint64_t>(value)); }
    void operator()(bool value) { key.Add(std::uint64_t{value}); }
    void operator()(const std::string& value) { key.Add(value); }
    void operator()(const api::DeviceAttribute::Version& value) { key.Add(value.text); }
  };
  std::visit(Write{key}, attribute.value);
}

void AddTo(KeyText& key, const api::DeviceCapacity& capacity) {
  key.Add(capacity.value.Canonical()).Add(std::uint64_t{capacity.request_policy.has_value()});
  if (!capacity.request_policy) return;
  const api::CapacityRequestPolicy& policy = *capacity.request_policy;
  AddTo(key, policy.default_request);
  key.Add(policy.valid_values.size());
  for (const api::Quantity& value : policy.valid_values) key.Add(value.Canonical());
  key.Add(std::uint64_t{policy.valid_range.has_value()});
  if (!policy.valid_range) return;
  AddTo(key, policy.valid_range->min);
  AddTo(key, policy.valid_range->max);
  AddTo(key, policy.valid_range->step);
}

// Everything about a device that a request can depend on, except its use and the nodes that can use it.
std::string ShapeOf(std::string_view driver, const SliceDevice& device) {
  const api::Device& object = *device.device;
  KeyText key;
  key.Add(driver).Add(std::uint64_t{object.allow_multiple_allocations}).Add(object.attributes.size());
  for (const auto& [name, attribute] : object.attributes) AddTo(key.Add(name), attribute);
  key.Add(object.capacity.size());
  for (const auto& [name, capacity] : object.capacity) AddTo(key.Add(name), capacity);
  key.Add(object.consumes_counters.size());
  for (const api::CounterConsumption& consumption : object.consumes_counters)
    key.Add(consumption.counter_set).Add(consumption.counters);
  key.Add(device.taints.size());
  for (const api::DeviceTaint& taint : device.taints) key.Add(taint.key).Add(taint.value).Add(taint.effect);
  key.Add(std::uint64_t{!object.binding_conditions.empty()});
  return key.Take();
}

// Numbers of texts. Equal texts have equal numbers, except that all are forgotten when there are too many:
// then equal ones get a new number. No number is given twice.
class Numbers {
 public:
  // `most`: texts.
  std::uint64_t Of(std::string text, std::size_t most) {
    if (numbers_.size() > most || bytes_ > kMostBytes) {
      numbers_.clear();
      bytes_ = 0;
    }
    const std::size_t bytes = text.size();
    const auto [at, added] = numbers_.try_emplace(std::move(text), next_);
    if (added) {
      ++next_;
      bytes_ += bytes;
    }
    return at->second;
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  FlatTextMap<std::uint64_t> numbers_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 1;
};

bool Selects(const api::DeviceTaintRule::Selector& selector, const ResourceSlice& slice,
             const api::Device& device) {
  return (!selector.driver || *selector.driver == slice.driver) &&
         (!selector.pool || *selector.pool == slice.pool) &&
         (!selector.device || *selector.device == device.name);
}

bool HasCompatibilityGroups(const ResourceSlice& slice) {
  return std::ranges::any_of(slice.devices, [](const api::Device& device) {
    return std::ranges::any_of(device.consumes_counters, &api::CounterConsumption::compatibility_groups);
  });
}

// Adds the counters to `out`. False: a set occurs twice.
bool AddCounterSets(const ResourceSlice& slice, Counters& out) {
  return std::ranges::all_of(slice.shared_counters, [&](const api::CounterSet& set) {
    return out.emplace(set.name, set.counters).second;
  });
}

// Whether all counters that devices of the slice consume exist.
bool CountersExist(const ResourceSlice& slice, const Counters& counters) {
  return std::ranges::all_of(slice.devices, [&](const api::Device& device) {
    return std::ranges::all_of(device.consumes_counters, [&](const api::CounterConsumption& consumption) {
      const auto set = counters.find(consumption.counter_set);
      return set != counters.end() && std::ranges::all_of(consumption.counters, [&](const auto& counter) {
               return set->second.contains(counter.first);
             });
    });
  });
}

// Texts of shapes and pictures that are no longer in use, and stay until there are more.
constexpr std::size_t kSpareKeys = 4096;

}  // namespace

struct DeviceInventory::Impl {
  // A slice with what is computed once.
  struct Entry {
    Slice slice;
    NodeMatch nodes;
    std::vector<NodeMatch> device_nodes;  // by device; empty without selection per device
    bool ignored = false;                 // the gates exclude it
    const ResourceSlice& object() const { return *slice.object; }
  };
  struct Pool {
    std::map<std::string, Entry*, std::less<>> slices;      // by name
    std::map<std::string, std::size_t, std::less<>> nodes;  // the number of slices that are of one node
    std::size_t shared = 0;                                 // the number of the other slices
  };
  // The slices with a device.
  struct Source {
    const Pool* pool = nullptr;  // null: no slice has the device
    std::size_t count = 0;       // of the device in slices of the pool
  };
  struct PoolKey {
    std::string driver, pool;
    auto operator<=>(const PoolKey&) const = default;
  };
  // What was computed for a row.
  struct RowState {
    Expected<NodeDevices> devices = NodeDevices{};
    cluster::NodeNameId name{};
    std::uint64_t epoch = 0;
    std::uint64_t label_generation = 0;  // that of the node table; 0: does not depend on labels
  };

  const Features& features;
  cluster::ClusterObjects& objects;
  cluster::SymbolTable& symbols;
  AllocatedDevices& allocated;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> slices{};  // by name
  std::map<PoolKey, Pool> pools{};
  TextMap<std::set<std::string>> of_node{};  // names of slices by the name of their node
  std::set<std::string> shared{};            // names of slices that are not of a single node
  std::vector<Source> source_of{};           // by DeviceId
  std::vector<RowState> rows{};
  boost::unordered_flat_map<cluster::NodeNameId, cluster::Row> row_of{};  // of nodes that were read
  std::uint64_t epoch = 1;  // a row with an older one is outdated
  Numbers shapes{}, pictures{};
  std::size_t devices = 0;

  void OnSlice(const ports::Change<ResourceSlice>& change);
  void OnRules();
  void OnUse(DeviceId device);
  void AddSlice(std::shared_ptr<const ResourceSlice> object);
  void RemoveSlice(const std::string& name);
  void ApplyRules(Entry& entry);
  // Marks all nodes that see the pool as outdated.
  void Outdate(const Pool& pool);
  void OutdateNode(const std::string& name);

  const Expected<NodeDevices>& Of(const cluster::NodeTable& nodes, cluster::Row row);
  Expected<NodeDevices> Gather(const api::Node& node, bool& reads_labels);
  Expected<bool> IsRelevant(const Entry& entry, const api::Node& node) const;
  std::optional<NodePool> MakePool(const PoolKey& key, const std::vector<Entry*>& relevant,
                                   const api::Node& node);
  bool FillPool(NodePool& pool, const std::vector<Entry*>& relevant, const std::vector<Entry*>& others,
                const api::Node& node);
  void AddConsumption(const Entry& entry, Counters& consumed) const;
  Expected<void> ForEachCounted(const api::Node& node, const VisitDevice& visit) const;
  Expected<void> CountSlice(const Entry& entry, const api::Node& node, const VisitDevice& visit) const;
  std::uint64_t PictureOf(const NodeDevices& node);
};

// --- changes ---

void DeviceInventory::Impl::OnSlice(const ports::Change<ResourceSlice>& change) {
  if (change.before != nullptr) RemoveSlice(change.before->metadata.name);
  if (change.after != nullptr) AddSlice(change.after);
}

void DeviceInventory::Impl::AddSlice(std::shared_ptr<const ResourceSlice> object) {
  const ResourceSlice& slice = *object;
  const api::NodeSelector* selector = slice.node_selector ? &*slice.node_selector : nullptr;
  auto entry = std::make_unique<Entry>(
      Entry{{object, {}}, NodeMatch(slice.node_name, slice.all_nodes, selector), {}, false});
  entry->ignored =
      HasCompatibilityGroups(slice) || (!features.partitionable_devices &&
                                        (slice.per_device_node_selection || !slice.shared_counters.empty()));
  Pool& pool = pools[{slice.driver, slice.pool}];
  for (const api::Device& device : slice.devices) {
    SliceDevice& added = entry->slice.devices.emplace_back();
    added.device = &device;
    added.id = allocated.Acquire(slice.driver, slice.pool, device.name);
    if (added.id.value >= source_of.size()) source_of.resize(added.id.value + 1);
    source_of[added.id.value].pool = &pool;
    ++source_of[added.id.value].count;
    if (slice.per_device_node_selection) {
      entry->device_nodes.emplace_back(device.node_name, device.all_nodes,
                                       device.node_selector ? &*device.node_selector : nullptr);
    }
  }
  ApplyRules(*entry);
  devices += slice.devices.size();
  const std::string& name = slice.metadata.name;
  if (slice.node_name.empty()) {
    shared.insert(name);
    ++pool.shared;
  } else {
    of_node[slice.node_name].insert(name);
    ++pool.nodes[slice.node_name];
  }
  pool.slices[name] = entry.get();
  Outdate(pool);
  slices[name] = std::move(entry);
}

void DeviceInventory::Impl::RemoveSlice(const std::string& name) {
  const auto found = slices.find(name);
  if (found == slices.end()) return;
  const ResourceSlice& slice = found->second->object();
  const auto known = pools.find({slice.driver, slice.pool});
  BERTH_CHECK(known != pools.end(), name);
  Pool& pool = known->second;
  Outdate(pool);
  pool.slices.erase(name);
  if (slice.node_name.empty()) {
    shared.erase(name);
    --pool.shared;
  } else {
    const auto names = of_node.find(slice.node_name);
    const auto node = pool.nodes.find(slice.node_name);
    BERTH_CHECK(names != of_node.end() && node != pool.nodes.end(), name, slice.node_name);
    names->second.erase(name);
    if (names->second.empty()) of_node.erase(names);
    if (--node->second == 0) pool.nodes.erase(node);
  }
  devices -= slice.devices.size();
  for (const SliceDevice& device : found->second->slice.devices) {
    // Another slice of the pool may have a device of the same name.
    Source& source = source_of[device.id.value];
    if (--source.count == 0) source.pool = nullptr;
    allocated.Release(device.id);
  }
  if (pool.slices.empty()) pools.erase(known);
  slices.erase(found);
}

void DeviceInventory::Impl::OnRules() {
  for (const auto& [name, entry] : slices) ApplyRules(*entry);
  ++epoch;
}

// Sets the taints of all devices of the slice, and with them the shapes.
void DeviceInventory::Impl::ApplyRules(Entry& entry) {
  const ResourceSlice& slice = entry.object();
  for (SliceDevice& device : entry.slice.devices) device.taints = device.device->taints;
  if (features.device_taints && features.device_taint_rules) {
    objects.Of<api::DeviceTaintRule>().ForEach([&](const auto& rule) {
      if (!rule->selector) return;
      for (SliceDevice& device : entry.slice.devices) {
        if (Selects(*rule->selector, slice, *device.device)) device.taints.push_back(rule->taint);
      }
    });
  }
  for (SliceDevice& device : entry.slice.devices)
    device.shape = shapes.Of(ShapeOf(slice.driver, device), 2 * devices + kSpareKeys);
}

void DeviceInventory::Impl::OnUse(DeviceId device) {
  if (device.value < source_of.size() && source_of[device.value].pool != nullptr)
    Outdate(*source_of[device.value].pool);
}

// A kubelet may publish thousands of slices, all of its node.
void DeviceInventory::Impl::Outdate(const Pool& pool) {
  if (pool.shared > 0) {
    ++epoch;
    return;
  }
  for (const auto& [name, slices_of_node] : pool.nodes) OutdateNode(name);
}

void DeviceInventory::Impl::OutdateNode(const std::string& name) {
  const auto row = row_of.find(symbols.node_names.Find(name));
  // The row may belong to another node by now, which is then computed in vain.
  if (row != row_of.end()) rows[row->second].epoch = 0;
}

// --- reading ---

const Expected<NodeDevices>& DeviceInventory::Impl::Of(const cluster::NodeTable& nodes, cluster::Row row) {
  if (row >= rows.size()) rows.resize(nodes.rows());
  RowState& state = rows[row];
  const cluster::NodeNameId name = nodes.name_id(row);
  if (state.epoch == epoch && state.name == name &&
      (state.label_generation == 0 || state.label_generation == nodes.label_generation())) {
    return state.devices;
  }
  bool reads_labels = false;
  state.devices = Gather(nodes.node(row), reads_labels);
  if (state.name != name) {
    if (const auto old = row_of.find(state.name); old != row_of.end() && old->second == row)
      row_of.erase(old);
    state.name = name;
  }
  // Changes no longer reach the row that the node had before, and the node may return there, even if no other
  // node was read in between.
  if (const auto [at, added] = row_of.try_emplace(name, row); !added && at->second != row)
    rows[std::exchange(at->second, row)].epoch = 0;
  state.epoch = epoch;
  state.label_generation = reads_labels ? nodes.label_generation() : 0;
  return state.devices;
}

Expected<NodeDevices> DeviceInventory::Impl::Gather(const api::Node& node, bool& reads_labels) {
  std::map<PoolKey, std::vector<Entry*>> relevant;
  const auto consider = [&](const std::string& name) -> Expected<void> {
    Entry& entry = *slices.at(name);
    if (entry.ignored) return {};
    reads_labels = reads_labels || entry.nodes.reads_labels() ||
                   std::ranges::any_of(entry.device_nodes, &NodeMatch::reads_labels);
    BERTH_TRY(const bool matches, IsRelevant(entry, node));
    if (!matches) return {};
    std::vector<Entry*>& pool = relevant[{entry.object().driver, entry.object().pool}];
    const std::int64_t generation = entry.object().pool_generation;
    if (!pool.empty() && generation < pool.front()->object().pool_generation) return {};
    if (!pool.empty() && generation > pool.front()->object().pool_generation) pool.clear();
    pool.push_back(&entry);
    return {};
  };
  if (const auto own = of_node.find(node.metadata.name); own != of_node.end()) {
    for (const std::string& name : own->second) BERTH_RETURN_IF_ERROR(consider(name));
  }
  for (const std::string& name : shared) BERTH_RETURN_IF_ERROR(consider(name));
  NodeDevices result;
  std::vector<NodePool> last;  // pools with binding conditions are tried last
  for (auto& [key, entries] : relevant) {
    std::ranges::sort(entries, {}, [](const Entry* entry) { return entry->object().metadata.name; });
    std::optional<NodePool> pool = MakePool(key, entries, node);
    if (!pool) continue;
    const bool binds = std::ranges::any_of(pool->slices, [](const Slice* slice) {
      return std::ranges::any_of(slice->object->devices, [](const api::Device& device) {
        return !device.binding_conditions.empty();
      });
    });
    (binds ? last : result.pools).push_back(*std::move(pool));
  }
  std::ranges::move(last, std::back_inserter(result.pools));
  result.picture = PictureOf(result);
  return result;
}

Expected<bool> DeviceInventory::Impl::IsRelevant(const Entry& entry, const api::Node& node) const {
  const std::string& name = entry.object().metadata.name;
  if (!entry.nodes.unset()) {
    Expected<bool> matches = entry.nodes.Matches(node);
    if (!matches) {
      return std::unexpected(
          std::move(matches).error().In("failed to perform node selection for slice " + name));
    }
    return *matches;
  }
  for (std::size_t i = 0; i < entry.device_nodes.size(); ++i) {
    Expected<bool> matches = entry.device_nodes[i].Matches(node);
    if (!matches) {
      return std::unexpected(std::move(matches).error().In(
          fmt::format("failed to perform node selection for device {} in slice {}",
                      entry.object().devices[i].name, name)));
    }
    if (*matches) return true;
  }
  return false;
}

// `relevant`: the slices of the newest generation that are for this node, by name. nullopt: a newer
// generation has no slice for it, so the pool is obsolete.
std::optional<NodePool> DeviceInventory::Impl::MakePool(const PoolKey& key,
                                                        const std::vector<Entry*>& relevant,
                                                        const api::Node& node) {
  NodePool pool;
  pool.driver = key.driver;
  pool.pool = key.pool;
  const std::int64_t generation = relevant.front()->object().pool_generation;
  const std::int64_t wanted = relevant.front()->object().pool_slice_count;
  std::vector<Entry*> others;  // of this generation
  if (static_cast<std::int64_t>(relevant.size()) != wanted) {
    std::int64_t count = 0;
    std::size_t next = 0;  // of `relevant`, which has the same order
    for (const auto& [name, entry] : pools.at(key).slices) {
      if (entry->object().pool_generation > generation) return std::nullopt;
      if (entry->object().pool_generation < generation || HasCompatibilityGroups(entry->object())) continue;
      ++count;
      if (next < relevant.size() && relevant[next] == entry) {
        ++next;
      } else {
        others.push_back(entry);
      }
    }
    if (count != wanted) {
      pool.incomplete = true;
      return pool;
    }
  }
  if (!FillPool(pool, relevant, others, node)) {
    pool.invalid = true;
    pool.slices.clear();
    pool.usable.clear();
    pool.counters.clear();
    pool.consumed.clear();
  }
  return pool;
}

// False: the pool is invalid.
bool DeviceInventory::Impl::FillPool(NodePool& pool, const std::vector<Entry*>& relevant,
                                     const std::vector<Entry*>& others, const api::Node& node) {
  const auto has_counters = [&](const Entry* entry) {
    return features.partitionable_devices && !entry->object().shared_counters.empty();
  };
  std::set<std::string_view> names;
  for (Entry* entry : relevant) {
    if (has_counters(entry)) continue;
    pool.slices.push_back(&entry->slice);
    std::vector<bool>& usable = pool.usable.emplace_back();
    for (const NodeMatch& nodes : entry->device_nodes) usable.push_back(nodes.Matches(node).value_or(false));
    for (const api::Device& device : entry->object().devices) {
      if (!names.insert(device.name).second) return false;
    }
  }
  if (!features.partitionable_devices) return true;
  const auto all_of = [&](auto&& check) {
    return std::ranges::all_of(relevant, check) && std::ranges::all_of(others, check);
  };
  if (!all_of([&](const Entry* entry) {
        return !has_counters(entry) || AddCounterSets(entry->object(), pool.counters);
      })) {
    return false;
  }
  if (!all_of([&](const Entry* entry) {
        return has_counters(entry) || CountersExist(entry->object(), pool.counters);
      })) {
    return false;
  }
  if (pool.counters.empty()) return true;
  for (const std::vector<Entry*>* entries : {&relevant, &others}) {
    for (const Entry* entry : *entries) {
      if (!has_counters(entry)) AddConsumption(*entry, pool.consumed);
    }
  }
  return true;
}

// Adds what allocated devices of the slice consume. Each device counts once, however many shares it has.
void DeviceInventory::Impl::AddConsumption(const Entry& entry, Counters& consumed) const {
  for (const SliceDevice& device : entry.slice.devices) {
    if (allocated.use(device.id).free()) continue;
    for (const api::CounterConsumption& consumption : device.device->consumes_counters) {
      api::QuantityMap& set = consumed[consumption.counter_set];
      for (const auto& [name, amount] : consumption.counters) set[name] += amount;
    }
  }
}

Expected<void> DeviceInventory::Impl::ForEachCounted(const api::Node& node, const VisitDevice& visit) const {
  if (const auto own = of_node.find(node.metadata.name); own != of_node.end()) {
    for (const std::string& name : own->second)
      BERTH_RETURN_IF_ERROR(CountSlice(*slices.at(name), node, visit));
  }
  for (const std::string& name : shared) BERTH_RETURN_IF_ERROR(CountSlice(*slices.at(name), node, visit));
  return {};
}

Expected<void> DeviceInventory::Impl::CountSlice(const Entry& entry, const api::Node& node,
                                                 const VisitDevice& visit) const {
  if (entry.device_nodes.empty() && !entry.nodes.unset()) {
    BERTH_TRY(const bool matches, entry.nodes.Matches(node));
    if (!matches) return {};
  }
  for (std::size_t i = 0; i < entry.slice.devices.size(); ++i) {
    if (!entry.device_nodes.empty()) {
      BERTH_TRY(const bool matches, entry.device_nodes[i].Matches(node));
      if (!matches) continue;
    }
    visit(entry.object().driver, entry.slice.devices[i]);
  }
  return {};
}

std::uint64_t DeviceInventory::Impl::PictureOf(const NodeDevices& node) {
  KeyText key;
  for (const NodePool& pool : node.pools) {
    key.Add(std::uint64_t{pool.incomplete}).Add(std::uint64_t{pool.invalid}).Add(pool.slices.size());
    for (std::size_t s = 0; s < pool.slices.size(); ++s) {
      const Slice& slice = *pool.slices[s];
      key.Add(slice.devices.size());
      for (std::size_t d = 0; d < slice.devices.size(); ++d) {
        const SliceDevice& device = slice.devices[d];
        const AllocatedDevices::Use& use = allocated.use(device.id);
        const std::uint64_t state =
            (use.claims > 0 ? 1U : 0U) | (use.shares > 0 ? 2U : 0U) | (pool.IsUsable(s, d) ? 4U : 0U);
        key.Add(device.shape).Add(state);
        if (use.shares > 0) key.Add(use.consumed);
      }
    }
    for (const Counters* counters : {&pool.counters, &pool.consumed}) {
      key.Add(counters->size());
      for (const auto& [name, amounts] : *counters) key.Add(name).Add(amounts);
    }
  }
  return pictures.Of(key.Take(), 4 * rows.size() + kSpareKeys);
}

// --- the class ---

DeviceInventory::DeviceInventory(const Features& features, cluster::ClusterObjects& objects,
                                 cluster::SymbolTable& symbols, AllocatedDevices& allocated)
    : impl_(new Impl{features, objects, symbols, allocated}) {
  Impl* impl = impl_.get();
  objects.Of<ResourceSlice>().ForEach([&](const auto& slice) { impl->AddSlice(slice); });
  objects.Of<ResourceSlice>().Listen([impl](const auto& change) { impl->OnSlice(change); });
  objects.Of<api::DeviceTaintRule>().Listen([impl](const auto&) { impl->OnRules(); });
  allocated.Listen([impl](DeviceId device) { impl->OnUse(device); });
}

DeviceInventory::~DeviceInventory() = default;

const Expected<NodeDevices>& DeviceInventory::Of(const cluster::NodeTable& nodes, cluster::Row row) {
  return impl_->Of(nodes, row);
}

Expected<void> DeviceInventory::ForEachCounted(const cluster::NodeTable& nodes, cluster::Row row,
                                               const VisitDevice& visit) {
  return impl_->ForEachCounted(nodes.node(row), visit);
}

}  // namespace berth::devices
