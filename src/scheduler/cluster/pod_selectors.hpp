// How pods select other pods: affinity and anti-affinity terms, topology spread constraints, compiled once
// and shared by all pods that say the same (kube-scheduler v1.37.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kubernetes/api/label_selector.hpp"
#include "kubernetes/api/pod.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {

// What selectors can see of a pod. Pods that look alike share one.
struct PodLabels {
  std::string ns;
  api::Labels labels;
  bool terminating = false;
  std::vector<std::size_t> hashes;  // of each label, see HashOfLabel
};
using PodLabelsPtr = std::shared_ptr<const PodLabels>;
std::size_t HashOfLabel(std::string_view key, std::string_view value);

// Pods of these namespaces, or of namespaces that the selector matches, with matching labels.
struct PodClause {
  std::vector<std::string> namespaces;
  api::ParsedSelector namespace_selector = api::ParsedSelector::Nothing();
  api::ParsedSelector labels;
};

// A question about pods: all of these, at once. Equal questions are one object.
struct PodQuestion {
  std::vector<PodClause> all_of;
  bool skip_terminating = false;
};
using PodQuestionPtr = std::shared_ptr<const PodQuestion>;

// A term of podAffinity or podAntiAffinity. Equal terms are one object.
struct AffinityTerm {
  PodQuestionPtr question;  // with one clause
  LabelKeyId topology_key;

  const PodClause& clause() const { return question->all_of.front(); }
};
using AffinityTermPtr = std::shared_ptr<const AffinityTerm>;
struct WeightedAffinityTerm {
  AffinityTermPtr term;
  std::int64_t weight = 0;  // negative: rather not
};

// spec.affinity.podAffinity and podAntiAffinity. A list with a mistake in it is empty.
struct PodAffinityTerms {
  std::vector<AffinityTermPtr> required;
  std::vector<AffinityTermPtr> required_anti;
  std::vector<WeightedAffinityTerm> preferred;  // those of podAntiAffinity with negative weights
  PodQuestionPtr all_required;                  // pods that match every required term; null if there is none
  bool has_preferred = false;                   // the pod lists preferences, be they right or wrong
  std::string error;                            // in kube-scheduler's words; empty if all is fine
};
using PodAffinityPtr = std::shared_ptr<const PodAffinityTerms>;

struct SpreadConstraint {
  std::int32_t max_skew = 0;
  LabelKeyId topology_key;
  PodQuestionPtr question;  // pods that do not terminate, of the pod's namespace
  std::int32_t min_domains = 1;
  bool honor_affinity = true;
  bool honor_taints = false;
  bool self_matches = false;  // the pod itself is selected
  bool counts = true;         // false: the selector is empty, which here selects nobody else
};
// spec.topologySpreadConstraints.
struct SpreadConstraints {
  std::vector<SpreadConstraint> hard, soft;
  std::string hard_error, soft_error;  // what is wrong with the first selector of that sort that is wrong
};
using SpreadPtr = std::shared_ptr<const SpreadConstraints>;

PodLabelsPtr LabelsOf(const api::Pod& pod, SymbolTable& symbols);
// Null if the pod has neither podAffinity nor podAntiAffinity.
PodAffinityPtr AffinityOf(const api::Pod& pod, SymbolTable& symbols);
// Null if the pod has no constraints. `match_label_keys`: the feature of that name is on.
SpreadPtr SpreadOf(const api::Pod& pod, bool match_label_keys, SymbolTable& symbols);

PodQuestionPtr QuestionOf(PodQuestion question, SymbolTable& symbols);
// Pods that do not terminate, of one namespace.
PodQuestionPtr SpreadQuestion(const std::string& ns, api::ParsedSelector selector, SymbolTable& symbols);

}  // namespace berth::cluster
