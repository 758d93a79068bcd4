#include "sandbox/controllers/pod_gc.hpp"

namespace berth::sandbox {
namespace {

constexpr std::chrono::seconds kQuarantine{40};

}  // namespace

PodGc::PodGc(ControllerContext& context)
    : context_(context), queue_(context.timers, context.verbs.clock(), [this](const std::string& node) {
        return Collect(node);
      }) {
  context.store().Observe(*this);
  context.view.Observe(*this);
}

void PodGc::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().nodes && !change.after) queue_.AddAfter(change.removed->name, kQuarantine);
}

void PodGc::OnPod(const PodFacts* before, const PodFacts* after) {
  if (after == nullptr || after->node().empty() || (before != nullptr && before->node() == after->node()))
    return;
  if (!context_.store().Get(Known().nodes, after->node())) queue_.AddAfter(after->node(), kQuarantine);
}

WorkQueue::Outcome PodGc::Collect(const std::string& node) {
  if (context_.store().Get(Known().nodes, node)) return {};
  std::vector<ObjectPtr> pods;
  for (const PodFacts* pod : context_.view.PodsOn(node)) pods.push_back(pod->object);
  for (const auto& pod : pods) {
    MarkDisrupted(context_, *pod, "DeletionByPodGC", "PodGC: node no longer exists", true);
    DeleteOptions options;
    options.grace_period_seconds = 0;
    options.uid = pod->uid;
    (void)context_.verbs.Delete(PlaceOf(*pod), options);  // the pod may already be gone
  }
  return {};
}

void MarkDisrupted(ControllerContext& context, const Object& pod, std::string_view reason,
                   std::string_view message, bool fail) {
  context.verbs.Rewrite(PlaceOf(pod), pod.uid, [&](json::object& document) {
    json::object& status = ObjectAt(document, "status");
    SetCondition(status, {"DisruptionTarget", "True", reason, message}, context.NowText());
    const auto phase = FindString(status, "phase");
    if (fail && phase != "Succeeded" && phase != "Failed") status["phase"] = "Failed";
  });
}

}  // namespace berth::sandbox
