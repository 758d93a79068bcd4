#include "scheduler/cluster/node_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/reciprocal.hpp"
#include "base/text_map.hpp"
#include "base/wrap.hpp"
#include "kubernetes/api/same_amounts.hpp"
#include "scheduler/cluster/at.hpp"
#include "scheduler/cluster/host_ports_in_use.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/cluster/row_log.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {
namespace {

bool SameImages(const std::vector<api::ContainerImage>& a, const std::vector<api::ContainerImage>& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.size_bytes == y.size_bytes && x.names == y.names; });
}

// The first image with each name. A kubelet lists any number of images.
using ImageByName = FlatTextMap<const api::ContainerImage*>;
ImageByName FirstWithName(const std::vector<api::ContainerImage>& images) {
  ImageByName first;
  for (const api::ContainerImage& image : images) {
    for (const std::string& name : image.names) first.try_emplace(name, &image);
  }
  return first;
}

void Notify(const std::vector<PodObserver*>& observers, Row row, const PlacedPod& pod, bool appears) {
  for (PodObserver* observer : observers) {
    if (appears) {
      observer->OnPodAdded(row, pod);
    } else {
      observer->OnPodRemoved(row, pod);
    }
  }
}

}  // namespace

struct NodeTable::Column {
  void Resize(std::size_t rows) {
    allocatable.resize(rows);
    inverse_allocatable.resize(rows);
    requested.resize(rows);
  }
  void SetAllocatable(Row row, std::int64_t amount) {
    allocatable[row] = amount;
    inverse_allocatable[row] = SmallInverse(amount);
  }
  bool built() const { return !allocatable.empty(); }

  std::vector<std::int64_t> allocatable;  // by row; empty: not built
  std::vector<double> inverse_allocatable;
  std::vector<std::int64_t> requested;
  std::uint32_t nodes = 0;  // that list the resource, also with amount 0
};

struct NodeTable::TrackedTopology {
  void Join(Row row, LabelId label);
  void Leave(Row row);

  Topology topology;
  std::size_t slot = 0;  // index in topologies_
  boost::unordered_flat_map<LabelId, std::uint32_t> domain_of;
  std::vector<std::uint32_t> free;
};

NodeTable::NodeTable(SymbolTable& symbols)
    : symbols_(symbols),
      pod_changes_(std::make_unique<RowLog>()),
      start_changes_(std::make_unique<RowLog>()),
      ports_(std::make_unique<HostPortsInUse>()) {
  columns_.resize(kFirstScalar);
}
NodeTable::~NodeTable() = default;

void NodeTable::Observe(PodObserver& observer) {
  observers_.push_back(&observer);
  all_.ForEach([&](std::size_t index) {
    const Row row = static_cast<Row>(index);
    observer.OnNodeAdded(row);
    if (!pods_[row].empty()) observer.OnPodsFound(row, pods_[row]);
  });
}
void NodeTable::ObserveWithWithdrawals(PodObserver& observer) {
  Observe(observer);
  withdrawal_observers_.push_back(&observer);
}
void NodeTable::ObserveWithOverlays(PodObserver& observer) {
  ObserveWithWithdrawals(observer);
  overlay_observers_.push_back(&observer);
}
void NodeTable::Forget(PodObserver& observer) {
  for (auto* observers : {&observers_, &withdrawal_observers_, &overlay_observers_})
    std::erase(*observers, &observer);
}

Row NodeTable::Find(NodeNameId name) const {
  return name.known() && name.value < row_of_name_.size() ? row_of_name_[name.value] : kNoRow;
}

Row NodeTable::Find(std::string_view name) const { return Find(symbols_.node_names.Find(name)); }

std::span<const std::int64_t> NodeTable::allocatable(ResourceId resource) const {
  const Column* column = ColumnOf(resource);
  return column != nullptr ? column->allocatable : std::span<const std::int64_t>();
}

