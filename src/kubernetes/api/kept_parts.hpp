// What is kept of an object, in whatever encoding it came; private to this module.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/kept_annotations.hpp"

namespace berth::api {

// Does a plugin read this annotation?
bool KeepsAnnotation(std::string_view key);

// What nobody asks of a pod that has its place would be most of what a pod weighs: times and messages, no two
// alike. Types and order of all conditions are needed for patches, status for their own sake. Does nothing to
// pods without a node.
void TrimConditions(Pod& pod);
// Is this one of those that stay whole?
bool KeepsWholeCondition(const Pod& pod, const PodCondition& condition);

// The order in which a map is written does not count, but which value belongs to which key does.
class AnnotationsDigest {
 public:
  void Add(std::string_view key, std::string_view text) {
    const std::hash<std::string_view> hash;
    std::uint64_t both = (hash(key) * 0x9E3779B97F4A7C15) ^ hash(text);
    both ^= both >> 32;
    value_ += both * 0xD6E8FEB86659FD93;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// ADDED, MODIFIED, ...; nothing for any other word.
std::optional<WatchEventType> EventType(std::string_view name);

}  // namespace berth::api
