// The plugins of an extension point that returned Skip for a pod.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::runtime {

// A set of plugin indexes. Up to 64 plugins need no allocation.
class SkippedPlugins {
 public:
  void Clear() {
    first_ = 0;
    more_.clear();
  }
  void Add(std::size_t plugin) {
    const std::uint64_t bit = std::uint64_t{1} << (plugin % kBits);
    if (plugin < kBits) {
      first_ |= bit;
    } else {
      if (plugin / kBits > more_.size()) more_.resize(plugin / kBits);
      more_[plugin / kBits - 1] |= bit;
    }
  }
  void Add(const SkippedPlugins& others) {
    first_ |= others.first_;
    if (more_.size() < others.more_.size()) more_.resize(others.more_.size());
    for (std::size_t word = 0; word < others.more_.size(); ++word) more_[word] |= others.more_[word];
  }
  bool Has(std::size_t plugin) const {
    if (plugin < kBits) return (first_ >> plugin & 1) != 0;
    const std::size_t word = plugin / kBits - 1;
    return word < more_.size() && (more_[word] >> (plugin % kBits) & 1) != 0;
  }
  // The lowest index from `plugin` on that is not a member.
  std::size_t NextMissing(std::size_t plugin) const {
    if (plugin < kBits) {
      const std::uint64_t missing = ~first_ >> plugin;
      if (missing != 0) return plugin + static_cast<std::size_t>(std::countr_zero(missing));
      plugin = kBits;
    }
    while (Has(plugin)) ++plugin;
    return plugin;
  }
  std::size_t Count() const {
    auto count = static_cast<std::size_t>(std::popcount(first_));
    for (const std::uint64_t word : more_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  friend bool operator==(const SkippedPlugins&, const SkippedPlugins&) = default;

 private:
  static constexpr std::size_t kBits = 64;
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> more_;  // words for indexes from 64 on, up to the highest member
};

}  // namespace berth::runtime