std::span<const double> NodeTable::inverse_allocatable(ResourceId resource) const {
  const Column* column = ColumnOf(resource);
  return column != nullptr ? column->inverse_allocatable : std::span<const double>();
}

std::span<const std::int64_t> NodeTable::requested(ResourceId resource) const {
  const Column* column = ColumnOf(resource);
  return column != nullptr ? column->requested : std::span<const std::int64_t>();
}

const NodeTable::Column* NodeTable::ColumnOf(ResourceId resource) const {
  if (resource.value >= columns_.size()) return nullptr;
  const Column& column = columns_[resource.value];
  if (!column.built()) {
    if (column.nodes == 0) return nullptr;
    BuildColumn(resource);
  }
  return &column;
}

bool NodeTable::IsBuilt(ResourceId resource) const {
  return resource.value < columns_.size() && columns_[resource.value].built();
}

std::int64_t NodeTable::RequestedOn(Row row, ResourceId resource) const {
  if (IsBuilt(resource)) return columns_[resource.value].requested[row];
  const auto found = sparse_requested_.find({resource, row});
  return found == sparse_requested_.end() ? 0 : found->second;
}

std::size_t NodeTable::columns() const {
  return static_cast<std::size_t>(std::ranges::count_if(columns_, &Column::built));
}

const RowGroup* NodeTable::WithLabel(LabelId label) const {
  return label.known() && label.value < label_rows_.size() ? &label_rows_[label.value] : nullptr;
}

const RowSet* NodeTable::WithKey(LabelKeyId key) const {
  return key.known() && key.value < key_rows_.size() ? &key_rows_[key.value] : nullptr;
}

const ImageState* NodeTable::Image(ImageId image) const {
  if (!image.known() || image.value >= images_.size() || images_[image.value].rows.Empty()) return nullptr;
  return &images_[image.value];
}

const Topology& NodeTable::TopologyOf(LabelKeyId key) const {
  // Pods may name any number of keys: those that no node has get no table.
  if (key.value >= topology_of_key_.size() || topology_of_key_[key.value] == nullptr) {
    const RowSet* having = WithKey(key);
    if (having == nullptr || having->Empty()) return absent_topology_;
  }
  TrackedTopology*& known = At(topology_of_key_, key.value);
  if (known == nullptr) {
    known = topologies_.emplace_back(std::make_unique<TrackedTopology>()).get();
    known->slot = topologies_.size() - 1;
    known->topology.domain.assign(rows(), Topology::kNoDomain);
    for (const LabelId label : symbols_.LabelsOf(key)) {
      if (const RowGroup* group = WithLabel(label))
        group->ForEach([&](std::size_t row) { known->Join(static_cast<Row>(row), label); });
    }
  }
  return known->topology;
}

void NodeTable::TrackedTopology::Join(Row row, LabelId label) {
  const auto [entry, added] = domain_of.try_emplace(label, static_cast<std::uint32_t>(topology.domains()));
  if (added && !free.empty()) {
    entry->second = free.back();
    free.pop_back();
    topology.label_of[entry->second] = label;
  } else if (added) {
    topology.rows_in.push_back(0);
    topology.label_of.push_back(label);
  }
  if (topology.domain.size() <= row) topology.domain.resize(row + 1, Topology::kNoDomain);
  topology.domain[row] = entry->second;
  ++topology.rows_in[entry->second];
}

void NodeTable::TrackedTopology::Leave(Row row) {
  const std::uint32_t domain = std::exchange(topology.domain[row], Topology::kNoDomain);
  BERTH_CHECK(domain < topology.rows_in.size() && topology.rows_in[domain] > 0, row, domain);
  if (--topology.rows_in[domain] > 0) return;
  domain_of.erase(topology.label_of[domain]);
  topology.label_of[domain] = {};
  free.push_back(domain);
}

void NodeTable::AddPortConflicts(HostPort wanted, RowSet& out) const { ports_->AddConflicts(wanted, out); }

