// What is missing in a dump.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/pod.hpp"

namespace berth::explain {

using KindCounts = std::map<std::string, std::size_t>;

// Fails if the input has no pods or no nodes: the error names what it has, and the command that writes a
// complete dump.
Expected<void> CheckInput(const KindCounts& kinds);

// The kinds that decisions about these pods depend on and that have no object in the input: one text with
// the command that adds them; empty: none.
std::vector<std::string> IncompleteInput(const KindCounts& kinds, const std::vector<api::PodPtr>& pods);

}  // namespace berth::explain
