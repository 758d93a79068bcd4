#include "framework/node_table.hpp"

#include <algorithm>

#include "api/same_amounts.hpp"
#include "base/wrap.hpp"

namespace berth::framework {
namespace {

template <class T>
T& At(std::vector<T>& list, std::size_t index) {
  if (index >= list.size()) list.resize(index + 1);
  return list[index];
}

bool SameImages(const std::vector<api::ContainerImage>& a, const std::vector<api::ContainerImage>& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.size_bytes == y.size_bytes && x.names == y.names; });
}

}  // namespace

NodeTable::NodeTable(Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  for (const ResourceId id : {kCpu, kMemory, kEphemeralStorage}) ColumnOf(id);
}

Row NodeTable::Find(NodeNameId name) const {
  return name.known() && name.value < row_of_name_.size() ? row_of_name_[name.value] : kNoRow;
}

std::span<const std::int64_t> NodeTable::allocatable(ResourceId resource) const {
  if (!resource.known() || resource.value >= columns_.size()) return {};
  return columns_[resource.value].allocatable;
}

std::span<const std::int64_t> NodeTable::requested(ResourceId resource) const {
  if (!resource.known() || resource.value >= columns_.size()) return {};
  return columns_[resource.value].requested;
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

void NodeTable::AddPortConflicts(HostPort wanted, RowSet& out) const {
  const auto found = ports_.find(wanted.port);
  if (found == ports_.end()) return;
  for (const PortUse& use : found->second) {
    if (wanted.address == kAnyAddress || use.address == kAnyAddress || use.address == wanted.address) {
      use.rows.AddTo(out);
    }
  }
}

Row NodeTable::Add(api::NodePtr node) {
  Row row = 0;
  if (free_rows_.empty()) {
    row = static_cast<Row>(nodes_.size());
    nodes_.emplace_back();
    taints_.emplace_back();
    for (auto* column : {&non_zero_cpu_, &non_zero_memory_, &pod_count_, &allowed_pods_})
      column->push_back(0);
    for (Column& column : columns_) {
      column.allocatable.push_back(0);
      column.requested.push_back(0);
    }
    all_.Resize(nodes_.size());
    unschedulable_.Resize(nodes_.size());
  } else {
    row = free_rows_.back();
    free_rows_.pop_back();
  }
  const NodeNameId name = vocabulary_.node_names.Intern(node->metadata.name);
  while (row_of_name_.size() <= name.value) row_of_name_.push_back(kNoRow);
  row_of_name_[name.value] = row;
  ++node_count_;
  all_.Add(row);
  SetAllocatable(row, node->allocatable);
  SetLabels(row, node->metadata.labels, true);
  SetImages(row, node->images, true);
  SetTaints(row, vocabulary_.InternTaints(node->taints));
  if (node->unschedulable) unschedulable_.Add(row);
  nodes_[row] = std::move(node);
  return row;
}

void NodeTable::Update(Row row, api::NodePtr node) {
  // Most updates are a kubelet's report that nothing changed.
  const api::Node& old = *nodes_[row];
  if (!api::SameAmounts(old.allocatable, node->allocatable)) SetAllocatable(row, node->allocatable);
  if (old.metadata.labels != node->metadata.labels) {
    SetLabels(row, old.metadata.labels, false);
    SetLabels(row, node->metadata.labels, true);
  }
  if (!SameImages(old.images, node->images)) {
    // New names first: an image that stays must not lose its state in between.
    SetImages(row, node->images, true);
    std::vector<api::ContainerImage> gone = old.images;
    for (api::ContainerImage& image : gone) {
      std::erase_if(image.names, [&](const std::string& name) {
        return std::ranges::any_of(node->images, [&](const auto& kept) {
          return std::ranges::find(kept.names, name) != kept.names.end();
        });
      });
    }
    SetImages(row, gone, false);
  }
  if (old.taints != node->taints) SetTaints(row, vocabulary_.InternTaints(node->taints));
  if (node->unschedulable) {
    unschedulable_.Add(row);
  } else {
    unschedulable_.Remove(row);
  }
  nodes_[row] = std::move(node);
}

void NodeTable::Remove(Row row) {
  const api::NodePtr node = std::move(nodes_[row]);
  nodes_[row] = nullptr;
  SetLabels(row, node->metadata.labels, false);
  SetImages(row, node->images, false);
  taint_rows_[taints_[row].value].Remove(row);
  taints_[row] = {};
  unschedulable_.Remove(row);
  all_.Remove(row);
  --node_count_;
  row_of_name_[vocabulary_.node_names.Intern(node->metadata.name).value] = kNoRow;
  for (Column& column : columns_) column.allocatable[row] = column.requested[row] = 0;
  for (auto* column : {&non_zero_cpu_, &non_zero_memory_, &pod_count_, &allowed_pods_}) (*column)[row] = 0;
  for (auto& [port, uses] : ports_) {
    for (PortUse& use : uses) use.rows.Remove(row);
  }
  free_rows_.push_back(row);
}

void NodeTable::AddUse(Row row, const PodUse& use) {
  AddAmounts(row, use, 1);
  for (const HostPort& port : use.ports) AddPort(row, port);
}

void NodeTable::RemoveUse(Row row, const PodUse& use) {
  AddAmounts(row, use, -1);
  for (const HostPort& port : use.ports) RemovePort(row, port);
}

NodeTable::Overlay::~Overlay() {
  for (const auto& [row, use] : uses_) table_.AddAmounts(row, *use, -1);
  for (const AddedPort& added : ports_) table_.RemovePort(added.row, added.port);
}

void NodeTable::Overlay::Add(Row row, const PodUse& use) {
  uses_.emplace_back(row, &use);
  table_.AddAmounts(row, use, 1);
  for (const HostPort& port : use.ports) {
    if (table_.AddPort(row, port)) ports_.push_back({row, port});
  }
}

NodeTable::Column& NodeTable::ColumnOf(ResourceId resource) {
  while (columns_.size() <= resource.value) {
    columns_.push_back({std::vector<std::int64_t>(nodes_.size()), std::vector<std::int64_t>(nodes_.size())});
  }
  return columns_[resource.value];
}

void NodeTable::SetAllocatable(Row row, const api::ResourceList& list) {
  for (Column& column : columns_) column.allocatable[row] = 0;
  allowed_pods_[row] = 0;
  for (const auto& [name, quantity] : list) {
    if (name == "pods") {
      allowed_pods_[row] = quantity.Value();
      continue;
    }
    const ResourceId id = vocabulary_.InternResource(name);
    if (id.known()) ColumnOf(id).allocatable[row] = id == kCpu ? quantity.MilliValue() : quantity.Value();
  }
}

void NodeTable::SetLabels(Row row, const api::Labels& labels, bool present) {
  for (const auto& [key_text, value] : labels) {
    const LabelKeyId key = vocabulary_.InternKey(key_text);
    const LabelId label = vocabulary_.InternLabel(key, value);
    if (present) {
      At(label_rows_, label.value).Add(row);
      At(key_rows_, key.value).Add(row);
    } else {
      label_rows_[label.value].Remove(row);
      key_rows_[key.value].Remove(row);
    }
  }
}

void NodeTable::SetImages(Row row, const std::vector<api::ContainerImage>& images, bool present) {
  for (const api::ContainerImage& image : images) {
    for (const std::string& name : image.names) {
      ImageState& state = At(images_, vocabulary_.images.Intern(name).value);
      if (present) {
        if (state.rows.Empty()) state.size_bytes = image.size_bytes;
        state.rows.Add(row);
      } else {
        state.rows.Remove(row);
      }
    }
  }
}

void NodeTable::SetTaints(Row row, TaintListId list) {
  if (taints_[row].known()) taint_rows_[taints_[row].value].Remove(row);
  taints_[row] = list;
  At(taint_rows_, list.value).Add(row);
}

void NodeTable::AddAmounts(Row row, const PodUse& use, std::int64_t sign) {
  const auto add = [&](std::int64_t& sum, std::int64_t amount) { sum = WrapAdd(sum, WrapMul(sign, amount)); };
  const Amounts& amounts = use.requested;
  add(columns_[kCpu.value].requested[row], amounts.milli_cpu);
  add(columns_[kMemory.value].requested[row], amounts.memory);
  add(columns_[kEphemeralStorage.value].requested[row], amounts.ephemeral_storage);
  for (const auto& [resource, value] : amounts.scalars) add(ColumnOf(resource).requested[row], value);
  add(non_zero_cpu_[row], use.non_zero_milli_cpu);
  add(non_zero_memory_[row], use.non_zero_memory);
  add(pod_count_[row], 1);
}

bool NodeTable::AddPort(Row row, HostPort port) {
  std::vector<PortUse>& uses = ports_[port.port];
  auto found = std::ranges::find(uses, port.address, &PortUse::address);
  if (found == uses.end()) found = uses.insert(uses.end(), {port.address, {}});
  if (found->rows.Has(row)) return false;
  found->rows.Add(row);
  return true;
}

void NodeTable::RemovePort(Row row, HostPort port) {
  const auto entry = ports_.find(port.port);
  if (entry == ports_.end()) return;
  const auto found = std::ranges::find(entry->second, port.address, &PortUse::address);
  if (found == entry->second.end()) return;
  found->rows.Remove(row);
  if (found->rows.Empty()) entry->second.erase(found);
  if (entry->second.empty()) ports_.erase(entry);
}

}  // namespace berth::framework
