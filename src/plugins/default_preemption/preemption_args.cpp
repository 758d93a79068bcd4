#include "plugins/default_preemption/preemption_args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/selectors.hpp"

namespace berth::plugins {

std::size_t DefaultPreemptionArgs::Wanted(std::size_t nodes) const {
  const auto all = static_cast<std::int64_t>(nodes);
  const std::int64_t share = all * min_candidate_nodes_percentage / 100;
  return static_cast<std::size_t>(std::min(std::max(share, min_candidate_nodes_absolute), all));
}

Expected<DefaultPreemptionArgs> ParseDefaultPreemptionArgs(const framework::RawArgs& raw) {
  DefaultPreemptionArgs args;
  if (raw.value == nullptr) return args;
  config::Problems problems;
  config::StructReader reader(*raw.value, "DefaultPreemptionArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  reader.Read("minCandidateNodesPercentage", args.min_candidate_nodes_percentage, "int32");
  reader.Read("minCandidateNodesAbsolute", args.min_candidate_nodes_absolute, "int32");
  reader.Finish();
  if (!problems.empty()) return Invalid(problems.Text());

  std::vector<std::string> errors;
  const auto wrong = [&](const char* field, std::int64_t value, const char* why) {
    errors.push_back(fmt::format("{}.{}: Invalid value: {}: {}", raw.path, field, value, why));
  };
  const std::int64_t percentage = args.min_candidate_nodes_percentage;
  const std::int64_t absolute = args.min_candidate_nodes_absolute;
  if (percentage < 0 || percentage > 100)
    wrong("minCandidateNodesPercentage", percentage, "not in valid range [0, 100]");
  if (absolute < 0) wrong("minCandidateNodesAbsolute", absolute, "not in valid range [0, inf)");
  if (percentage == 0 && absolute == 0) {
    wrong("minCandidateNodesPercentage", 0, "cannot be zero at the same time as minCandidateNodesAbsolute");
    wrong("minCandidateNodesAbsolute", 0, "cannot be zero at the same time as minCandidateNodesPercentage");
  }
  if (errors.empty()) return args;
  return Invalid(api::JoinErrors(errors));
}

}  // namespace berth::plugins
