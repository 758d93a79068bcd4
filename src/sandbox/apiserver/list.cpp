#include "sandbox/apiserver/list.hpp"

#include <fmt/format.h>

#include <charconv>

namespace berth::sandbox {
namespace {

constexpr std::string_view kBase64Url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Without padding.
std::string EncodeBase64Url(std::string_view bytes) {
  std::string text;
  unsigned bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) text += kBase64Url[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kBase64Url[bits << (6 - count) & 63];
  return text;
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto value = kBase64Url.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<unsigned>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 255);
    }
  }
  return bytes;
}

// kube-apiserver's continue token: the start of the next page, relative to the list's prefix, and the version
// that the list shows. Version -1: the version at the time of the request.
std::string MakeToken(std::int64_t version, std::string_view last_key, std::string_view ns) {
  if (!ns.empty()) last_key.remove_prefix(ns.size() + 1);
  std::string start("/");
  start.append(last_key).push_back('\0');
  return EncodeBase64Url(
      json::serialize(json::object{{"v", "meta.k8s.io/v1"}, {"rv", version}, {"start", start}}));
}

ApiResult<> ReadToken(std::string_view token, std::string_view ns, ListOptions& options) {
  const auto text = DecodeBase64Url(token);
  const auto document = text ? Document::Parse(*text) : Invalid("illegal base64 data at input byte 0");
  if (!document)
    return BadRequest(
        fmt::format("invalid continue token: continue key is not valid: {}", document.error().message));
  const auto start = FindString(document->root(), "start");
  const json::value* version = Find(document->root(), "rv");
  if (FindString(document->root(), "v") != "meta.k8s.io/v1" || version == nullptr || !version->is_int64() ||
      version->get_int64() == 0 || !start.starts_with('/') || start.size() < 2) {
    return BadRequest(
        "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion or key");
  }
  options.start =
      ObjectKey(ns, start.substr(1, start.back() == '\0' ? start.size() - 2 : std::string_view::npos));
  if (version->get_int64() > 0) options.exactly = static_cast<Version>(version->get_int64());
  return {};
}

std::unexpected<ApiError> Contradiction(std::string_view field, std::string_view why) {
  return InvalidObject("meta.k8s.io", "ListOptions", "", {FieldForbidden(std::string(field), why)});
}

ApiResult<std::optional<Version>> ParseVersion(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Version version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size()) {
    return BadRequest(
        fmt::format("invalid resource version: resourceVersion: Invalid value: \"{0}\": strconv.ParseUint: "
                    "parsing \"{0}\": invalid syntax",
                    text));
  }
  return version;
}

}  // namespace

ApiResult<ListOptions> ParseListOptions(const ApiRequest& request, Selector selector) {
  const Query& query = request.query;
  ListOptions options;
  options.selector = std::move(selector);
  const auto match = query.Get("resourceVersionMatch");
  const auto token = query.Get("continue");
  if (query.Has("sendInitialEvents")) {
    return Contradiction("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  if (!match.empty() && !token.empty()) {
    return Contradiction("resourceVersionMatch",
                         "resourceVersionMatch is forbidden when continue is provided");
  }
  if (!match.empty() && query.Get("resourceVersion").empty()) {
    return Contradiction("resourceVersionMatch",
                         "resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    return InvalidObject("meta.k8s.io", "ListOptions", "",
                         {NotSupported("resourceVersionMatch", match, "\"Exact\", \"NotOlderThan\", \"\"")});
  }
  BERTH_TRY(const auto limit, query.Integer("limit"));
  BERTH_TRY(const auto version, ParseVersion(query.Get("resourceVersion")));
  if (match == "Exact" && *version == 0) {
    return Contradiction("resourceVersionMatch",
                         "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
  options.limit = limit && *limit > 0 ? static_cast<std::size_t>(*limit) : 0;
  if (version == Version{0})
    options.limit = 0;  // "any state" is served from the watch cache, which has no pages
  if (!token.empty()) {
    BERTH_RETURN_IF_ERROR(ReadToken(token, options.selector.ns, options));
    if (version && *version != 0)
      return BadRequest("specifying resource version is not allowed when using continue");
  } else if (version && *version > 0) {
    options.at_least = version;
    if (match == "Exact" || (match.empty() && options.limit > 0)) options.exactly = version;
  }
  return options;
}

ApiResult<ListResult> ListObjects(const Store& store, const ResourceType& type, const ListOptions& options) {
  const Version version = options.exactly.value_or(store.version());
  if (!store.HasVersion(type, version)) {
    if (options.start.empty()) return Expired("The resourceVersion for the provided list is too old.");
    auto error = Expired(
        "The provided continue parameter is too old to display a consistent list result. You can start "
        "a new list without the continue parameter, or use the continue token in this response to "
        "retrieve the remainder of the results. Continuing with the provided token results in an "
        "inconsistent list - objects that were created, modified, or deleted between the time the "
        "first chunk was returned and now may show up in the list.");
    error.error().continue_token = MakeToken(-1, options.start, options.selector.ns);
    return error;
  }
  ListResult result;
  result.metadata.version = version;
  const std::string prefix = options.selector.ns.empty() ? "" : options.selector.ns + "/";
  std::size_t beyond = 0;
  store.ForEachAt(type, version, prefix, options.start, [&](const ObjectPtr& object) {
    if (!options.selector.Matches(*object)) return true;
    if (options.limit == 0 || result.objects.size() < options.limit) {
      result.objects.push_back(object);
      return true;
    }
    ++beyond;
    return options.selector.plain();  // only lists without selectors count the remaining items
  });
  if (beyond > 0) {
    result.metadata.continue_token =
        MakeToken(static_cast<std::int64_t>(version), result.objects.back()->key, options.selector.ns);
    if (options.selector.plain()) result.metadata.remaining = beyond;
  }
  return result;
}

ApiResult<Selector> ParseSelector(const ApiRequest& request) {
  Selector selector;
  selector.ns = request.ns;
  auto labels = LabelSelector::Parse(request.query.Get("labelSelector"));
  if (!labels) return BadRequest(labels.error().message);
  auto fields = FieldSelector::Parse(*request.type, request.query.Get("fieldSelector"), request.events_group);
  if (!fields) return BadRequest(fields.error().message);
  selector.labels = std::move(*labels);
  selector.fields = std::move(*fields);
  return selector;
}

}  // namespace berth::sandbox
