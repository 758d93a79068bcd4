// An index over selectors that finds the candidates for given labels without evaluating all selectors.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <vector>

#include "scheduler/cluster/pod_selectors.hpp"

namespace berth::cluster {

// A requirement `key = value` of the selector; null if there is none.
inline const api::Requirement* RequiredLabelOf(const api::ParsedSelector& selector) {
  for (const api::Requirement& requirement : selector.requirements) {
    if (requirement.op == api::SelectorOp::kIn && requirement.values.size() == 1) return &requirement;
  }
  return nullptr;
}

// Selectors with such a requirement are indexed by it; the others are always candidates.
template <class Item>
class SelectorIndex {
 public:
  void Add(const api::ParsedSelector& selector, Item item) {
    if (selector.nothing) return;
    if (const api::Requirement* anchor = RequiredLabelOf(selector)) {
      for (const std::string& value : anchor->values)
        by_label_[HashOfLabel(anchor->key, value)].push_back(item);
    } else {
      others_.push_back(item);
    }
  }
  void Remove(const api::ParsedSelector& selector, Item item) {
    if (selector.nothing) return;
    if (const api::Requirement* anchor = RequiredLabelOf(selector)) {
      const auto found = by_label_.find(HashOfLabel(anchor->key, anchor->values.front()));
      std::erase(found->second, item);
      if (found->second.empty()) by_label_.erase(found);
    } else {
      std::erase(others_, item);
    }
  }
  // Removes every item for which is_it(item) is true.
  template <class Predicate>
  void RemoveIf(Predicate&& is_it) {
    erase_if(by_label_, [&](auto& entry) {
      std::erase_if(entry.second, is_it);
      return entry.second.empty();
    });
    std::erase_if(others_, is_it);
  }
  // Calls visit(item) for every selector that can match, and for some that do not; each at most once.
  template <class Visit>
  void ForEachCandidate(const PodLabels& labels, Visit&& visit) const {
    for (const Item& item : others_) visit(item);
    if (by_label_.empty()) return;
    for (const std::size_t hash : labels.hashes) {
      if (const auto found = by_label_.find(hash); found != by_label_.end()) {
        for (const Item& item : found->second) visit(item);
      }
    }
  }

 private:
  boost::unordered_flat_map<std::size_t, std::vector<Item>> by_label_;
  std::vector<Item> others_;
};

}  // namespace berth::cluster
