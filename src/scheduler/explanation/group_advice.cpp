#include "scheduler/explanation/group_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/explanation/advice.hpp"

namespace berth::explanation {
namespace {

// Further members of a group, and members on nodes, until it is destroyed.
class TriedGroup {
 public:
  explicit TriedGroup(assembly::Engine& engine) : engine_(engine) {}
  ~TriedGroup() {
    for (const api::PodPtr& pod : placed_) engine_.cache().RemovePod(pod->metadata.uid);
    for (const api::PodPtr& pod : members_) engine_.handle().groups.Remove(*pod);
  }
  TriedGroup(const TriedGroup&) = delete;
  TriedGroup& operator=(const TriedGroup&) = delete;

  api::PodPtr AddCopy(const api::Pod& pod, std::size_t number) {
    api::Pod copy = pod;
    copy.metadata.name += fmt::format("-new-{}", number);
    copy.metadata.uid += fmt::format("-new-{}", number);
    members_.push_back(std::make_shared<const api::Pod>(std::move(copy)));
    engine_.handle().groups.Put(members_.back());
    return members_.back();
  }
  void Place(const api::Pod& pod, const std::string& node) {
    api::Pod placed = pod;
    placed.spec.node_name = node;
    placed_.push_back(std::make_shared<const api::Pod>(std::move(placed)));
    engine_.cache().AddPod(placed_.back());
  }

 private:
  assembly::Engine& engine_;
  std::vector<api::PodPtr> members_, placed_;
};

}  // namespace

std::vector<Advice> AdviceToCompleteGroup(assembly::PodEvaluator& evaluator, const api::PodPtr& pod) {
  const cluster::PodGroups& groups = evaluator.engine().handle().groups;
  const auto key = groups.KeyOf(*pod);
  const cluster::PodGroups::Group* group = key ? groups.Find(*key) : nullptr;
  if (group == nullptr || group->object == nullptr || !group->object->gang) return {};
  const auto least = static_cast<std::size_t>(std::max(0, group->object->gang->min_count));
  const std::size_t members = group->members.size();
  if (members >= least || least - members > kMostMissing) return {};

  std::vector<api::PodPtr> others;  // that must be placed together with the pod
  for (const auto& [uid, member] : group->members) {
    if (uid != pod->metadata.uid && member.stage == cluster::PodGroups::Stage::kUnscheduled)
      others.push_back(member.pod);
  }
  const std::size_t missing = least - members;
  if (others.size() + missing > kMostPlaced) return {};
  TriedGroup tried(evaluator.engine());
  for (std::size_t number = 1; number <= missing; ++number) others.push_back(tried.AddCopy(*pod, number));
  Advice advice{.steps = {fmt::format("create {} more {} of {}", missing, missing == 1 ? "pod" : "pods",
                                      key->substr(key->find('/') + 1))},
                .change = {},
                .nodes = FittingNodes(evaluator, pod, {})};
  for (const api::PodPtr& other : others) {
    const std::vector<std::string> nodes = FittingNodes(evaluator, other, {});
    if (nodes.empty()) return {};
    tried.Place(*other, nodes.front());
  }
  if (FittingNodes(evaluator, pod, {}).empty()) return {};
  return {std::move(advice)};
}

}  // namespace berth::explanation
