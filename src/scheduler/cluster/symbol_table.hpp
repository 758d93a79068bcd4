// The symbol table of one scheduler: strings are interned when objects arrive, so that decisions compare
// integers and never hash strings.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/interner.hpp"
#include "base/shared_pool.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/api/requests.hpp"
#include "kubernetes/api/selectors.hpp"
#include "scheduler/cluster/ids.hpp"

namespace berth::cluster {

struct PodLabels;
struct PodShape;
struct PodUse;
struct PodQuery;
struct AffinityTerm;
struct PodAffinityTerms;
// Ids are never removed; values whose number depends on the pods are reference-counted in pools instead.
// Scheduler loop only, including everything below.
class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  Interner<NodeNameTag> node_names;
  Interner<ImageTag> images;
  Interner<AddressTag> addresses;

  // --- pod labels and selectors (pod_selectors.hpp) ---
  SharedPool<PodLabels> pod_labels;
  SharedPool<PodQuery> pod_questions;
  SharedPool<AffinityTerm> affinity_terms;
  SharedPool<PodAffinityTerms> pod_affinities;
  // --- compiled pods (pod_info.hpp) ---
  WeakInternPool<PodShape> pod_shapes;
  WeakInternPool<PodUse> pod_uses;

  // --- labels ---
  LabelKeyId InternKey(std::string_view key);
  LabelId InternLabel(LabelKeyId key, std::string_view value);
  // An unknown id if the label was never interned.
  LabelId FindLabel(LabelKeyId key, std::string_view value) const;
  LabelKeyId FindKey(std::string_view key) const { return keys_.Find(key); }
  const std::string& KeyText(LabelKeyId key) const { return keys_.Text(key); }
  // The interned labels of a key, in the order in which they were interned.
  const std::vector<LabelId>& LabelsOf(LabelKeyId key) const { return labels_of_key_[key.value]; }
  // The value as a number for Gt and Lt; nullopt if it is not an integer.
  std::optional<std::int64_t> NumberOf(LabelId label) const { return labels_[label.value].number; }
  LabelKeyId KeyOf(LabelId label) const { return labels_[label.value].key; }
  std::size_t key_count() const { return keys_.size(); }
  std::size_t label_count() const { return labels_.size(); }

  // --- resources ---
  // Returns an unknown id for ignored names ("storage") and for "pods", which has its own column.
  ResourceId InternResource(std::string_view name);
  ResourceId FindResource(std::string_view name) const;
  const std::string& ResourceName(ResourceId id) const { return resources_.Text(id); }
  bool IsExtended(ResourceId id) const { return extended_[id.value]; }
  std::size_t resource_count() const { return resources_.size(); }

  // --- taints ---
  // Whole lists: their order is visible in messages of older releases, and most nodes share one.
  TaintListId InternTaints(const std::vector<api::Taint>& taints);
  const std::vector<api::Taint>& Taints(TaintListId id) const { return taint_lists_[id.value]; }
  std::size_t taint_list_count() const { return taint_lists_.size(); }

  PortId InternPort(std::string_view protocol, std::int32_t port);

 private:
  struct Label {
    LabelKeyId key;
    std::optional<std::int64_t> number;
  };
  struct ProtocolTag;

  Interner<LabelKeyTag> keys_;
  Interner<LabelTag> label_texts_;  // "key\nvalue"
  std::vector<Label> labels_;
  std::vector<std::vector<LabelId>> labels_of_key_;
  Interner<ResourceTag> resources_;
  std::vector<bool> extended_;
  Interner<TaintListTag> taint_texts_;
  std::vector<std::vector<api::Taint>> taint_lists_;
  Interner<ProtocolTag> protocols_;
};

}  // namespace berth::cluster
