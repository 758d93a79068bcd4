#include "sandbox/apiserver/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/url.hpp>
#include <charconv>

#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "base/trim.hpp"
#include "sandbox/apiserver/protobuf.hpp"
#include "sandbox/apiserver/yaml.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kBodyTypes =
    "the body of the request was in an unknown format - accepted media types include: application/json, "
    "application/yaml, application/vnd.kubernetes.protobuf";

template <class Visit>
void Split(std::string_view text, char separator, Visit&& visit) {
  for (;;) {
    const auto end = text.find(separator);
    visit(Trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view Query::Get(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name == key) return value;
  }
  return {};
}

bool Query::Has(std::string_view key) const {
  for (const auto& entry : entries_) {
    if (entry.first == key) return true;
  }
  return false;
}

bool Query::Flag(std::string_view key) const {
  if (!Has(key)) return false;
  const auto value = Get(key);
  return value != "0" && value != "false" && value != "False";
}

ApiResult<std::optional<std::int64_t>> Query::Integer(std::string_view key) const {
  const auto text = Get(key);
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return BadRequest(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
  }
  return value;
}

ApiResult<ApiRequest> ParseRequest(http::Request raw) {
  const auto target = boost::urls::parse_origin_form(raw.target);
  if (!target) return BadRequest(fmt::format("cannot parse \"{}\" as a path and query", raw.target));
  ApiRequest request;
  request.method = std::move(raw.method);
  for (const auto& segment : target->segments()) {
    if (!segment.empty()) request.path.emplace_back(segment);
  }
  for (const auto& parameter : target->params()) request.query.Add(parameter.key, parameter.value);
  request.accept = raw.headers.Find("Accept");
  const auto content_type = raw.headers.Find("Content-Type");
  request.content_type = ToAsciiLower(Trimmed(content_type.substr(0, content_type.find(';'))));
  request.body = std::move(raw.body);
  request.user_agent = raw.headers.Find("User-Agent");
  request.accepts_gzip = raw.headers.Find("Accept-Encoding").find("gzip") != std::string_view::npos;
  return request;
}

// /api/v1/..., /apis/<group>/<version>/...: [namespaces/<ns>/]<resource>[/<name>[/<subresource>]]
ApiResult<> ResolveResource(ApiRequest& request) {
  const auto& path = request.path;
  const bool core = path[0] == "api";
  const std::string group = core ? "" : path[1];
  const std::string version = core ? path[1] : path[2];
  std::size_t at = core ? 2 : 3;
  request.events_group = group == "events.k8s.io";
  const auto find = [&](std::string_view plural) {
    if (request.events_group) return plural == "events" && version == "v1" ? &Known().events : nullptr;
    return FindResource(group, version, plural);
  };
  // "namespaces/x" alone, or with a namespace subresource, is the namespace itself.
  const bool within_namespace =
      path[at] == "namespaces" && path.size() > at + 2 &&
      !(core && path.size() == at + 3 && (path[at + 2] == "status" || path[at + 2] == "finalize"));
  if (within_namespace) {
    request.ns = path[at + 1];
    at += 2;
  }
  request.type = find(path[at]);
  if (core && within_namespace && path[at] == "bindings") {  // the legacy path of pods/binding
    request.type = &Known().pods;
    request.subresource = "binding";
    return {};
  }
  if (request.type == nullptr) return NoSuchResource();
  if (request.type->namespaced != within_namespace && (within_namespace || path.size() > at + 1))
    return NoSuchResource();
  if (path.size() > at + 1) request.name = path[at + 1];
  if (path.size() > at + 2) request.subresource = path[at + 2];
  if (path.size() > at + 3) return NoSuchResource();
  return {};
}

ApiResult<View> NegotiateView(const ApiRequest& request) {
  View view;
  view.type = request.type;
  view.events_group = request.events_group;
  bool found = request.accept.empty();
  bool known_type = false;
  Split(request.accept, ',', [&](std::string_view choice) {
    if (found) return;
    std::string_view media;
    std::string as, group;
    bool first = true;
    Split(choice, ';', [&](std::string_view part) {
      if (std::exchange(first, false))
        media = part;
      else if (part.starts_with("as="))
        as = part.substr(3);
      else if (part.starts_with("g="))
        group = part.substr(2);
    });
    // JSON also answers requests for protobuf or YAML: clients decode by the response's content type.
    const bool known = media == "application/json" || media == "*/*" || media == "application/*" ||
                       media == "application/yaml" || media == "application/vnd.kubernetes.protobuf";
    if (!known) return;
    known_type = true;
    if (as.empty()) {
      found = true;
    } else if (as == "Table" && group == "meta.k8s.io") {
      view.shape = View::Shape::kTable;
      found = true;
    } else if (as.starts_with("PartialObjectMetadata") && group == "meta.k8s.io") {
      view.shape = View::Shape::kMetadata;
      found = true;
    }
  });
  if (!found) {
    ApiError error;
    error.code = 406;
    error.reason = "NotAcceptable";
    error.message =
        known_type ? "only the following media types are accepted: application/json, application/yaml, "
                     "application/vnd.kubernetes.protobuf"
                   : "406: Not Acceptable\n\nAvailable representations: application/json, "
                     "application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
                     "application/vnd.kubernetes.protobuf;stream=watch";
    error.has_details = !known_type;
    return std::unexpected(std::move(error));
  }
  const auto include = request.query.Get("includeObject");
  if (include == "None")
    view.include = View::Include::kNone;
  else if (include == "Object")
    view.include = View::Include::kObject;
  else if (!include.empty() && include != "Metadata") {
    return BadRequest(
        fmt::format("Unable to convert to Table as requested: includeObject: Invalid value: \"{}\": must be "
                    "'Metadata', 'Object', 'None', or empty",
                    include));
  }
  return view;
}

namespace {

// The excerpt of malformed input in messages.
std::string Summary(std::string_view data) {
  constexpr std::size_t kShown = 30;
  if (data.empty()) return "<empty>";
  const auto shown = data.substr(0, kShown);
  const std::string_view dots = data.size() > kShown ? " ..." : "";
  if (data.front() == '{') return fmt::format("{}{}", shown, dots);
  return Hex(shown).append(dots);
}

// Converts a parser's message to Go's text where one is known.
std::string JsonProblem(std::string_view problem, std::string_view body) {
  if (problem == "incomplete JSON") return "unexpected end of JSON input";
  if (!problem.starts_with("cannot unmarshal")) return std::string(problem);
  const auto first = body.find_first_not_of(" \t\r\n");
  const char c = first == std::string_view::npos ? ' ' : body[first];
  const std::string_view kind = c == '['               ? "array"
                                : c == '"'             ? "string"
                                : c == 't' || c == 'f' ? "bool"
                                                       : "number";
  return fmt::format(R"(json: cannot unmarshal {} into Go value of type struct {{ APIVersion string )"
                     R"("json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }})",
                     kind);
}

