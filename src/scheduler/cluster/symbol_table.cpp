#include "scheduler/cluster/symbol_table.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/cluster/node_selection.hpp"

namespace berth::cluster {
namespace {

template <class T>
T& At(std::vector<T>& list, std::size_t index) {
  if (index >= list.size()) list.resize(index + 1);
  return list[index];
}

std::string LabelText(const std::string& key, std::string_view value) {
  std::string text = key;
  text += '\n';
  text += value;
  return text;
}

// Adds a use of the text, and the id to the list if the text is not permanent.
template <class Tag>
Id<Tag> Use(CountedInterner<Tag>& texts, std::string_view text, std::vector<Id<Tag>>& used) {
  const Id<Tag> id = texts.Use(text);
  if (!texts.IsPermanent(id)) used.push_back(id);
  return id;
}

}  // namespace

SymbolTable::SymbolTable() : all_nodes(std::make_shared<const NodeSelection>()) {
  for (const auto* name : {"cpu", "memory", "ephemeral-storage"}) InternResource(name);
  addresses.Intern("0.0.0.0");
  for (const auto* protocol : {"TCP", "UDP", "SCTP"}) protocols_.Intern(protocol);
  InternTaints({});
}
SymbolTable::~SymbolTable() = default;

LabelKeyId SymbolTable::InternKey(std::string_view key) { return keys_.Intern(key); }

LabelId SymbolTable::InternLabel(LabelKeyId key, std::string_view value) {
  const std::string text = LabelText(KeyText(key), value);
  if (const LabelId known = label_texts_.Find(text); label_texts_.IsPermanent(known)) return known;
  BERTH_CHECK(keys_.IsPermanent(key), KeyText(key));
  const LabelId id = label_texts_.Intern(text);
  SetLabel(id, key, value);
  At(labels_of_key_, key.value).push_back(id);
  return id;
}

void SymbolTable::SetLabel(LabelId id, LabelKeyId key, std::string_view value) {
  At(labels_, id.value) = {key, api::LabelAsInteger(value)};
}

LabelId SymbolTable::FindLabel(LabelKeyId key, std::string_view value) const {
  return label_texts_.Find(LabelText(KeyText(key), value));
}

ResourceId SymbolTable::InternResource(std::string_view name) {
  const api::ResourceClass kind = api::ClassOf(name);
  if (kind == api::ResourceClass::kIgnored || kind == api::ResourceClass::kPods) return {};
  const ResourceId id = resources_.Intern(name);
  SetResource(id, kind);
  return id;
}

void SymbolTable::SetResource(ResourceId id, api::ResourceClass kind) {
  if (id.value >= extended_.size()) extended_.resize(id.value + 1);
  extended_[id.value] = kind == api::ResourceClass::kExtended;
}

ResourceId SymbolTable::FindResource(std::string_view name) const { return resources_.Find(name); }

TaintListId SymbolTable::InternTaints(const std::vector<api::Taint>& taints) {
  std::string text;
  for (const api::Taint& taint : taints) {
    text += taint.key + '\n' + taint.value + '\n' + taint.effect + '\n';
  }
  const TaintListId id = taint_texts_.Intern(text);
  if (id.value == taint_lists_.size()) taint_lists_.push_back(taints);
  return id;
}

PortId SymbolTable::InternPort(std::string_view protocol, std::int32_t port) {
  const auto id = protocols_.Intern(protocol.empty() ? "TCP" : protocol);
  return (PortId{id.value} << 32) | static_cast<std::uint32_t>(port);
}

void SymbolTable::ReleaseUnused() {
  const std::size_t removed = std::erase_if(leases_, [&](const auto& lease) {
    if (lease.use_count() > 1) return false;
    leased_ -= lease->size();
    Release(*lease);
    return true;
  });
  due_ = 2 * leased_ + kSmall;
  if (removed == 0) return;
  leases_.shrink_to_fit();
  const auto shrink = [](auto&... tables) { (tables.Shrink(), ...); };
  shrink(node_names, keys_, label_texts_, resources_, images, addresses);
}

void SymbolTable::Release(const SymbolReferences& references) {
  const auto release = [](auto& texts, const auto& used) {
    for (const auto id : used) texts.Release(id);
  };
  release(node_names, references.node_names);
  release(keys_, references.keys);
  release(label_texts_, references.labels);
  release(resources_, references.resources);
  release(images, references.images);
  release(addresses, references.addresses);
}

std::size_t SymbolTable::size() const {
  return node_names.size() + keys_.size() + label_texts_.size() + resources_.size() + images.size() +
         addresses.size() + taint_texts_.size() + protocols_.size();
}

std::size_t SymbolReferences::size() const {
  return node_names.size() + keys.size() + labels.size() + resources.size() + images.size() +
         addresses.size();
}

SymbolScope::~SymbolScope() { symbols_.Release(references_); }

LabelKeyId SymbolScope::InternKey(std::string_view key) { return Use(symbols_.keys_, key, references_.keys); }

LabelId SymbolScope::InternLabel(LabelKeyId key, std::string_view value) {
  const std::string text = LabelText(symbols_.KeyText(key), value);
  const LabelId id = Use(symbols_.label_texts_, text, references_.labels);
  symbols_.SetLabel(id, key, value);
  return id;
}

ResourceId SymbolScope::InternResource(std::string_view name) {
  const api::ResourceClass kind = api::ClassOf(name);
  if (kind == api::ResourceClass::kIgnored || kind == api::ResourceClass::kPods) return {};
  const ResourceId id = Use(symbols_.resources_, name, references_.resources);
  symbols_.SetResource(id, kind);
  return id;
}

NodeNameId SymbolScope::InternNodeName(std::string_view name) {
  return Use(symbols_.node_names, name, references_.node_names);
}

ImageId SymbolScope::InternImage(std::string_view name) {
  return Use(symbols_.images, name, references_.images);
}

AddressId SymbolScope::InternAddress(std::string_view address) {
  return Use(symbols_.addresses, address, references_.addresses);
}

SymbolLease SymbolScope::Lease() {
  if (references_.size() == 0) return {};
  symbols_.leased_ += references_.size();
  auto shared = std::make_shared<const SymbolReferences>(std::exchange(references_, {}));
  symbols_.leases_.push_back(shared);
  return {std::move(shared)};
}

void SymbolScope::KeepForever() {
  const auto keep = [](auto& texts, const auto& used) {
    for (const auto id : used) texts.Intern(std::string(texts.Text(id)));
  };
  keep(symbols_.node_names, references_.node_names);
  keep(symbols_.keys_, references_.keys);
  for (const LabelId id : references_.labels) {
    const std::string& text = symbols_.label_texts_.Text(id);
    symbols_.InternLabel(symbols_.KeyOf(id), std::string(text.substr(text.find('\n') + 1)));
  }
  keep(symbols_.resources_, references_.resources);
  keep(symbols_.images, references_.images);
  keep(symbols_.addresses, references_.addresses);
  references_ = {};
}

}  // namespace berth::cluster
