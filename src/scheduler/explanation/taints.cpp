#include "scheduler/explanation/taints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/selectors.hpp"

namespace berth::explanation {

std::vector<api::Taint> UntoleratedTaints(const api::Pod& pod, const api::Node& node) {
  std::vector<api::Taint> taints;
  for (const api::Taint& taint : node.taints) {
    const bool tolerated = std::ranges::any_of(
        pod.spec.tolerations, [&](const auto& toleration) { return api::Tolerates(toleration, taint); });
    if (api::TaintStopsScheduling(taint) && !tolerated) taints.push_back(taint);
  }
  return taints;
}

std::string TaintText(const api::Taint& taint) {
  return taint.value.empty() ? fmt::format("{}:{}", taint.key, taint.effect)
                             : fmt::format("{}={}:{}", taint.key, taint.value, taint.effect);
}

std::vector<std::string> TaintTexts(const std::vector<api::Taint>& taints) {
  std::vector<std::string> texts;
  for (const api::Taint& taint : taints) texts.push_back(TaintText(taint));
  return texts;
}

}  // namespace berth::explanation