ApiResult<Document> ParseBody(const ApiRequest& request, std::string_view kind) {
  if (request.content_type == "application/vnd.kubernetes.protobuf") {
    auto decoded = DecodeProtobuf(request.body);
    if (!decoded && decoded.error().message.starts_with("provided data")) {
      return BadRequest(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})", kind,
                                    decoded.error().message, Summary(request.body)));
    }
    return decoded;
  }
  // A body without a content type is JSON, as in kube-apiserver (kubectl create --raw sends none).
  const bool is_json = request.content_type.empty() || request.content_type == "application/json" ||
                       request.content_type == "application/yaml";
  if (!is_json) {
    auto error = UnsupportedMediaType(std::string(kBodyTypes));
    error.error().has_details = false;
    return error;
  }
  auto document = request.content_type == "application/yaml" ? ParseYamlDocument(request.body)
                                                             : Document::Parse(request.body);
  if (!document) {
    return BadRequest(
        fmt::format("the object provided is unrecognized (must be of type {}): couldn't get version/kind; "
                    "json parse error: {} ({})",
                    kind, JsonProblem(document.error().message, request.body), Summary(request.body)));
  }
  return std::move(*document);
}

}  // namespace

ApiResult<Document> DecodeBody(const ApiRequest& request, std::string_view group_version,
                               std::string_view kind) {
  BERTH_TRY(Document document, ParseBody(request, kind));
  const json::object& root = document.root();
  const std::string its_kind(FindString(root, "kind"));
  const std::string its_version(FindString(root, "apiVersion"));
  const auto version = group_version.substr(group_version.rfind('/') + 1);
  // Versions of the same group are printed alone, those of another group are not.
  const auto version_of = [](std::string_view its, std::string_view expected) {
    return its.find('/') == std::string_view::npos ? its : expected;
  };
  if (!its_version.empty() && its_version != group_version) {
    const auto slash = its_version.find('/');
    const std::string its_group = slash == std::string::npos ? "" : its_version.substr(0, slash);
    const std::string its_number = slash == std::string::npos ? its_version : its_version.substr(slash + 1);
    const auto known = [&](const ResourceType& type) {
      return type.group == its_group && type.version == its_number &&
             type.kind == (its_kind.empty() ? kind : its_kind);
    };
    if (std::ranges::any_of(Resources(), known) || its_group == "events.k8s.io") {
      return BadRequest(
          fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                      its_version, group_version));
    }
    return BadRequest(
        fmt::format("{0} in version \"{1}\" cannot be handled as a {2}: no kind \"{0}\" is registered for "
                    "version \"{3}\" in scheme \"pkg/runtime/scheme.go:111\"",
                    its_kind.empty() ? kind : its_kind, version_of(its_version, version), kind, its_version));
  }
  if (!its_kind.empty() && its_kind != kind) {
    return BadRequest(
        fmt::format("{0} in version \"{1}\" cannot be handled as a {2}: converting ({1}.{0}) to (core.{2}): "
                    "unknown conversion",
                    its_kind, version, kind));
  }
  return document;
}

