// A cache of recently parsed resource lists; private to this module.
#pragma once

#include <array>
#include <string_view>

#include "kubernetes/api/recent_values.hpp"
#include "kubernetes/api/resource_list.hpp"

namespace berth::api {

// Cache key for one list: its texts in input order. Most pods of a cluster use one of a few lists, each
// several times, and parsing them is the most expensive part of reading a pod. The cache is per thread.
class RecentAmounts {
 public:
  void Add(std::string_view name, std::string_view amount) {
    if (!Append(name) || !Append(amount)) MarkUncacheable();
  }
  // The list contains something other than plain amounts: it is not cached.
  void MarkUncacheable() { uncacheable_ = true; }
  // Null if these texts are not cached, or are too long or too unusual to be cached.
  const ResourceList* Find() { return uncacheable_ ? nullptr : Cache().Find({texts_.data(), length_}); }
  // Stores the parsed list; call after Find.
  void Store(const ResourceList& amounts) {
    if (!uncacheable_) Cache().Store(amounts);
  }

 private:
  static RecentValues<ResourceList>& Cache() {
    thread_local RecentValues<ResourceList> cache;
    return cache;
  }
  // Prefixed with its length, so that equal texts mean equal lists.
  bool Append(std::string_view text) {
    if (text.size() >= 128 || length_ + 1 + text.size() > texts_.size()) return false;
    texts_[length_++] = static_cast<char>(text.size());
    length_ += text.copy(texts_.data() + length_, text.size());
    return true;
  }

  std::array<char, 192> texts_;
  std::size_t length_ = 0;
  bool uncacheable_ = false;
};

}  // namespace berth::api
