#include "service/auth/reviews.hpp"

#include <boost/json.hpp>

#include "base/json_text.hpp"

namespace berth::service {
namespace {

namespace json = boost::json;

// The status of a review of this kind. Absent fields have their zero values, as in Go; a field of the wrong
// type is an error.
Expected<json::object> StatusOf(std::string_view text, std::string_view kind) {
  boost::system::error_code error;
  json::value review = json::parse(text, error);
  if (error) return Invalid("couldn't get version/kind; json parse error: " + error.message());
  const json::object* object = review.if_object();
  if (object == nullptr) return Invalid("couldn't get version/kind; json parse error: not an object");
  const json::value* stated_kind = object->if_contains("kind");
  if (stated_kind != nullptr &&
      (!stated_kind->is_string() || stated_kind->get_string() != json::string_view(kind))) {
    return Invalid("the answer is not a " + std::string(kind));
  }
  const json::value* status = object->if_contains("status");
  if (status == nullptr || status->is_null()) return json::object();
  if (!status->is_object()) return Invalid("status: expected an object");
  return status->get_object();
}

Expected<> Read(const json::object& object, std::string_view key, bool& value) {
  const json::value* found = object.if_contains(json::string_view(key));
  if (found == nullptr || found->is_null()) return {};
  if (!found->is_bool()) return Invalid(std::string(key) + ": expected true or false");
  value = found->get_bool();
  return {};
}

Expected<> ReadText(const json::value& found, std::string_view key, std::string& value) {
  if (found.is_null()) return {};
  if (!found.is_string()) return Invalid(std::string(key) + ": expected a string");
  value = std::string_view(found.get_string());
  return {};
}

Expected<> Read(const json::object& object, std::string_view key, std::string& value) {
  const json::value* found = object.if_contains(json::string_view(key));
  return found == nullptr ? Expected<>() : ReadText(*found, key, value);
}

Expected<> ReadList(const json::value& found, std::string_view key, std::vector<std::string>& values) {
  if (found.is_null()) return {};
  if (!found.is_array()) return Invalid(std::string(key) + ": expected a list");
  for (const json::value& item : found.get_array()) {
    BERTH_RETURN_IF_ERROR(ReadText(item, key, values.emplace_back()));
  }
  return {};
}

Expected<> ReadUser(const json::object& object, User& user) {
  BERTH_RETURN_IF_ERROR(Read(object, "username", user.name));
  BERTH_RETURN_IF_ERROR(Read(object, "uid", user.uid));
  if (const json::value* groups = object.if_contains("groups")) {
    BERTH_RETURN_IF_ERROR(ReadList(*groups, "groups", user.groups));
  }
  const json::value* extra = object.if_contains("extra");
  if (extra == nullptr || extra->is_null()) return {};
  if (!extra->is_object()) return Invalid("extra: expected an object");
  for (const auto& [key, values] : extra->get_object()) {
    BERTH_RETURN_IF_ERROR(ReadList(values, "extra", user.extra[std::string(key)]));
  }
  return {};
}

}  // namespace

std::string TokenReviewBody(std::string_view token) {
  std::string out = R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},)"
                    R"("spec":{"token":)";
  AppendGoJsonString(out, token);
  return out + R"(},"status":{"user":{}}})";
}

Expected<TokenVerdict> ParseTokenReview(std::string_view text) {
  BERTH_TRY(const json::object status, StatusOf(text, "TokenReview"));
  TokenVerdict verdict;
  BERTH_RETURN_IF_ERROR(Read(status, "authenticated", verdict.authenticated));
  BERTH_RETURN_IF_ERROR(Read(status, "error", verdict.error));
  const json::value* user = status.if_contains("user");
  if (user == nullptr || user->is_null()) return verdict;
  if (!user->is_object()) return Invalid("user: expected an object");
  BERTH_RETURN_IF_ERROR(ReadUser(user->get_object(), verdict.user));
  return verdict;
}

std::string AccessReviewBody(const User& user, const Attributes& attributes) {
  std::string out = R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},)"
                    R"("spec":{)";
  const auto add = [&](std::string_view before, std::string_view value) {
    AppendGoJsonString(out += before, value);
  };
  if (attributes.resource) {
    add(R"("resourceAttributes":{"namespace":)", attributes.resource->ns);
    add(R"(,"verb":)", attributes.verb);
    add(R"(,"version":"v1","resource":)", attributes.resource->resource);
    add(R"(,"name":)", attributes.resource->name);
  } else {
    add(R"("nonResourceAttributes":{"path":)", attributes.path);
    add(R"(,"verb":)", attributes.verb);
  }
  out += R"(},"user":)";
  AppendGoJsonString(out, user.name);
  if (!user.groups.empty()) AppendJsonList(out += R"(,"groups":)", user.groups, AppendGoJsonString);
  if (!user.extra.empty()) {
    out += R"(,"extra":{)";
    for (const auto& [key, values] : user.extra) {
      if (out.back() != '{') out += ',';
      AppendGoJsonString(out, key);
      AppendJsonList(out += ':', values, AppendGoJsonString);
    }
    out += '}';
  }
  if (!user.uid.empty()) AppendGoJsonString(out += R"(,"uid":)", user.uid);
  return out + R"(},"status":{"allowed":false}})";
}

Expected<AccessVerdict> ParseAccessReview(std::string_view text) {
  BERTH_TRY(const json::object status, StatusOf(text, "SubjectAccessReview"));
  AccessVerdict verdict;
  BERTH_RETURN_IF_ERROR(Read(status, "allowed", verdict.allowed));
  BERTH_RETURN_IF_ERROR(Read(status, "denied", verdict.denied));
  BERTH_RETURN_IF_ERROR(Read(status, "reason", verdict.reason));
  return verdict;
}

}  // namespace berth::service
