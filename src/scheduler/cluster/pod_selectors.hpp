// Selectors of pods in affinity terms and topology spread constraints, compiled once and shared by all pods
// with equal specifications (kube-scheduler v1.37.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kubernetes/api/label_selector.hpp"
#include "kubernetes/api/pod.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

// The properties of a pod that selectors match. Pods with equal properties share one object.
struct PodLabels {
  std::string ns;
  api::Labels labels;
  bool terminating = false;
  std::vector<std::size_t> hashes;  // of each label, see HashOfLabel
};
using PodLabelsPtr = std::shared_ptr<const PodLabels>;
std::size_t HashOfLabel(std::string_view key, std::string_view value);

// Matches pods in the listed namespaces or in namespaces that match the selector, with matching labels.
struct PodClause {
  std::vector<std::string> namespaces;
  api::ParsedSelector namespace_selector = api::ParsedSelector::Nothing();
  api::ParsedSelector labels;
};

// A query for pods that match all clauses. Equal queries share one object.
struct PodQuery {
  std::vector<PodClause> all_of;
  bool skip_terminating = false;
};
using PodQueryPtr = std::shared_ptr<const PodQuery>;

// A term of podAffinity or podAntiAffinity. Equal terms share one object.
struct AffinityTerm {
  PodQueryPtr query;  // has exactly one clause
  LabelKeyId topology_key;
  SymbolLease symbols;

  const PodClause& clause() const { return query->all_of.front(); }
};
using AffinityTermPtr = std::shared_ptr<const AffinityTerm>;
// A preferred term.
struct WeightedAffinityTerm {
  AffinityTermPtr term;
  std::int64_t weight = 0;  // negative for anti-affinity
};

// spec.affinity.podAffinity and podAntiAffinity. A list with an invalid term is empty.
struct PodAffinityTerms {
  std::vector<AffinityTermPtr> required;
  std::vector<AffinityTermPtr> required_anti;
  std::vector<WeightedAffinityTerm> preferred;  // those of podAntiAffinity have negative weights
  // matches pods that match every required term; null if there are none
  PodQueryPtr all_required;
  bool has_preferred = false;  // the pod lists preferred terms, valid or not
  std::string error;           // kube-scheduler's text; empty: all terms are valid
  // Whether the required terms of podAffinity and podAntiAffinity are valid; invalid lists are empty.
  bool required_valid = true;
  bool required_anti_valid = true;
};
using PodAffinityPtr = std::shared_ptr<const PodAffinityTerms>;

// One entry of spec.topologySpreadConstraints.
struct SpreadConstraint {
  std::int32_t max_skew = 0;
  LabelKeyId topology_key;
  PodQueryPtr query;  // pods of the same namespace that are not terminating
  std::int32_t min_domains = 1;
  bool honor_affinity = true;
  bool honor_taints = false;
  bool self_matches = false;  // the pod itself is selected
  bool counts = true;         // false: the selector is empty and matches no other pod
};
// spec.topologySpreadConstraints.
struct SpreadConstraints {
  std::vector<SpreadConstraint> hard, soft;
  std::string hard_error, soft_error;  // of the first invalid selector of this kind; empty: none
  SymbolLease symbols;
};
using SpreadPtr = std::shared_ptr<const SpreadConstraints>;

// The pod's labels, shared with pods that have the same.
PodLabelsPtr LabelsOf(const api::Pod& pod, SymbolTable& symbols);
// Null if the pod has neither podAffinity nor podAntiAffinity.
PodAffinityPtr AffinityOf(const api::Pod& pod, SymbolTable& symbols);
// Null if the pod has no constraints. `match_label_keys`: the feature of that name is on.
SpreadPtr SpreadOf(const api::Pod& pod, bool match_label_keys, SymbolTable& symbols);

// The shared object for an equal query.
PodQueryPtr InternQuery(PodQuery query, SymbolTable& symbols);
// Matches the pods of one namespace that are not terminating.
PodQueryPtr SpreadQuery(const std::string& ns, api::ParsedSelector selector, SymbolTable& symbols);

}  // namespace berth::cluster
