// Semantic versions, values of type kubernetes.Semver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cel/value.hpp"

namespace berth::cel {

struct SemanticVersion {
  struct PreRelease {
    std::string text;  // empty: `number`
    std::uint64_t number = 0;
  };
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::vector<PreRelease> pre_release;
  std::vector<std::string> build;

  // The rules and error texts of github.com/blang/semver/v4.
  static Expected<SemanticVersion> Parse(std::string_view text);
  // -1, 0 or 1. Build metadata does not count.
  int Compare(const SemanticVersion& other) const;
  std::string Text() const;
};

const TypePtr& SemverType();
Value SemverValue(SemanticVersion version);

}  // namespace berth::cel
