// Changes from a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tools/what_if/changes.hpp"

namespace berth::what_if {

inline constexpr std::string_view kChangesVersion = "whatif.berth.dev/v1alpha1";

// Reads a file of kind Changes, YAML or JSON; docs/guide/what-if.md describes it. Names of files in it are
// relative to its folder. Errors name the field's path, the value, the expectation and the nearest name.
Expected<std::vector<Change>> ReadChanges(const std::string& path);
// `folder`: of the files that the text names; empty: the current one.
Expected<std::vector<Change>> ParseChanges(std::string_view text, const std::string& folder);

}  // namespace berth::what_if
