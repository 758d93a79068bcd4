// Selectors over the labels of pods and namespaces (metav1.LabelSelector), with Kubernetes' rules (v1.37).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/meta.hpp"
#include "kubernetes/api/selectors.hpp"

namespace berth::api {

// A validated selector. One without requirements matches everything; an absent selector matches nothing.
struct ParsedSelector {
  bool nothing = false;
  std::vector<Requirement> requirements;  // ANDed; operators In, NotIn, Exists, DoesNotExist

  static ParsedSelector Nothing() { return {true, {}}; }
  bool everything() const { return !nothing && requirements.empty(); }
  bool Matches(const Labels& labels) const;
  // Adds a requirement that label `key` equals `value`. A selector that matches nothing stays unchanged.
  void RequireEqual(const std::string& key, const std::string& value);
  // A text that identifies the selector: equal texts mean equal selectors.
  std::string Text() const;
};

// `selector` may be null. Returns the first error, with Kubernetes' text.
Expected<ParsedSelector> ParseLabelSelector(const LabelSelector* selector);

// A selector given as a map of labels, as in services; not validated.
ParsedSelector SelectorOfLabels(const Labels& labels);

}  // namespace berth::api
