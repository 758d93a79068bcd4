// Which nodes a slice or a device is for: a node name, all nodes, or a node selector.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/node.hpp"
#include "kubernetes/api/selectors.hpp"

namespace berth::devices {

class NodeMatch {
 public:
  // `selector` may be null. An invalid selector is an error of Matches, as in kube-scheduler.
  NodeMatch(std::string node_name, bool all_nodes, const api::NodeSelector* selector);

  // None of the three is set.
  bool unset() const { return !all_nodes_ && node_name_.empty() && !has_selector_; }
  // Whether the result depends on the labels of the node.
  bool reads_labels() const { return node_name_.empty() && !all_nodes_ && has_selector_; }
  Expected<bool> Matches(const api::Node& node) const;

 private:
  struct Term {
    std::vector<api::Requirement> labels, fields;
  };
  std::string node_name_;
  bool all_nodes_;
  bool has_selector_;
  std::vector<Term> terms_;  // one must match
  std::string error_;        // of the selector; empty: it is valid
};

}  // namespace berth::devices
