// Maps strings to small dense ids when data enters the process; the scheduling cycle then compares and
// indexes by id.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/id.hpp"
#include "base/seeded_hash.hpp"

namespace berth {

// Assigns ids. One thread.
template <class Tag>
class Interner {
 public:
  Id<Tag> Intern(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    const Id<Tag> id{static_cast<std::uint32_t>(texts_.size())};
    texts_.emplace_back(text);
    ids_.emplace(std::string_view(texts_.back()), id);
    return id;
  }
  // The id of an interned text, or an unknown id.
  Id<Tag> Find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? Id<Tag>{} : found->second;
  }
  const std::string& Text(Id<Tag> id) const { return texts_[id.value]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque never moves its elements: the map's keys point into it
  boost::unordered_flat_map<std::string_view, Id<Tag>, SeededHash> ids_;
};

}  // namespace berth
