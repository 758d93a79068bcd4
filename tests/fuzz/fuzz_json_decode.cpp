// The decoder on arbitrary bytes: an object alone, in a list, and in a watch event gives the same object or
// is rejected each time. A reused parser gives the same results as a new one.
#include "kubernetes/api/decode.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using berth::fuzz::Require;

// Compares the metadata of every kind; of pods and nodes more.
template <class T>
void Same(const T& a, const T& b) {
  Require(a.metadata.Key() == b.metadata.Key() && a.metadata.uid == b.metadata.uid, "same metadata");
  Require(a.metadata.labels == b.metadata.labels, "same labels");
  Require(a.metadata.annotations == b.metadata.annotations, "same annotations");
}
void Same(const berth::api::Pod& a, const berth::api::Pod& b) {
  Require(a.metadata.Key() == b.metadata.Key() && a.metadata.uid == b.metadata.uid, "same metadata");
  Require(a.metadata.labels == b.metadata.labels, "same labels");
  Require(a.spec.node_name == b.spec.node_name && a.spec.priority == b.spec.priority, "same spec");
  Require(a.spec.containers.size() == b.spec.containers.size(), "same containers");
  Require(a.spec.volumes.size() == b.spec.volumes.size(), "same volumes");
  Require(a.spec.pod_affinity == b.spec.pod_affinity, "same affinity");
  Require(a.spec.topology_spread_constraints == b.spec.topology_spread_constraints, "same constraints");
  Require(a.status.conditions.size() == b.status.conditions.size(), "same conditions");
}
void Same(const berth::api::Node& a, const berth::api::Node& b) {
  Require(a.metadata.Key() == b.metadata.Key() && a.metadata.uid == b.metadata.uid, "same metadata");
  Require(a.metadata.labels == b.metadata.labels, "same labels");
  Require(a.taints == b.taints && a.unschedulable == b.unschedulable, "same spec");
  Require(a.allocatable.size() == b.allocatable.size(), "same allocatable");
}

template <class T>
void Decode(berth::api::Decoder& used, std::string_view text) {
  const auto object = used.Object<T>(text);
  berth::api::Decoder fresh;
  const auto again = fresh.Object<T>(text);
  Require(object.has_value() == again.has_value(), "a used parser agrees with a fresh one");
  if (object) {
    Same(*object, *again);
  } else {
    Require(!object.error().message.empty(), "a refusal has a reason");
  }
  // The bytes themselves, as any of the other forms of input.
  (void)used.List<T>(text);
  (void)used.Event<T>(text);

  const auto list =
      used.List<T>(fmt::format(R"({{"metadata":{{"resourceVersion":"9"}},"items":[{}]}})", text));
  if (list && object) Require(list->items.size() == 1, "one item in, one item out");
  if (list && object) Same(*list->items[0], *object);
  if (list && object) Require(list->skipped.empty(), "what is understood alone is understood in a list");
  const auto event = used.Event<T>(fmt::format(R"({{"type":"ADDED","object":{}}})", text));
  if (event && object) {
    Require(event->object != nullptr && event->skipped.empty(),
            "what is understood alone is understood in an event");
    Same(*event->object, *object);
    Require(event->key == object->metadata.Key(), "the event has the key");
    Require(event->resource_version == object->metadata.resource_version, "the event has the version");
  }
  // Text that is not JSON alone may become JSON inside the surrounding text.
  const bool json = object || !object.error().message.starts_with("not valid JSON");
  if (event && !object && json && event->type == berth::api::WatchEventType::kAdded) {
    Require(event->object == nullptr && !event->skipped.empty(),
            "what is refused alone is skipped in an event");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static berth::api::Decoder used;
  const auto text = berth::fuzz::Text(data, size);
  // A byte order mark is only allowed at the start of a text, so the results may differ.
  if (text.starts_with("\xef\xbb\xbf")) return 0;
  berth::api::AllKinds::ForEach([&]<class T>() { Decode<T>(used, text); });
  (void)used.ErrorStatus(text, 500);
  return 0;
}
