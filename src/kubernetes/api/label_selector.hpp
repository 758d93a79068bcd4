// Selectors over the labels of pods and namespaces (metav1.LabelSelector), with Kubernetes' rules (v1.37).
#pragma once

#include <string>
#include <vector>

#include "kubernetes/api/meta.hpp"
#include "kubernetes/api/selectors.hpp"
#include "base/result.hpp"

namespace berth::api {

// A selector that passed all checks. One without requirements matches everything; an absent selector matches
// nothing.
struct ParsedSelector {
  bool nothing = false;
  std::vector<Requirement> requirements;  // ANDed; operators In, NotIn, Exists, DoesNotExist

  static ParsedSelector Nothing() { return {true, {}}; }
  bool everything() const { return !nothing && requirements.empty(); }
  bool Matches(const Labels& labels) const;
  // Pins the labels down further. Nothing stays nothing.
  void RequireEqual(const std::string& key, const std::string& value);
  // A text that is the same for the same selector only.
  std::string Text() const;
};

// `selector` may be null. The error is that of the first mistake, in the original's words.
Expected<ParsedSelector> ParseLabelSelector(const LabelSelector* selector);

// A selector that is a plain map of labels, as those of services are: unchecked.
ParsedSelector SelectorOfLabels(const Labels& labels);

}  // namespace berth::api
