// Compares pods and nodes in both encodings, written by Kubernetes' serializers (../main.go): Berth must
// decode both to equal objects.
//
//   compare_encodings FILE...
#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/length_splitter.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/encode.hpp"
#include "testing/recording_file.hpp"

namespace berth {
namespace {

using api::Node;
using api::Pod;

class Comparison {
 public:
  // ../main.go defines the records.
  void Compare(std::string_view what, std::string_view json, std::string_view protobuf) {
    ++records_;
    place_ = fmt::format("record {} ({})", records_, what);
    if (what == "Pod") Objects(decoder_.Object<Pod>(json), decoder_.Object<Pod>(protobuf));
    if (what == "Node") Objects(decoder_.Object<Node>(json), decoder_.Object<Node>(protobuf));
    if (what == "PodList") Lists(decoder_.List<Pod>(json), decoder_.List<Pod>(protobuf));
    if (what == "NodeList") Lists(decoder_.List<Node>(json), decoder_.List<Node>(protobuf));
    if (what.ends_with("List")) Versions(json, protobuf);
    if (what == "PodEvent") Events<Pod>(json, Frame(protobuf));
    if (what == "NodeEvent") Events<Node>(json, Frame(protobuf));
    if (what == "Status") Statuses(decoder_.ErrorStatus(json, 500), decoder_.ErrorStatus(protobuf, 500));
  }

  int Report() const {
    fmt::print("{} records, {} objects understood, {} refused, {} differences\n", records_, understood_,
               refused_, differences_);
    return differences_ == 0 && understood_ > 0 ? 0 : 1;
  }

 private:
  void Expect(bool equal, std::string_view what) {
    if (equal) return;
    if (++differences_ <= 20) fmt::print("{}: {} differs\n", place_, what);
  }
  // Error paths are equal; the error texts depend on the encoding.
  template <class Result>
  bool BothFine(const Result& json, const Result& protobuf) {
    if (json && protobuf) return true;
    Expect(
        json.has_value() == protobuf.has_value(),
        fmt::format("whether it is understood ({})", json ? protobuf.error().message : json.error().message));
    ++refused_;
    return false;
  }

  template <class T>
  void Objects(const Expected<T>& json, const Expected<T>& protobuf) {
    if (!BothFine(json, protobuf)) return;
    Same(*json, *protobuf);
    Rewritten(*json);
  }
  // The text that Berth writes gives an equal object.
  template <class T>
  void Rewritten(T object) {
    std::string text;
    AppendJson(text, object);
    auto again = decoder_.Object<T>(text);
    if constexpr (std::is_same_v<T, Node>) {  // the annotations are not written
      object.annotations_digest = 0;
      if (again) again->annotations_digest = 0;
    }
    Expect(again && *again == object, fmt::format("the object read from {}", text));
  }
  void Same(const Pod& a, const Pod& b) {
    ++understood_;
    Metadata(a.metadata, b.metadata);
    Expect(a.spec.containers == b.spec.containers, "spec.containers");
    Expect(a.spec.init_containers == b.spec.init_containers, "spec.initContainers");
    Expect(a.spec.volumes == b.spec.volumes, "spec.volumes");
    Expect(a.spec == b.spec, "spec");
    Expect(a.status.conditions == b.status.conditions, "status.conditions");
    Expect(a.status == b.status, "status");
  }
  void Same(const Node& a, const Node& b) {
    ++understood_;
    Metadata(a.metadata, b.metadata);
    Expect(a.annotations_digest == b.annotations_digest, "metadata.annotations");
    Expect(a == b, "spec or status");
  }
  void Metadata(const api::ObjectMeta& a, const api::ObjectMeta& b) {
    Expect(a.labels == b.labels, "metadata.labels");
    Expect(a.controller == b.controller, "metadata.ownerReferences");
    Expect(a.deletion_timestamp == b.deletion_timestamp, "metadata.deletionTimestamp");
    Expect(a == b, "metadata");
  }

