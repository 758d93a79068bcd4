// Selectors of lists and watches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/label_selector.hpp"
#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// Matches everything unless it is parsed.
class LabelSelector {
 public:
  // See api::ParseLabelSelectorText.
  static Expected<LabelSelector> Parse(std::string_view text);
  // A metav1.LabelSelector: matchLabels and matchExpressions; empty matches everything.
  static Expected<LabelSelector> FromObject(const json::object& selector);
  bool Matches(const Object& object) const;
  bool empty() const { return parsed_.everything(); }
  std::string ToString() const;

 private:
  api::ParsedSelector parsed_;
};

// "spec.nodeName=n1,status.phase!=Failed"; `\` escapes `,`, `=` and itself.
class FieldSelector {
 public:
  // `as_events_group`: fields have the names of events.k8s.io/v1 ("regarding.name").
  static Expected<FieldSelector> Parse(const ResourceType& type, std::string_view text,
                                       bool as_events_group = false);
  bool Matches(const Object& object) const;
  bool empty() const { return terms_.empty(); }

 private:
  static constexpr int kName = -1;
  static constexpr int kNamespace = -2;
  struct Term {
    int field = 0;  // kName, kNamespace, or an index into Object::fields
    bool equal = true;
    std::string value;
  };
  std::vector<Term> terms_;
};

struct Selector {
  std::string ns;  // empty: all namespaces
  LabelSelector labels;
  FieldSelector fields;

  bool Matches(const Object& object) const {
    return (ns.empty() || object.ns == ns) && labels.Matches(object) && fields.Matches(object);
  }
  // True if it selects by namespace only.
  bool plain() const { return labels.empty() && fields.empty(); }
};

}  // namespace berth::sandbox
