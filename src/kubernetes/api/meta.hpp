// Common parts of Kubernetes objects: metadata, amounts, selectors.
//
// An absent list or map is empty here; where Kubernetes distinguishes absent from empty the member is
// optional. Objects are immutable once shared: decoders return std::shared_ptr<const T>, which any thread may
// read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubernetes/api/cow_ptr.hpp"
#include "kubernetes/api/quantity.hpp"
#include "kubernetes/api/resource_list.hpp"
#include "kubernetes/api/text.hpp"

namespace berth::api {

// Sorted by key, keys unique. Copies share the entries (see CowPtr).
class Labels {
 public:
  using Entry = std::pair<std::string, std::string>;

  Labels() = default;
  Labels(std::initializer_list<Entry> entries) {
    for (const auto& [key, value] : entries) Set(key, value);
  }
  void Set(std::string key, std::string value);
  // Null if there is no such key.
  const std::string* Find(std::string_view key) const;
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  // See CowPtr.
  const void* identity() const { return entries_.identity(); }
  template <class WorkOut>
  std::uint32_t Memo(WorkOut&& work_out) const {
    return entries_.Memo(std::forward<WorkOut>(work_out));
  }
  bool unshared() const { return entries_.unshared(); }
  void reserve(std::size_t count) { entries_.reserve(count); }
  friend bool operator==(const Labels&, const Labels&) = default;

 private:
  CowList<Entry> entries_;
};

// The entry of metadata.ownerReferences with controller: true.
struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

struct ObjectMeta {
  std::string name;
  Text ns;  // metadata.namespace
  std::string uid;
  std::string resource_version;
  Labels labels;
  // Only the annotations that plugins read (IsInTreeAnnotation, RetainedFields).
  CowPtr<Labels> annotations;
  CowPtr<OwnerReference> controller;  // null: none
  Text deletion_timestamp;            // empty: not being deleted
  std::int64_t generation = 0;

  bool deleting() const { return !deletion_timestamp.empty(); }
  // "namespace/name", or "name" for cluster-scoped objects.
  std::string Key() const {
    if (ns.empty()) return name;
    std::string key;
    key.reserve(ns.str().size() + 1 + name.size());
    key += ns.str();
    key += '/';
    key += name;
    return key;
  }
  // Null if there is no such annotation.
  const std::string* Annotation(std::string_view key) const {
    return annotations ? annotations->Find(key) : nullptr;
  }
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

// --- selection of objects by their labels ---
// The operator of a validated requirement; kGt and kLt only in node selectors.
enum class SelectorOp : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };
struct LabelSelectorRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist; anything else is a parse error of the selector
  std::vector<std::string> values;
  friend bool operator==(const LabelSelectorRequirement&, const LabelSelectorRequirement&) = default;
};
// An empty selector matches everything. Where a selector is optional, an absent one matches nothing.
struct LabelSelector {
  Labels match_labels;
  std::vector<LabelSelectorRequirement> match_expressions;
  bool empty() const { return match_labels.empty() && match_expressions.empty(); }
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

// --- selection of nodes ---
struct NodeSelectorRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt; anything else is a parse error of the term
  std::vector<std::string> values;
  friend bool operator==(const NodeSelectorRequirement&, const NodeSelectorRequirement&) = default;
};
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;
  std::vector<NodeSelectorRequirement> match_fields;
  bool empty() const { return match_expressions.empty() && match_fields.empty(); }
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};
struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;  // ORed; none match nothing
  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};
struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
  friend bool operator==(const PreferredSchedulingTerm&, const PreferredSchedulingTerm&) = default;
};
struct NodeAffinity {
  std::optional<NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;
  friend bool operator==(const NodeAffinity&, const NodeAffinity&) = default;
};

struct Toleration {
  std::string key;
  std::string op;  // empty means Equal
  std::string value;
  std::string effect;  // empty means every effect
  friend bool operator==(const Toleration&, const Toleration&) = default;
};
struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  friend bool operator==(const Taint&, const Taint&) = default;
};

}  // namespace berth::api