Row NodeTable::Add(api::NodePtr node) {
  Row row = 0;
  if (free_rows_.empty()) {
    row = static_cast<Row>(nodes_.size());
    nodes_.emplace_back();
    name_ids_.emplace_back();
    pods_.emplace_back();
    taints_.emplace_back();
    for (auto* column : {&non_zero_cpu_, &non_zero_memory_, &pod_count_, &allowed_pods_})
      column->push_back(0);
    absent_topology_.domain.push_back(Topology::kNoDomain);
    for (std::size_t id = 0; id < columns_.size(); ++id) {
      if (id >= kFirstScalar && !columns_[id].built()) continue;
      columns_[id].Resize(nodes_.size());
    }
    for (const auto& tracked : topologies_) tracked->topology.domain.push_back(Topology::kNoDomain);
    all_.Resize(nodes_.size());
    unschedulable_.Resize(nodes_.size());
  } else {
    row = free_rows_.back();
    free_rows_.pop_back();
  }
  BERTH_CHECK(!all_.Has(row) && pods_[row].empty(), row, pods_[row].size());
  const NodeNameId name = symbols_.node_names.Intern(node->metadata.name);
  while (row_of_name_.size() <= name.value) row_of_name_.push_back(kNoRow);
  row_of_name_[name.value] = row;
  name_ids_[row] = name;
  ++node_count_;
  ++node_changes_;
  all_.Add(row);
  SetAllocatable(row, {}, node->allocatable);
  SetLabels(row, node->metadata.labels, true);
  SetImages(row, node->images, true);
  SetTaints(row, node->taints);
  if (node->unschedulable) unschedulable_.Add(row);
  nodes_[row] = std::move(node);
  for (PodObserver* observer : observers_) observer->OnNodeAdded(row);
  return row;
}

void NodeTable::Update(Row row, api::NodePtr node) {
  // Most updates are status reports of the kubelet without changes.
  BERTH_CHECK(row < nodes_.size() && nodes_[row] != nullptr, row, nodes_.size());
  const api::Node& old = *nodes_[row];
  if (!api::SameAmounts(old.allocatable, node->allocatable)) {
    SetAllocatable(row, old.allocatable, node->allocatable);
    ++node_changes_;
  }
  if (old.metadata.labels != node->metadata.labels) {
    SetLabels(row, old.metadata.labels, false);
    SetLabels(row, node->metadata.labels, true);
    FreeTopologies(old.metadata.labels);
    ++node_changes_;
  }
  // New names first: the state of an image that other nodes have must not be dropped in between. Also if the
  // images are the same: this node may have become the only one of an image.
  SetImages(row, node->images, true);
  if (!SameImages(old.images, node->images)) {
    const ImageByName kept = FirstWithName(node->images);
    std::vector<api::ContainerImage> gone = old.images;
    for (api::ContainerImage& image : gone)
      std::erase_if(image.names, [&](const std::string& name) { return kept.contains(name); });
    SetImages(row, gone, false);
    ++node_changes_;
  }
  if (old.taints != node->taints) {
    SetTaints(row, node->taints);
    ++node_changes_;
  }
  if (old.unschedulable != node->unschedulable || old.declared_features != node->declared_features)
    ++node_changes_;
  if (node->unschedulable) {
    unschedulable_.Add(row);
  } else {
    unschedulable_.Remove(row);
  }
  nodes_[row] = std::move(node);
}

