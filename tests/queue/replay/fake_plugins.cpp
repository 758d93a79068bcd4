#include "fake_plugins.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "scheduler/plugins/priority_sort/priority_sort.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::replay {
namespace {

using cluster::PodInfo;
using framework::EventRegistration;
using framework::EventResource;
using framework::Hint;
using framework::Status;

std::uint32_t Hash(std::string_view text) {  // FNV-1a
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string LabelOf(const api::Pod& pod, std::string_view key) {
  const std::string* value = pod.metadata.labels.Find(key);
  return value ? *value : "";
}

template <class T>
std::string Describe(const T* object) {
  if (object == nullptr) return "-";
  if constexpr (std::is_same_v<T, api::Pod>) return object->metadata.name + "@" + LabelOf(*object, "l");
  return object->metadata.name;
}

template <class T>
EventRegistration Hinting(const std::string& plugin, EventResource resource, framework::ActionMask action) {
  return framework::When<T>(
      resource, action, [plugin](const PodInfo& waiting, const T* before, const T* after) -> Expected<Hint> {
        const std::string question =
            plugin + "/" + Describe(waiting.pod.get()) + "/" + Describe(before) + "/" + Describe(after);
        switch (Hash(question) % 10) {
          case 0:
            return Invalid("hint failed");
          case 1:
          case 2:
          case 3:
          case 4:
          case 5:
            return Hint::kSkip;
          default:
            return Hint::kQueue;
        }
      });
}

EventRegistration Registered(const std::string& plugin, const FakeRegistration& wanted) {
  const EventResource resource = ResourceNamed(wanted.resource);
  if (!wanted.hint) return {resource, wanted.action};
  switch (resource) {
    case EventResource::kNode:
      return Hinting<api::Node>(plugin, resource, wanted.action);
    case EventResource::kAssignedPod:
    case EventResource::kTargetPod:
      return Hinting<api::Pod>(plugin, resource, wanted.action);
    case EventResource::kPersistentVolumeClaim:
      return Hinting<api::PersistentVolumeClaim>(plugin, resource, wanted.action);
    case EventResource::kStorageClass:
      return Hinting<api::StorageClass>(plugin, resource, wanted.action);
    case EventResource::kCSINode:
      return Hinting<api::CSINode>(plugin, resource, wanted.action);
    default:
      throw std::runtime_error("no hints about " + wanted.resource);
  }
}

class Fake : public virtual framework::Plugin {
 public:
  explicit Fake(const FakePlugin& plugin) : plugin_(plugin) {}
  std::string_view Name() const override { return plugin_.name; }
  std::vector<EventRegistration> EventsToRegister() const override {
    std::vector<EventRegistration> events;
    for (const FakeRegistration& wanted : plugin_.events) events.push_back(Registered(plugin_.name, wanted));
    return events;
  }

 private:
  const FakePlugin plugin_;
};

class FakeRejector final : public Fake, public framework::PreFilterPlugin {
 public:
  using Fake::Fake;
  framework::PreFilterResult PreFilter(const framework::Attempt&) const override { return {}; }
};

class FakeGate final : public Fake, public framework::PreEnqueuePlugin {
 public:
  FakeGate(const FakePlugin& plugin, const Clock& clock) : Fake(plugin), clock_(clock) {}
  Status PreEnqueue(const PodInfo& info) const override {
    const api::Pod& pod = *info.pod;
    if (!Closed(pod)) return {};
    if (Hash("error/" + pod.metadata.name + "/" + LabelOf(pod, "l")) % 4 == 0) return Status::Error("broken");
    return Status::Unresolvable("held back");
  }

 private:
  bool Closed(const api::Pod& pod) const {
    if (Name() == "Gates") return !pod.spec.scheduling_gates.empty();
    if (Name() == "Hold") {
      const std::string until = LabelOf(pod, "hold");
      return !until.empty() && clock_.Now() < MonoTime(std::chrono::milliseconds(std::stoll(until)));
    }
    const std::string mood = LabelOf(pod, "l");
    return !mood.empty() && Hash("Mood/" + pod.metadata.name + "/" + mood) % 5 == 0;
  }
  const Clock& clock_;
};

class FakeBinder final : public framework::BindPlugin {
 public:
  std::string_view Name() const override { return "Binder"; }
  void Bind(const framework::Placement&, framework::StatusCallback answer) override { answer({}); }
};

}  // namespace

std::unique_ptr<runtime::Profile> BuildProfile(const std::string& name,
                                               const std::vector<FakePlugin>& plugins, const Clock& clock,
                                               framework::Handle& handle) {
  using framework::PluginOrError;
  using framework::RawArgs;
  runtime::Registry registry;
  config::Profile config;
  config.scheduler_name = name;
  auto& enabled = config.at(config::Point::kMultiPoint).enabled;
  const auto enable = [&](const std::string& plugin, framework::Factory factory) {
    registry.Add(plugin, std::move(factory));
    enabled.push_back({plugin, 0});
  };
  enable("PrioritySort", [](const RawArgs&, framework::Handle& handle) -> PluginOrError {
    return std::make_unique<plugins::PrioritySort>(handle);
  });
  for (const FakePlugin& plugin : plugins) {
    if (std::ranges::find(plugin.profiles, name) == plugin.profiles.end()) continue;
    enable(plugin.name, [&](const RawArgs&, framework::Handle&) -> PluginOrError {
      if (plugin.pre_enqueue) return std::make_unique<FakeGate>(plugin, clock);
      return std::make_unique<FakeRejector>(plugin);
    });
  }
  enable("Binder",
         [](const RawArgs&, framework::Handle&) -> PluginOrError { return std::make_unique<FakeBinder>(); });
  auto profile = runtime::Profile::Build(config, registry, handle);
  if (!profile) throw std::runtime_error("profile: " + profile.error().message);
  return std::move(*profile);
}

EventResource ResourceNamed(const std::string& name) {
  if (name == "Node") return EventResource::kNode;
  if (name == "AssignedPod") return EventResource::kAssignedPod;
  if (name == "TargetPod") return EventResource::kTargetPod;
  if (name == "PersistentVolumeClaim") return EventResource::kPersistentVolumeClaim;
  if (name == "storage.k8s.io/StorageClass") return EventResource::kStorageClass;
  if (name == "storage.k8s.io/CSINode") return EventResource::kCSINode;
  if (name == "*") return EventResource::kAny;
  throw std::runtime_error("unknown resource " + name);
}

std::shared_ptr<const void> ObjectOf(EventResource kind, const std::string& name) {
  const auto named = [&](auto object) -> std::shared_ptr<const void> {
    object.metadata.name = name;
    return std::make_shared<const decltype(object)>(std::move(object));
  };
  if (name.empty()) return nullptr;
  switch (kind) {
    case EventResource::kNode:
      return named(api::Node{});
    case EventResource::kAssignedPod:
      return named(api::Pod{});
    case EventResource::kPersistentVolumeClaim:
      return named(api::PersistentVolumeClaim{});
    case EventResource::kStorageClass:
      return named(api::StorageClass{});
    case EventResource::kCSINode:
      return named(api::CSINode{});
    default:
      throw std::runtime_error("no objects of that kind");
  }
}

}  // namespace berth::replay
