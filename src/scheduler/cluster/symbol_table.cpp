#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

SymbolTable::SymbolTable() {
  for (const auto* name : {"cpu", "memory", "ephemeral-storage"}) InternResource(name);
  addresses.Intern("0.0.0.0");
  InternTaints({});
}
SymbolTable::~SymbolTable() = default;

LabelKeyId SymbolTable::InternKey(std::string_view key) {
  const LabelKeyId id = keys_.Intern(key);
  if (id.value == labels_of_key_.size()) labels_of_key_.emplace_back();
  return id;
}

LabelId SymbolTable::InternLabel(LabelKeyId key, std::string_view value) {
  std::string text = KeyText(key);
  text += '\n';
  text += value;
  const LabelId id = label_texts_.Intern(text);
  if (id.value == labels_.size()) {
    labels_.push_back({key, api::LabelAsInteger(value)});
    labels_of_key_[key.value].push_back(id);
  }
  return id;
}

LabelId SymbolTable::FindLabel(LabelKeyId key, std::string_view value) const {
  std::string text = KeyText(key);
  text += '\n';
  text += value;
  return label_texts_.Find(text);
}

ResourceId SymbolTable::InternResource(std::string_view name) {
  const api::ResourceClass kind = api::ClassOf(name);
  if (kind == api::ResourceClass::kIgnored || kind == api::ResourceClass::kPods) return {};
  const ResourceId id = resources_.Intern(name);
  if (id.value == extended_.size()) extended_.push_back(kind == api::ResourceClass::kExtended);
  return id;
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

}  // namespace berth::cluster
