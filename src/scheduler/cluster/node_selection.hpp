// Node selectors and node affinity, compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kubernetes/api/selectors.hpp"
#include "scheduler/cluster/ids.hpp"

namespace berth::cluster {

// A matchExpressions entry of a node selector term.
struct CompiledRequirement {
  api::SelectorOp op = api::SelectorOp::kExists;
  LabelKeyId key;
  std::vector<LabelId> labels;  // kIn, kNotIn
  std::int64_t bound = 0;       // kGt, kLt
};
struct CompiledField {
  bool is_name = false;  // metadata.name; any other field reads as an empty string
  bool negated = false;
  bool value_empty = false;
  NodeNameId name;
};
struct CompiledTerm {
  bool never = false;  // empty or invalid: matches no node
  std::vector<CompiledRequirement> labels;
  std::vector<CompiledField> fields;
};
struct CompiledPreference {
  std::int64_t weight = 0;
  CompiledTerm term;
};

// spec.affinity.nodeAffinity and spec.nodeSelector.
struct NodeSelection {
  std::vector<LabelId> selector;  // all must be present
  bool has_required = false;
  std::vector<CompiledTerm> required;  // one of them must match; an empty list matches no node
  std::string required_error;          // of the invalid required terms; empty: all are valid
  bool has_preferred = false;
  std::vector<CompiledPreference> preferred;
  std::string preferred_error;  // kube-scheduler's text; empty: all terms are valid
  // matchFields metadata.name In: the only nodes that the required terms allow, if every term has such a
  // limit.
  bool limits_names = false;
  std::vector<NodeNameId> names;
};

}  // namespace berth::cluster
