#include "scheduler/cluster/symbol_table.hpp"

#include <string>
#include <utility>

#include "scheduler/cluster/at.hpp"
#include "scheduler/cluster/node_selection.hpp"

namespace berth::cluster {
namespace {

// Keys can be long, and a term can list a hundred thousand values of one.
std::string LabelText(LabelKeyId key, std::string_view value) {
  std::string text(reinterpret_cast<const char*>(&key.value), sizeof key.value);
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
  UseTaints({});  // has id 0 from now on
}
SymbolTable::~SymbolTable() = default;

LabelKeyId SymbolTable::InternKey(std::string_view key) { return keys_.Intern(key); }

LabelId SymbolTable::InternLabel(LabelKeyId key, std::string_view value) {
  const std::string text = LabelText(key, value);
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
  return label_texts_.Find(LabelText(key, value));
}

ResourceId SymbolTable::InternResource(std::string_view name) {
  return AddResource(name, [&] { return resources_.Intern(name); });
}

template <class AddText>
ResourceId SymbolTable::AddResource(std::string_view name, AddText&& add_text) {
  const api::ResourceClass kind = api::ClassOf(name);
  if (kind == api::ResourceClass::kIgnored || kind == api::ResourceClass::kPods) return {};
  const ResourceId id = add_text();
  if (id.value >= extended_.size()) extended_.resize(id.value + 1);
  extended_[id.value] = kind == api::ResourceClass::kExtended;
  return id;
}

ResourceId SymbolTable::FindResource(std::string_view name) const { return resources_.Find(name); }

TaintListId SymbolTable::UseTaints(const std::vector<api::Taint>& taints) {
  std::string text;
  for (const api::Taint& taint : taints) {
    text += taint.key + '\n' + taint.value + '\n' + taint.effect + '\n';
  }
  if (const TaintListId known = taint_texts_.Find(text); known.known()) return taint_texts_.Use(text);
  const TaintListId id = taint_texts_.Use(text);
  At(taint_lists_, id.value) = taints;
  return id;
}

void SymbolTable::ReleaseTaints(TaintListId id) {
  if (taint_texts_.Release(id)) taint_lists_[id.value] = {};
}

PortId SymbolTable::InternPort(std::string_view protocol, std::int32_t port) {
  const auto id = protocols_.Intern(protocol.empty() ? "TCP" : protocol);
  return (PortId{id.value} << 32) | static_cast<std::uint32_t>(port);
}

PortId SymbolTable::FindPort(std::string_view protocol, std::int32_t port) const {
  const auto id = protocols_.Find(protocol.empty() ? "TCP" : protocol);
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
  taint_texts_.Shrink();
  ForEachKind(*this, {}, [](auto& texts, const auto&) { texts.Shrink(); });
}

void SymbolTable::Release(const SymbolReferences& references) {
  ForEachKind(*this, references, [](auto& texts, const auto& used) {
    for (const auto id : used) texts.Release(id);
  });
}

std::size_t SymbolTable::size() const {
  std::size_t sum = taint_texts_.size() + protocols_.size();
  ForEachKind(*this, {}, [&](const auto& texts, const auto&) { sum += texts.size(); });
  return sum;
}

template <class Table, class Visit>
void SymbolTable::ForEachKind(Table& table, const SymbolReferences& references, Visit&& visit) {
  visit(table.node_names, references.node_names);
  visit(table.keys_, references.keys);
  visit(table.label_texts_, references.labels);
  visit(table.resources_, references.resources);
  visit(table.images, references.images);
  visit(table.addresses, references.addresses);
}

std::size_t SymbolReferences::size() const {
  return node_names.size() + keys.size() + labels.size() + resources.size() + images.size() +
         addresses.size();
}

SymbolScope::~SymbolScope() { symbols_.Release(references_); }

LabelKeyId SymbolScope::InternKey(std::string_view key) { return Use(symbols_.keys_, key, references_.keys); }

LabelId SymbolScope::InternLabel(LabelKeyId key, std::string_view value) {
  const std::string text = LabelText(key, value);
  const LabelId id = Use(symbols_.label_texts_, text, references_.labels);
  // Of a permanent label, key and number are known.
  if (!symbols_.label_texts_.IsPermanent(id)) symbols_.SetLabel(id, key, value);
  return id;
}

ResourceId SymbolScope::InternResource(std::string_view name) {
  return symbols_.AddResource(name, [&] { return Use(symbols_.resources_, name, references_.resources); });
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

}  // namespace berth::cluster
