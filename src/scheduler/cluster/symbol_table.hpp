// The symbol table of one scheduler: strings are interned when objects arrive, so that decisions compare
// integers and never hash strings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/counted_interner.hpp"
#include "base/interner.hpp"
#include "base/weak_intern_pool.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/api/requests.hpp"
#include "kubernetes/api/selectors.hpp"
#include "scheduler/cluster/ids.hpp"
#include "scheduler/cluster/symbol_scope.hpp"

namespace berth::cluster {

struct PodLabels;
struct PodShape;
struct PodUse;
struct PodQuery;
struct AffinityTerm;
struct PodAffinityTerms;
struct NodeSelection;

// The functions of this class intern permanent symbols: those of nodes, except taints, and of the
// configuration. Symbols of pods and volumes are interned by a SymbolScope. They are removed some time after
// the last object that refers to them, and their ids are assigned to other texts. So whatever stores such an
// id also stores the object with the lease, and vectors indexed by ids have values for permanent symbols
// only. Scheduler loop only, including everything below.
class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  CountedInterner<NodeNameTag> node_names;
  CountedInterner<ImageTag> images;
  CountedInterner<AddressTag> addresses;

  // --- pod labels and selectors (pod_selectors.hpp) ---
  WeakInternPool<PodLabels> pod_labels;
  WeakInternPool<PodQuery> pod_queries;
  WeakInternPool<AffinityTerm> affinity_terms;
  WeakInternPool<PodAffinityTerms> pod_affinities;
  // --- compiled pods (pod_info.hpp) ---
  WeakInternPool<PodShape, std::size_t> pod_shapes;
  WeakInternPool<PodUse, std::size_t> pod_uses;
  const std::shared_ptr<const NodeSelection> all_nodes;  // the selection of pods without selectors

  // --- labels ---
  LabelKeyId InternKey(std::string_view key);
  LabelId InternLabel(LabelKeyId key, std::string_view value);
  // An unknown id if the label was never interned.
  LabelId FindLabel(LabelKeyId key, std::string_view value) const;
  LabelKeyId FindKey(std::string_view key) const { return keys_.Find(key); }
  const std::string& KeyText(LabelKeyId key) const { return keys_.Text(key); }
  // The permanent labels of a permanent key, in the order in which they became permanent.
  const std::vector<LabelId>& LabelsOf(LabelKeyId key) const {
    return key.value < labels_of_key_.size() ? labels_of_key_[key.value] : no_labels_;
  }
  // The value as a number for Gt and Lt; nullopt if it is not an integer.
  std::optional<std::int64_t> NumberOf(LabelId label) const { return labels_[label.value].number; }
  LabelKeyId KeyOf(LabelId label) const { return labels_[label.value].key; }

  // --- resources ---
  // Returns an unknown id for ignored names ("storage") and for "pods", which has its own column.
  ResourceId InternResource(std::string_view name);
  ResourceId FindResource(std::string_view name) const;
  const std::string& ResourceName(ResourceId id) const { return resources_.Text(id); }
  bool IsExtended(ResourceId id) const { return extended_[id.value]; }
  // Whether the id is valid until the end of the process.
  bool IsPermanent(ResourceId id) const { return resources_.IsPermanent(id); }

  // --- taints ---
  // Whole lists: their order is visible in messages of older releases, and most nodes share one. Controllers
  // write timestamps as values, so lists are not permanent: UseTaints adds a use, ReleaseTaints ends one, and
  // the id of a list without uses is assigned to another list.
  TaintListId UseTaints(const std::vector<api::Taint>& taints);
  void ReleaseTaints(TaintListId id);
  const std::vector<api::Taint>& Taints(TaintListId id) const { return taint_lists_[id.value]; }

  // The API server accepts three protocols; others are mapped to an id, too, and are permanent.
  PortId InternPort(std::string_view protocol, std::int32_t port);
  // An id that no pod has if the protocol was never interned.
  PortId FindPort(std::string_view protocol, std::int32_t port) const;

  // --- symbols of pods ---
  // Removes the symbols of leases that were dropped. Takes time proportional to the number of leases: call it
  // from time to time, and when ReleaseIsDue(), while nothing uses an id whose lease was dropped.
  void ReleaseUnused();
  bool HasLeases() const { return !leases_.empty(); }
  // Whether more was leased since the last release than was in use then.
  bool ReleaseIsDue() const { return leased_ > due_; }
  // Number of texts in all tables of this class.
  std::size_t size() const;

 private:
  friend class SymbolScope;
  struct Label {
    LabelKeyId key;
    std::optional<std::int64_t> number;
  };
  struct ProtocolTag;

  void Release(const SymbolReferences& references);
  void SetLabel(LabelId id, LabelKeyId key, std::string_view value);
  // `add_text` returns the id of the name.
  template <class AddText>
  ResourceId AddResource(std::string_view name, AddText&& add_text);
  // Calls visit(texts, ids) for each kind of symbol that can be released. `Table`: SymbolTable, const or not.
  template <class Table, class Visit>
  static void ForEachKind(Table& table, const SymbolReferences& references, Visit&& visit);

  CountedInterner<LabelKeyTag> keys_;
  // The id of the key, then the value. What uses a label uses its key, so that the id stays that of the key.
  CountedInterner<LabelTag> label_texts_;
  std::vector<Label> labels_;  // by LabelId
  std::vector<std::vector<LabelId>> labels_of_key_;
  const std::vector<LabelId> no_labels_;
  CountedInterner<ResourceTag> resources_;
  std::vector<bool> extended_;  // by ResourceId
  CountedInterner<TaintListTag> taint_texts_;
  std::vector<std::vector<api::Taint>> taint_lists_;  // by TaintListId
  Interner<ProtocolTag> protocols_;
  std::vector<std::shared_ptr<const SymbolReferences>> leases_;
  std::size_t leased_ = 0;  // references in leases_
  std::size_t due_ = kSmall;
  static constexpr std::size_t kSmall = 65'536;
};

}  // namespace berth::cluster
