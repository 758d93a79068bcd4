#include "tests/faults/control_plane.hpp"

#include "base/check.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/kubelet/node_pool.hpp"

namespace berth::faults {

using sandbox::Document;
using sandbox::Known;

ControlPlane::ControlPlane(simulation::VirtualTime& time, std::uint64_t seed)
    : time_(time), random_(seed), timers_(time.clock()), verbs_(store_, time.clock(), random_) {
  controllers_ =
      std::make_unique<sandbox::Controllers>(verbs_, timers_, random_, sandbox::ControllersOptions{});
  for (const std::string_view name : {"default", "kube-node-lease", "kube-system"})
    Create(Known().namespaces, "", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  Create(
      sandbox::Kinds().storage_classes, "",
      R"({"metadata":{"name":"standard","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
             "provisioner":"sandbox.berth.dev/provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  kubelet_ = std::make_unique<sandbox::Kubelet>(verbs_, timers_, sandbox::KubeletOptions{});
  drivers_ = std::make_unique<sandbox::DeviceDrivers>(verbs_, timers_, controllers_->events());
  api_ = std::make_unique<sandbox::ApiServer>(
      verbs_, timers_, random_, sandbox::ApiServerOptions{.policy = nullptr, .field_ownership = false});
  timers_.OnEarlier([this] { Arm(); });
  Arm();
}

ControlPlane::~ControlPlane() { timers_.OnEarlier(nullptr); }

void ControlPlane::Arm() {
  time_.Cancel(armed_);
  const auto next = timers_.Next();
  if (!next) return;
  armed_ = time_.At(time_.Since(*next), [this] {
    timers_.RunDue();
    Arm();
  });
}

sandbox::ObjectPtr ControlPlane::Create(const sandbox::ResourceType& type, std::string_view ns,
                                        std::string_view json) {
  auto document = Document::Parse(json);
  BERTH_CHECK(document.has_value(), json);
  auto created = verbs_.Create(type, ns, std::move(*document));
  BERTH_CHECK(created.has_value(), created.error().message, json);
  return *created;
}

void ControlPlane::CreateNode(std::string_view json) {
  const sandbox::ObjectPtr node = Create(Known().nodes, "", json);
  Document lease;
  lease.root() = sandbox::NodeLease(node->name, node->uid, time_.clock().WallNow());
  // The lease of a node that was deleted and created again is still there.
  (void)verbs_.Create(Known().leases, "kube-node-lease", std::move(lease));
}

void ControlPlane::Delete(const sandbox::ResourceType& type, const std::string& ns, const std::string& name) {
  (void)verbs_.Delete({type, ns, name}, {});  // no effect if it is gone
}

void ControlPlane::Edit(const sandbox::ResourceType& type, const std::string& ns, const std::string& name,
                        const std::function<void(sandbox::json::object&)>& change) {
  (void)verbs_.Edit({type, ns, name}, sandbox::Part::kMain, [&](sandbox::json::object& document) {
    change(document);
    return sandbox::ApiResult<>{};
  });
}

}  // namespace berth::faults