void NodeTable::Remove(Row row) {
  // The sums of a row are those of its pods, so a row without pods has none left.
  BERTH_CHECK(pods_[row].empty() && pod_count_[row] == 0 && columns_[kCpu.value].requested[row] == 0 &&
                  columns_[kMemory.value].requested[row] == 0,
              row, pods_[row].size(), pod_count_[row], columns_[kCpu.value].requested[row],
              columns_[kMemory.value].requested[row]);
  for (PodObserver* observer : observers_) observer->OnNodeRemoved(row);
  const api::NodePtr node = std::move(nodes_[row]);
  nodes_[row] = nullptr;
  SetLabels(row, node->metadata.labels, false);
  SetImages(row, node->images, false);
  RemoveTaints(row);
  FreeTopologies(node->metadata.labels);
  unschedulable_.Remove(row);
  all_.Remove(row);
  --node_count_;
  ++node_changes_;
  row_of_name_[name_ids_[row].value] = kNoRow;
  name_ids_[row] = {};
  for (Column& column : columns_) {
    if (!column.built()) continue;
    column.SetAllocatable(row, 0);
    column.requested[row] = 0;
  }
  RemoveFromColumns(node->allocatable);
  for (auto* column : {&non_zero_cpu_, &non_zero_memory_, &pod_count_, &allowed_pods_}) (*column)[row] = 0;
  free_rows_.push_back(row);
}

void NodeTable::InvalidateResults(Row row) { pod_changes_->Add(row); }

void NodeTable::AddPod(Row row, PlacedPod& pod) {
  InvalidateResults(row);
  AddToList(row, pod);
  AddAmounts(row, pod.use(), 1);
  for (const HostPort& port : pod.use().ports) ports_->Add(row, port);
  Notify(observers_, row, pod, true);
}

void NodeTable::RemovePod(Row row, PlacedPod& pod) {
  InvalidateResults(row);
  RemoveFromList(row, pod);
  AddAmounts(row, pod.use(), -1);
  for (const HostPort& port : pod.use().ports) ports_->Remove(row, port);
  Notify(observers_, row, pod, false);
}

void NodeTable::ReplacePod(Row row, PlacedPod& pod, api::PodPtr version) {
  const bool started = pod.pod->status.start_time != version->status.start_time;
  pod.pod = std::move(version);
  // kube-scheduler removes the old version and adds the new one, which takes ports again that the removal of
  // another pod with the same ports has freed.
  bool took_ports = false;
  for (const HostPort& port : pod.use().ports) took_ports |= ports_->Add(row, port);
  if (took_ports) InvalidateResults(row);
  if (!started) return;
  start_changes_->Add(row);
  for (PodObserver* observer : observers_) observer->OnPodStarted(row, pod);
}

void NodeTable::AddToList(Row row, PlacedPod& pod) {
  pod.slot = static_cast<std::uint32_t>(pods_[row].size());
  pods_[row].push_back(&pod);
}

void NodeTable::RemoveFromList(Row row, PlacedPod& pod) {
  std::vector<PlacedPod*>& list = pods_[row];
  BERTH_CHECK(pod.slot < list.size() && list[pod.slot] == &pod, row, pod.slot, list.size());
  list[pod.slot] = list.back();
  list[pod.slot]->slot = pod.slot;
  list.pop_back();
}

NodeTable::Overlay::~Overlay() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->pod == nullptr) continue;
    table_.AddAmounts(step->row, step->pod->use(), step->added ? -1 : 1);
    const std::span<const HostPort> ports(ports_.data() + step->first_port, step->ports);
    if (step->added) {
      table_.RemoveFromList(step->row, *step->pod);
      for (const HostPort& port : ports) table_.ports_->Remove(step->row, port);
    } else {
      table_.AddToList(step->row, *step->pod);
      for (const HostPort& port : ports) table_.ports_->Add(step->row, port);
    }
    Notify(table_.overlay_observers_, step->row, *step->pod, !step->added);
    BERTH_CHECK(table_.pod_count_[step->row] == static_cast<std::int64_t>(table_.pods_[step->row].size()),
                step->row, table_.pod_count_[step->row], table_.pods_[step->row].size());
  }
}

const PlacedPod& NodeTable::Overlay::Add(Row row, const PodInfo& pod) {
  PlacedPod& overlay_pod = overlay_pods_.emplace_back(PlacedPod{pod.pod, pod.shape->use});
  Take(row, overlay_pod, true);
  return overlay_pod;
}
void NodeTable::Overlay::Add(Row row, PlacedPod& pod) {
  if (!CancelRemoval(row, pod)) Take(row, pod, true);
}
void NodeTable::Overlay::Remove(Row row, PlacedPod& pod) { Take(row, pod, false); }

