// An interner that forgets: texts from untrusted objects are removed after their last use.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/id.hpp"
#include "base/seeded_hash.hpp"

namespace berth {

// Assigns ids. A text is permanent, or it has a number of uses; without either it is removed and its id is
// assigned to another text later. Memory is proportional to the texts present (after Shrink). One thread.
template <class Tag>
class CountedInterner {
 public:
  // The id of the text, which is permanent from now on.
  Id<Tag> Intern(std::string_view text) {
    const Id<Tag> id = IdOf(text);
    entries_[id.value].uses = kPermanent;
    return id;
  }
  // The id of the text, which has one more use unless it is permanent.
  Id<Tag> Use(std::string_view text) {
    const Id<Tag> id = IdOf(text);
    Entry& entry = entries_[id.value];
    if (entry.uses == kPermanent) return id;
    BERTH_CHECK(entry.uses < kPermanent - 1, id.value);
    ++entry.uses;
    return id;
  }
  // Ends one use of a text that is not permanent; without effect on permanent texts. Returns whether the text
  // was removed.
  bool Release(Id<Tag> id) {
    Entry& entry = entries_[id.value];
    if (entry.uses == kPermanent) return false;
    BERTH_CHECK(entry.uses > 0, id.value);
    if (--entry.uses > 0) return false;
    ids_.erase(std::string_view(entry.text));
    entry.text = std::string();
    free_.push_back(id.value);
    return true;
  }
  // Returns the memory of removed texts, as far as ids permit: those of present texts do not change.
  void Shrink() {
    while (!entries_.empty() && entries_.back().uses == 0) entries_.pop_back();
    std::erase_if(free_, [&](std::uint32_t id) { return id >= entries_.size(); });
    std::ranges::sort(free_, std::greater<>());  // low ids are reused first, so that high ones can go
    free_.shrink_to_fit();
    if (ids_.bucket_count() > 4 * (ids_.size() + kSmall)) ids_.rehash(0);
  }

  // The id of a text that is present, or an unknown id.
  Id<Tag> Find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? Id<Tag>{} : found->second;
  }
  const std::string& Text(Id<Tag> id) const {
    BERTH_CHECK(id.value < entries_.size() && entries_[id.value].uses > 0, id.value, entries_.size());
    return entries_[id.value].text;
  }
  bool IsPermanent(Id<Tag> id) const { return id.known() && entries_[id.value].uses == kPermanent; }
  // Number of texts that are present.
  std::size_t size() const { return ids_.size(); }

 private:
  static constexpr std::uint32_t kPermanent = UINT32_MAX;
  static constexpr std::size_t kSmall = 1024;  // tables of this size are not worth a reallocation
  struct Entry {
    std::string text;
    std::uint32_t uses = 0;
  };

  Id<Tag> IdOf(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    Id<Tag> id{static_cast<std::uint32_t>(entries_.size())};
    if (free_.empty()) {
      entries_.emplace_back();
    } else {
      id.value = free_.back();
      free_.pop_back();
    }
    entries_[id.value].text = text;
    ids_.emplace(std::string_view(entries_[id.value].text), id);
    return id;
  }

  std::deque<Entry> entries_;  // a deque never moves its elements: the map's keys point into it
  std::vector<std::uint32_t> free_;
  boost::unordered_flat_map<std::string_view, Id<Tag>, SeededHash> ids_;
};

}  // namespace berth
