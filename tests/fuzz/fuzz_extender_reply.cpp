// Responses of extenders: each is decoded or rejected with an error. Whatever is accepted as JSON is JSON for
// another parser, too.
#include <algorithm>
#include <boost/json/parse.hpp>

#include "scheduler/extenders/json.hpp"
#include "scheduler/extenders/replies.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth::extenders;
using berth::fuzz::Require;

void Walk(const Json& value, int depth) {
  if (depth > 100) return;
  if (value.kind() == Json::Kind::kString) static_cast<void>(value.String());
  if (value.kind() == Json::Kind::kArray) {
    value.ForEachItem([&](const Json& item) { Walk(item, depth + 1); });
  }
  if (value.kind() == Json::Kind::kObject) {
    value.ForEachMember([&](std::string_view key, const Json& member) {
      Require(key.size() >= 2 && key.front() == '"' && key.back() == '"', "a key is a string");
      Walk(member, depth + 1);
    });
  }
}

// Go accepts invalid UTF-8, half surrogates, and numbers of any size.
void Compare(std::string_view text) {
  const auto odd = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (std::ranges::any_of(text, odd) || text.find("\\u") != text.npos) return;
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = 10'000;
  boost::json::parse(text, error, {}, options);
  Require(!error || error == boost::json::error::exponent_overflow, "a value is JSON");
}

template <class T>
void Answered(const berth::Expected<T>& reply) {
  Require(reply.has_value() || !reply.error().message.empty(), "a refusal has a reason");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::fuzz::Text(data, size);
  const Reply reply{200, std::string(text), ""};
  const auto value = FirstValue(text);
  Answered(value);
  Answered(ReadFilterReply(reply));
  Answered(ReadPrioritizeReply(reply));
  Answered(ReadPreemptReply(reply));
  Answered(ReadBindReply(reply));
  if (!value) return 0;
  Walk(*value, 0);
  Compare(value->text());
  return 0;
}