  template <class T>
  void Lists(const Expected<api::ObjectList<T>>& json, const Expected<api::ObjectList<T>>& protobuf) {
    if (!BothFine(json, protobuf)) return;
    Expect(json->resource_version == protobuf->resource_version, "metadata.resourceVersion");
    Expect(json->continue_token == protobuf->continue_token, "metadata.continue");
    Expect(json->skipped.size() == protobuf->skipped.size(), "how much is skipped");
    Expect(json->items.size() == protobuf->items.size(), "how much is understood");
    for (std::size_t i = 0; i < std::min(json->items.size(), protobuf->items.size()); ++i)
      Same(*json->items[i], *protobuf->items[i]);
  }

  void Versions(std::string_view json, std::string_view protobuf) {
    api::Decoder other;
    const auto a = decoder_.Versions(json), b = other.Versions(protobuf);
    Expect(a.has_value() == b.has_value(), "whether versions can be read");
    if (!a || !b) return;
    Expect(a->resource_version == b->resource_version && a->items.size() == b->items.size(),
           "list of versions");
  }

  template <class T>
  void Events(std::string_view json, std::string_view protobuf) {
    if (json.ends_with('\n')) json.remove_suffix(1);
    const auto a = decoder_.Event<T>(json), b = decoder_.Event<T>(protobuf);
    if (!BothFine(a, b)) return;
    Expect(a->type == b->type && a->key == b->key && a->resource_version == b->resource_version, "event");
    Expect(a->initial_events_end == b->initial_events_end, "end of initial events");
    Expect(a->skipped.empty() == b->skipped.empty(), "whether its object is understood");
    Statuses(a->status, b->status);
    if (a->object && b->object) Same(*a->object, *b->object);
  }
  void Statuses(const api::Status& a, const api::Status& b) {
    Expect(a.code == b.code && a.reason == b.reason && a.message == b.message, "status");
    Expect(a.retry_after_seconds == b.retry_after_seconds && a.cause_reasons == b.cause_reasons, "details");
  }

  // The frame between two lengths; a stream may deliver it in pieces of any size.
  std::string_view Frame(std::string_view framed) {
    http::LengthSplitter splitter(framed.size());
    frame_.clear();
    for (std::size_t i = 0; i < framed.size(); i += 7) {
      Expect(splitter.Feed(framed.substr(i, 7),
                           [&](std::string_view frame) {
                             Expect(frame_.empty(), "one frame");
                             frame_ = frame;
                             return true;
                           }),
             "its frame");
    }
    Expect(splitter.End([](std::string_view) { return true; }), "the end of the frame");
    return frame_;
  }

  api::Decoder decoder_;
  std::string place_, frame_;
  std::size_t records_ = 0, understood_ = 0, refused_ = 0, differences_ = 0;
};

void CompareAll(std::string_view records, Comparison& comparison) {
  const auto word = [&](char end) {
    const auto size = records.find(end);
    if (size == records.npos) throw std::runtime_error("a record is cut off");
    const std::string_view text = records.substr(0, size);
    records.remove_prefix(size + 1);
    return text;
  };
  const auto bytes = [&](std::string_view count) {
    std::size_t size = 0;
    std::from_chars(count.data(), count.data() + count.size(), size);
    if (size > records.size()) throw std::runtime_error("a record is cut off");
    const std::string_view text = records.substr(0, size);
    records.remove_prefix(size);
    return text;
  };
  while (!records.empty()) {
    const auto what = word(' '), json_bytes = word(' '), protobuf_bytes = word('\n');
    const auto json = bytes(json_bytes);
    comparison.Compare(what, json, bytes(protobuf_bytes));
  }
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::Comparison comparison;
  try {
    for (int i = 1; i < argc; ++i) berth::CompareAll(berth::testing::ReadRecording(argv[i]), comparison);
  } catch (const std::exception& error) {
    fmt::print(stderr, "compare_encodings: {}\n", error.what());
    return 1;
  }
  return comparison.Report();
}