void NodeTable::Overlay::Take(Row row, PlacedPod& pod, bool add) {
  steps_.push_back({row, add, &pod, static_cast<std::uint32_t>(ports_.size()), 0});
  table_.AddAmounts(row, pod.use(), add ? 1 : -1);
  if (add) {
    table_.AddToList(row, pod);
  } else {
    table_.RemoveFromList(row, pod);
    pod.slot = static_cast<std::uint32_t>(steps_.size() - 1);
  }
  for (const HostPort& port : pod.use().ports) {
    if (add ? table_.ports_->Add(row, port) : table_.ports_->Remove(row, port)) ports_.push_back(port);
  }
  steps_.back().ports = static_cast<std::uint32_t>(ports_.size()) - steps_.back().first_port;
  Notify(table_.overlay_observers_, row, pod, add);
}

// Cancels the step that removed this pod. Not possible for a pod with ports: other steps may have taken or
// freed them since.
bool NodeTable::Overlay::CancelRemoval(Row row, PlacedPod& pod) {
  if (pod.slot >= steps_.size() || !pod.use().ports.empty()) return false;
  Step& step = steps_[pod.slot];
  if (step.pod != &pod || step.added || step.row != row) return false;
  step.pod = nullptr;
  table_.AddAmounts(row, pod.use(), 1);
  table_.AddToList(row, pod);
  Notify(table_.overlay_observers_, row, pod, true);
  return true;
}

void NodeTable::BuildColumn(ResourceId resource) const {
  Column& column = columns_[resource.value];
  column.Resize(nodes_.size());
  const std::string& name = symbols_.ResourceName(resource);
  all_.ForEach([&](std::size_t row) {
    const api::ResourceList& list = nodes_[row]->allocatable;
    if (const auto found = list.find(name); found != list.end())
      column.SetAllocatable(static_cast<Row>(row), found->second.Value());
  });
  erase_if(sparse_requested_, [&](const auto& entry) {
    if (entry.first.first != resource) return false;
    column.requested[entry.first.second] = entry.second;
    return true;
  });
}

void NodeTable::SetAllocatable(Row row, const api::ResourceList& before, const api::ResourceList& list) {
  for (Column& column : columns_) {
    if (column.built()) column.SetAllocatable(row, 0);
  }
  allowed_pods_[row] = 0;
  for (const auto& [name, quantity] : list) {
    if (name == "pods") {
      allowed_pods_[row] = quantity.Value();
      continue;
    }
    const ResourceId id = symbols_.InternResource(name);
    if (!id.known()) continue;
    Column& column = At(columns_, id.value);
    ++column.nodes;
    if (column.built()) column.SetAllocatable(row, id == kCpu ? quantity.MilliValue() : quantity.Value());
  }
  // At the end: what the row keeps is not freed.
  RemoveFromColumns(before);
}

void NodeTable::RemoveFromColumns(const api::ResourceList& list) {
  for (const auto& [name, quantity] : list) {
    const ResourceId id = symbols_.FindResource(name);
    if (!id.known()) continue;  // it has no column
    Column& column = columns_[id.value];
    BERTH_CHECK(column.nodes > 0, name);
    if (--column.nodes > 0 || id.value < kFirstScalar) continue;
    // Pods that still request it stay on their nodes.
    for (Row row = 0; row < column.requested.size(); ++row) {
      if (column.requested[row] != 0) sparse_requested_.try_emplace({id, row}, column.requested[row]);
    }
    column = Column{};
  }
}

void NodeTable::SetLabels(Row row, const api::Labels& labels, bool present) {
  ++label_generation_;
  for (const auto& [key_text, value] : labels) {
    const LabelKeyId key = symbols_.InternKey(key_text);
    const LabelId label = symbols_.InternLabel(key, value);
    TrackedTopology* tracked = key.value < topology_of_key_.size() ? topology_of_key_[key.value] : nullptr;
    if (present) {
      At(label_rows_, label.value).Add(row);
      At(key_rows_, key.value).Add(row);
      if (tracked != nullptr) tracked->Join(row, label);
    } else {
      if (tracked != nullptr) tracked->Leave(row);
      label_rows_[label.value].Remove(row);
      key_rows_[key.value].Remove(row);
    }
  }
}

