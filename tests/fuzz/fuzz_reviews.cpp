// Responses of the API server to reviews, the ConfigMap of authentication, and a front proxy's headers.
#include <boost/json.hpp>

#include "base/utf8.hpp"
#include "service/auth/config_map_watch.hpp"
#include "service/auth/front_proxy.hpp"
#include "service/auth/reviews.hpp"
#include "service/auth/token_reviewer.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth;
using namespace berth::service;
using fuzz::Require;

void CheckBody(const std::string& body) {
  boost::system::error_code error;
  boost::json::parse(body, error);
  Require(!error, "what we ask is JSON, whatever is in it");
}

void CheckHeaders(std::string_view text) {
  FrontProxy proxy;
  proxy.username_headers = {"x-remote-user"};
  proxy.uid_headers = {"x-remote-uid"};
  proxy.group_headers = {"x-remote-group"};
  proxy.extra_header_prefixes = {"x-remote-extra-"};
  http::Headers headers;
  bool named = false;
  for (const std::string& line : fuzz::Lines(text)) {
    const auto colon = line.find(": ");
    if (colon != line.npos) headers.Add(line.substr(0, colon), line.substr(colon + 2));
  }
  named = !headers.Find("X-Remote-User").empty();
  const auto user = UserOfHeaders(headers, proxy);
  Require(user.has_value() == named, "a user is there if it is named");
  if (!user) return;
  for (const std::string& group : user->groups) Require(!group.empty(), "an empty group is none");
  const std::string path(text);
  CheckBody(AccessReviewBody(*user, {"get", path}));
  CheckBody(AccessReviewBody(*user, {path, "", Attributes::Resource{"pods", path, path}}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::Text(data, size);
  CheckBody(TokenReviewBody(text));
  CheckHeaders(text);
  if (const auto verdict = ParseTokenReview(text)) CheckBody(AccessReviewBody(verdict->user, {"get", "/"}));
  if (const auto verdict = ParseAccessReview(text))
    Require(verdict->reason.size() <= size, "a reason is in the text");
  if (const auto parsed = ParseConfigMap(text)) Require(parsed->size() <= size, "so are the keys");
  const std::string valid = berth::ToUtf8(text);
  Require(berth::ToUtf8(valid) == valid, "what is valid stays");
  Require(BearerToken(text).size() <= size && !BearerToken(text).contains(' '), "a token is a word");
  return 0;
}
