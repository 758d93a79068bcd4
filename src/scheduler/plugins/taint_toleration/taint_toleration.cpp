#include "scheduler/plugins/taint_toleration/taint_toleration.hpp"

#include <algorithm>

#include "kubernetes/api/selectors.hpp"

namespace berth::plugins {
namespace {

bool Tolerated(const std::vector<api::Toleration>& tolerations, const api::Taint& taint) {
  return std::ranges::any_of(tolerations,
                             [&](const auto& toleration) { return api::Tolerates(toleration, taint); });
}

bool Stops(const std::vector<api::Taint>& taints, const std::vector<api::Toleration>& tolerations) {
  return std::ranges::any_of(taints, [&](const api::Taint& taint) {
    return api::TaintStopsScheduling(taint) && !Tolerated(tolerations, taint);
  });
}

std::int64_t UntoleratedPreferences(const std::vector<api::Toleration>& tolerations,
                                    const std::vector<api::Taint>& taints) {
  return std::ranges::count_if(taints, [&](const api::Taint& taint) {
    return taint.effect == "PreferNoSchedule" && !Tolerated(tolerations, taint);
  });
}

}  // namespace

TaintToleration::TaintToleration(framework::Handle& handle)
    : reason_(handle.reasons.Intern("node(s) had untolerated taint(s)")) {}

void AddUntolerated(const framework::Attempt& attempt, RowSet& out) {
  const auto& tolerations = attempt.pod().pod->spec.tolerations;
  attempt.nodes().ForEachTaintList([&](cluster::TaintListId id, const RowGroup& rows) {
    if (Stops(attempt.nodes().symbols().Taints(id), tolerations)) rows.AddTo(out);
  });
}

void TaintToleration::Filter(const framework::Attempt& attempt, const RowSet&,
                             framework::Rejections& out) const {
  RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
  AddUntolerated(attempt, rejected);
  out.unresolvable() |= rejected;
}

framework::Status TaintToleration::Score(const framework::Attempt& attempt, const RowSet&,
                                         framework::ScoreColumn& scores) const {
  const auto& tolerations = attempt.pod().pod->spec.tolerations;
  attempt.nodes().ForEachTaintList([&](cluster::TaintListId id, const RowGroup& rows) {
    const auto count = UntoleratedPreferences(tolerations, attempt.nodes().symbols().Taints(id));
    if (count != 0) scores.Set(rows, count);
  });
  return {};
}

std::vector<framework::EventRegistration> TaintToleration::EventsToRegister() const {
  using namespace framework;
  return {WhenNode(kAdd | kUpdateNodeTaint,
                   [](const cluster::PodInfo& pod, const api::Node* before, const api::Node* after) {
                     const auto& tolerations = pod.pod->spec.tolerations;
                     const bool stopped = before == nullptr || Stops(before->taints, tolerations);
                     return framework::QueueIf(stopped && !Stops(after->taints, tolerations));
                   }),
          {EventResource::kTargetPod, kUpdatePodToleration}};
}

}  // namespace berth::plugins
