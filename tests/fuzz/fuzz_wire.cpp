// Kubernetes' protobuf on arbitrary bytes: as an object, as the raw part of one, in a list, and in a frame of
// a watch. All forms must give the same object or be rejected, with the result of a new decoder. The same
// bytes are also read as frames, in pieces of any size.
#include "http/length_splitter.hpp"
#include "kubernetes/api/decode.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using berth::fuzz::Require;

void AppendNumber(std::string& out, std::size_t number) {
  for (; number >= 128; number >>= 7) out += static_cast<char>(number % 128 | 128);
  out += static_cast<char>(number);
}
std::string Field(int number, std::string_view bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  AppendNumber(out, bytes.size());
  return out.append(bytes);
}
std::string Enveloped(std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + Field(1, Field(2, kind)) + Field(2, raw);
}

template <class T>
void Decode(berth::api::Decoder& used, std::string_view bytes) {
  const std::string kind(T::kKind);
  const auto object = used.Object<T>(Enveloped(kind, bytes));
  berth::api::Decoder fresh;
  const auto again = fresh.Object<T>(Enveloped(kind, bytes));
  Require(object.has_value() == again.has_value(), "a used decoder agrees with a fresh one");
  if (object) Require(*object == *again, "the same object");
  if (!object) Require(!object.error().message.empty(), "a refusal has a reason");

  const auto list = used.List<T>(Enveloped(kind + "List", Field(2, bytes)));
  Require(list.has_value(), "a list is not spoilt by an item");
  Require(list->items.size() == (object ? 1U : 0U) && list->skipped.size() == (object ? 0U : 1U),
          "one item in, one out");
  if (object) Require(*list->items[0] == *object, "the same object in a list");

  const auto event = used.Event<T>(Field(1, "ADDED") + Field(2, Field(1, Enveloped(kind, bytes))));
  Require(event.has_value(), "an event is not spoilt by its object");
  Require((event->object != nullptr) == object.has_value(), "understood alone, understood in an event");
  Require(event->skipped.empty() == object.has_value(), "what is skipped has a reason");
  if (!object) return;
  Require(*event->object == *object, "the same object in an event");
  Require(event->key == object->metadata.Key(), "the event has the key");
  Require(event->resource_version == object->metadata.resource_version, "the event has the version");
}

void Split(std::string_view bytes) {
  std::vector<std::string> whole;
  berth::http::LengthSplitter splitter(4096);
  const auto into = [](std::vector<std::string>& frames) {
    return [&frames](std::string_view frame) { return frames.emplace_back(frame), true; };
  };
  const bool fine = splitter.Feed(bytes, into(whole));
  const std::size_t piece = bytes.empty() ? 1 : static_cast<unsigned char>(bytes.back()) % 7 + 1;
  std::vector<std::string> frames;
  berth::http::LengthSplitter again(4096);
  bool still = true;
  for (std::size_t at = 0; still && at < bytes.size(); at += piece)
    still = again.Feed(bytes.substr(at, piece), into(frames));
  Require(still == fine && frames == whole, "frames do not depend on how they arrive");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static berth::api::Decoder used;
  const auto bytes = berth::fuzz::Text(data, size);
  Decode<berth::api::Pod>(used, bytes);
  Decode<berth::api::Node>(used, bytes);
  // The bytes themselves, without a valid envelope.
  (void)used.Object<berth::api::Pod>(bytes);
  (void)used.List<berth::api::Node>(bytes);
  (void)used.Event<berth::api::Pod>(bytes);
  (void)used.Versions(bytes);
  (void)used.ErrorStatus(bytes, 500);
  Split(bytes);
  return 0;
}
