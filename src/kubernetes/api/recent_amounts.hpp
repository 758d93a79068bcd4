// Lists of amounts that were read lately; private to this module.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "kubernetes/api/resource_list.hpp"

namespace berth::api {

// One list by its texts, in the order in which they came: most pods of a cluster ask for one of a few,
// several times each, and parsing them is what costs most about a pod. The memory is that of the thread.
class RecentAmounts {
 public:
  void Add(std::string_view name, std::string_view amount) {
    if (!Append(name) || !Append(amount)) Odd();
  }
  // Something else is among the amounts: such a list is not remembered.
  void Odd() { odd_ = true; }
  // Null if these texts were not read lately, or are too long or too odd to be remembered.
  const ResourceList* Find() {
    if (odd_ || length_ == 0) return nullptr;
    thread_local std::array<Known, 256> known;
    slot_ = &known[std::hash<std::string_view>()(Texts()) % known.size()];
    return slot_->texts == Texts() ? &slot_->amounts : nullptr;
  }
  // After Find.
  void Remember(const ResourceList& amounts) {
    if (slot_ == nullptr) return;
    slot_->texts = Texts();
    slot_->amounts = amounts;
  }

 private:
  struct Known {
    std::string texts;
    ResourceList amounts;
  };

  std::string_view Texts() const { return {texts_.data(), length_}; }
  // With its length before it, so that equal texts mean equal lists.
  bool Append(std::string_view text) {
    if (text.size() >= 128 || length_ + 1 + text.size() > texts_.size()) return false;
    texts_[length_++] = static_cast<char>(text.size());
    length_ += text.copy(texts_.data() + length_, text.size());
    return true;
  }

  std::array<char, 192> texts_;
  std::size_t length_ = 0;
  bool odd_ = false;
  Known* slot_ = nullptr;
};

}  // namespace berth::api
