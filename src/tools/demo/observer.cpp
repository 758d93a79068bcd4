#include "tools/demo/observer.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "tools/demo/workload.hpp"

namespace berth::demo {
namespace {

namespace json = boost::json;

// The value at a path of keys; null if any step is missing.
const json::value* At(const json::value& from, std::initializer_list<std::string_view> path) {
  const json::value* here = &from;
  for (const auto key : path) {
    const json::object* object = here->if_object();
    here = object != nullptr ? object->if_contains(key) : nullptr;
    if (here == nullptr) return nullptr;
  }
  return here;
}

std::string_view Text(const json::value& from, std::initializer_list<std::string_view> path) {
  const json::value* value = At(from, path);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

// Null if the pod has no such condition.
const json::value* Condition(const json::value& pod, std::string_view type, std::string_view status) {
  const json::value* conditions = At(pod, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const auto& condition : conditions->get_array()) {
    if (Text(condition, {"type"}) == type && Text(condition, {"status"}) == status) return &condition;
  }
  return nullptr;
}

std::string_view WhyPending(const json::value& pod) {
  const json::value* condition = Condition(pod, "PodScheduled", "False");
  return condition == nullptr ? std::string_view() : Text(*condition, {"message"});
}

}  // namespace

Expected<std::unique_ptr<Observer>> Observer::Start(std::uint16_t port) {
  std::unique_ptr<Observer> observer(new Observer);
  BERTH_TRY(
      observer->watch_,
      load_generator::WatchThread::Start(
          port, fmt::format("/api/v1/namespaces/{}/pods?watch=1&timeoutSeconds=86000", kNamespace),
          [self = observer.get()](std::string_view line, MonoTime arrived) { self->OnLine(line, arrived); }));
  return observer;
}

void Observer::OnLine(std::string_view line, MonoTime arrived) {
  unsigned char buffer[16 << 10];
  json::monotonic_resource arena(buffer);
  boost::system::error_code error;
  const json::value event = json::parse(json::string_view(line.data(), line.size()), error, &arena);
  const json::value* pod = error ? nullptr : At(event, {"object"});
  if (pod == nullptr || Text(event, {"type"}) == "ERROR" || Text(event, {"type"}) == "BOOKMARK") return;
  const std::lock_guard lock(mutex_);
  ++counts_.changes;
  auto [place, first] = pods_.try_emplace(std::string(Text(*pod, {"metadata", "name"})));
  ObservedPod& seen = place->second;
  if (first) {
    seen.kind = Text(*pod, {"metadata", "labels", kKindLabel});
    seen.created = arrived;
    if (counts_.seen++ == 0) counts_.first_created = arrived;
    counts_.last_created = arrived;
  }
  const auto node = Text(*pod, {"spec", "nodeName"});
  if (!seen.node.empty()) {
    seen.evicted = seen.evicted || Condition(*pod, "DisruptionTarget", "True") != nullptr;
    return;
  }
  if (!node.empty()) {
    seen.node = node;
    seen.bound = arrived;
    ++counts_.bound;
    counts_.last_bound = arrived;
    if (!seen.message.empty()) --counts_.explained;
    return;
  }
  const auto why = WhyPending(*pod);
  if (!why.empty() && seen.message.empty()) ++counts_.explained;
  if (!why.empty()) seen.message = why;
}

Observer::Counts Observer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<ObservedPod> Observer::Pods() const {
  const std::lock_guard lock(mutex_);
  std::vector<ObservedPod> all;
  all.reserve(pods_.size());
  for (const auto& [_, pod] : pods_) all.push_back(pod);
  return all;
}

}  // namespace berth::demo
