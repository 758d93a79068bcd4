// Rules of decoding for both encodings; private to this module.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/seeded_hash.hpp"
#include "kubernetes/api/decode.hpp"

namespace berth::api {

// Whether an in-tree plugin reads this annotation.
bool IsInTreeAnnotation(std::string_view key);

// Clears times and messages of conditions of a pod that has a node: no plugin reads them, they rarely repeat,
// and they would take most of a pod's memory. Types and order of all conditions are needed for patches;
// `status` is kept too. The time of PodScheduled becomes PodStatus::scheduled_time, unless that is set. Does
// nothing to pods without a node.
void TrimConditions(Pod& pod);
// Whether TrimConditions keeps this condition whole.
bool KeepsWholeCondition(const Pod& pod, const PodCondition& condition);
// Whether this is the condition PodScheduled=True.
bool IsScheduled(const PodCondition& condition);

// A hash of a map: independent of the order of its entries, dependent on which value belongs to which key.
class AnnotationsDigest {
 public:
  void Add(std::string_view key, std::string_view text) {
    const SeededHash hash;
    std::uint64_t both = (hash(key) * 0x9E3779B97F4A7C15) ^ hash(text);
    both ^= both >> 32;
    value_ += both * 0xD6E8FEB86659FD93;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Parses ADDED, MODIFIED, ...; nullopt for any other word.
std::optional<WatchEventType> EventType(std::string_view name);

}  // namespace berth::api