ApiResult<DeleteOptions> DecodeDeleteOptions(const ApiRequest& request) {
  DeleteOptions options;
  options.dry_run = request.dry_run();
  options.propagation = request.query.Get("propagationPolicy");
  BERTH_TRY(options.grace_period_seconds, request.query.Integer("gracePeriodSeconds"));
  if (request.body.empty()) return options;
  ApiRequest with_type;
  with_type.body = request.body;
  with_type.content_type = request.content_type;
  BERTH_TRY(const Document document, ParseBody(with_type, "DeleteOptions"));
  const json::object& root = document.root();
  if (const auto kind = FindString(root, "kind"); !kind.empty() && kind != "DeleteOptions") {
    return BadRequest(fmt::format("{} cannot be handled as DeleteOptions", kind));
  }
  if (const json::value* grace = Find(root, "gracePeriodSeconds"); grace != nullptr && !grace->is_null()) {
    if (!grace->is_int64())
      return BadRequest(
          "json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type int64");
    options.grace_period_seconds = grace->get_int64();
  }
  if (const auto policy = FindString(root, "propagationPolicy"); !policy.empty())
    options.propagation = policy;
  options.uid = FindString(root, "preconditions.uid");
  options.resource_version = FindString(root, "preconditions.resourceVersion");
  if (const json::array* dry = FindArray(root, "dryRun"); dry != nullptr && !dry->empty())
    options.dry_run = DryRun::kYes;
  if (!options.propagation.empty() && options.propagation != "Foreground" &&
      options.propagation != "Background" && options.propagation != "Orphan") {
    return InvalidObject("meta.k8s.io", "DeleteOptions", "",
                         {NotSupported("propagationPolicy", options.propagation,
                                       "\"Foreground\", \"Background\", \"Orphan\", \"nil\"")});
  }
  return options;
}

}  // namespace berth::sandbox