void NodeTable::FreeTopologies(const api::Labels& labels) {
  for (const auto& [key_text, value] : labels) {
    const LabelKeyId key = symbols_.FindKey(key_text);
    if (key.value >= topology_of_key_.size() || topology_of_key_[key.value] == nullptr) continue;
    if (!key_rows_[key.value].Empty()) continue;
    const std::size_t slot = std::exchange(topology_of_key_[key.value], nullptr)->slot;
    BERTH_CHECK(slot < topologies_.size(), slot, topologies_.size());
    std::swap(topologies_[slot], topologies_.back());
    topologies_[slot]->slot = slot;
    topologies_.pop_back();
  }
}

void NodeTable::SetImages(Row row, const std::vector<api::ContainerImage>& images, bool present) {
  std::optional<ImageByName> first;  // most updates change no size
  for (const api::ContainerImage& image : images) {
    for (const std::string& name : image.names) {
      ImageState& state = At(images_, symbols_.images.Intern(name).value);
      if (present) {
        state.rows.Add(row);
        // kube-scheduler removes a node's images and adds them again at each update, so an image that no
        // other node has gets the size that is listed first.
        if (state.size_bytes == image.size_bytes || state.rows.Count() > 1) continue;
        if (!first) first = FirstWithName(images);
        if (first->at(name) != &image) continue;
        state.size_bytes = image.size_bytes;
        ++node_changes_;
      } else {
        state.rows.Remove(row);
      }
    }
  }
}

void NodeTable::SetTaints(Row row, const std::vector<api::Taint>& taints) {
  const TaintListId list = symbols_.UseTaints(taints);
  RemoveTaints(row);
  taints_[row] = list;
  At(taint_rows_, list.value).Add(row);
}

void NodeTable::RemoveTaints(Row row) {
  const TaintListId list = std::exchange(taints_[row], {});
  if (!list.known()) return;
  RowGroup& rows = taint_rows_[list.value];
  BERTH_CHECK(rows.Has(row), row, list.value);
  rows.Remove(row);
  if (rows.Empty()) rows = {};  // frees its bits
  // Every decision visits all groups.
  while (!taint_rows_.empty() && taint_rows_.back().Empty()) taint_rows_.pop_back();
  symbols_.ReleaseTaints(list);
}

void NodeTable::AddAmounts(Row row, const PodUse& use, std::int64_t sign) {
  const auto add = [&](std::int64_t& sum, std::int64_t amount) { sum = WrapAdd(sum, WrapMul(sign, amount)); };
  const Amounts& amounts = use.requested;
  add(columns_[kCpu.value].requested[row], amounts.milli_cpu);
  add(columns_[kMemory.value].requested[row], amounts.memory);
  add(columns_[kEphemeralStorage.value].requested[row], amounts.ephemeral_storage);
  for (const auto& [resource, value] : amounts.scalars) AddScalar(row, resource, WrapMul(sign, value));
  add(non_zero_cpu_[row], use.non_zero_milli_cpu);
  add(non_zero_memory_[row], use.non_zero_memory);
  add(pod_count_[row], 1);
}

void NodeTable::AddScalar(Row row, ResourceId resource, std::int64_t amount) {
  if (amount == 0) return;
  if (IsBuilt(resource)) {
    std::int64_t& sum = columns_[resource.value].requested[row];
    sum = WrapAdd(sum, amount);
    return;
  }
  const auto entry = sparse_requested_.try_emplace({resource, row}, 0).first;
  entry->second = WrapAdd(entry->second, amount);
  if (entry->second == 0) sparse_requested_.erase(entry);
}

}  // namespace berth::cluster
