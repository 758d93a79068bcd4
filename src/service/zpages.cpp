#include "service/zpages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "base/write_yaml.hpp"
#include "service/endpoints.hpp"
#include "service/negotiation.hpp"
#include "service/process_metrics.hpp"

namespace berth::service {
namespace {

constexpr std::string_view kComponent = "kube-scheduler";
constexpr std::string_view kHead =
    "\nkube-scheduler {}\nWarning: This endpoint is not meant to be machine parseable, has no formatting "
    "compatibility guarantees and is for debugging purposes only.\n";

// The requested format: text, or an object of some version as JSON or YAML.
struct Form {
  enum class Kind { kText, kJson, kYaml };
  Kind kind = Kind::kText;
  std::string version{};
  bool pretty = false;
};

// Whether the range requests a supported object and no unsupported option.
bool Serves(const MediaRange& range, std::string_view kind, bool text) {
  const auto parameter = [&](std::string_view name) {
    const auto found = range.params.find(name);
    return found == range.params.end() ? std::optional<std::string>() : found->second;
  };
  if (!parameter("sv").value_or("").empty() || !parameter("stream").value_or("").empty()) return false;
  const bool object = parameter("as") || parameter("g") || parameter("v");
  if (text) return !object;
  const std::string version = parameter("v").value_or("");
  return parameter("as") == kind && parameter("g") == "config.k8s.io" &&
         (version == "v1alpha1" || version == "v1beta1");
}

std::optional<Form> Negotiate(const http::Request& request, const Target& target, std::string_view kind) {
  struct Offer {
    std::string_view type, subtype;
    Form::Kind kind;
  };
  constexpr Offer kOffers[] = {{"application", "json", Form::Kind::kJson},
                               {"application", "yaml", Form::Kind::kYaml},
                               {"text", "plain", Form::Kind::kText}};
  const std::string_view accept = request.headers.Find("Accept");
  if (accept.find_first_not_of(" \t") == accept.npos) return Form{};
  for (const MediaRange& range : ParseAccept(accept)) {
    for (const Offer& offer : kOffers) {
      const bool type = range.type == offer.type || (range.type == "*" && range.subtype == "*");
      if (!type || (range.subtype != offer.subtype && range.subtype != "*")) continue;
      if (!Serves(range, kind, offer.kind == Form::Kind::kText)) continue;
      const auto version = range.params.find("v");
      const auto pretty = range.params.find("pretty");
      return Form{offer.kind, version == range.params.end() ? "" : version->second,
                  ShouldIndent(request, target) || (pretty != range.params.end() && pretty->second == "1")};
    }
  }
  return std::nullopt;
}

using Value =
    std::variant<std::string, std::int64_t, std::vector<std::string>, std::map<std::string, std::string>>;
struct Field {
  std::string key;
  Value value;
};
using Fields = std::vector<Field>;

// `items` in brackets, one per line if `pretty`.
std::string Bracketed(char open, char close, const std::vector<std::string>& items, int depth, bool pretty) {
  if (items.empty()) return std::string() + open + close;
  const std::string line = pretty ? "\n" + std::string(static_cast<std::size_t>(depth) * 2 + 2, ' ') : "";
  const std::string last = pretty ? "\n" + std::string(static_cast<std::size_t>(depth) * 2, ' ') : "";
  return fmt::format("{}{}{}{}{}", open, line, fmt::join(items, "," + line), last, close);
}

std::string Json(const Value& value, bool pretty) {
  const std::string_view colon = pretty ? ": " : ":";
  if (const auto* text = std::get_if<std::string>(&value)) return GoJsonString(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  std::vector<std::string> items;
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& text : *list) items.push_back(GoJsonString(text));
    return Bracketed('[', ']', items, 1, pretty);
  }
  for (const auto& [key, text] : std::get<std::map<std::string, std::string>>(value)) {
    items.push_back(fmt::format("{}{}{}", GoJsonString(key), colon, GoJsonString(text)));
  }
  return Bracketed('{', '}', items, 1, pretty);
}

std::string Json(const Fields& fields, bool pretty) {
  std::vector<std::string> items;
  for (const Field& field : fields) {
    items.push_back(fmt::format("\"{}\"{}{}", field.key, pretty ? ": " : ":", Json(field.value, pretty)));
  }
  return Bracketed('{', '}', items, 0, pretty) + (pretty ? "" : "\n");
}

yaml::Value ToTree(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return yaml::Value::Text(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return yaml::Value::Number(*number);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    yaml::Value items = yaml::Value::List();
    for (const std::string& text : *list) items.items.push_back(yaml::Value::Text(text));
    return items;
  }
  yaml::Value members = yaml::Value::Map();
  for (const auto& [key, text] : std::get<std::map<std::string, std::string>>(value))
    members.Set(key, yaml::Value::Text(text));
  return members;
}

std::string Yaml(const Fields& fields) {
  yaml::Value object = yaml::Value::Map();
  for (const Field& field : fields) object.Set(field.key, ToTree(field.value));
  return yaml::ToYaml(object);
}

// `page`: "flagz", "statusz". `fields` follow kind, version and name.
http::Response Answer(const http::Request& request, const Target& target, const std::string& page,
                      const std::function<std::string()>& text, const std::function<Fields()>& fields) {
  std::string kind = page;
  kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
  const auto form = Negotiate(request, target, kind);
  if (!form) {
    return StatusAnswer(request, target,
                        {.code = 406,
                         .reason = "NotAcceptable",
                         .message = "only the following media types are accepted: application/json, "
                                    "application/yaml, text/plain"},
                        false);
  }
  if (form->kind == Form::Kind::kText) return Plain(200, fmt::format(fmt::runtime(kHead), page) + text());
  Fields object{{"kind", kind},
                {"apiVersion", "config.k8s.io/" + form->version},
                {"metadata", std::map<std::string, std::string>{{"name", std::string(kComponent)}}}};
  for (Field& field : fields()) object.push_back(std::move(field));
  const bool json = form->kind == Form::Kind::kJson;
  auto response = Plain(
      200, json ? Json(object, form->pretty) : Yaml(object),
      fmt::format("application/{};g=config.k8s.io;v={};as={}", json ? "json" : "yaml", form->version, kind));
  if (form->version == "v1alpha1") {
    response.headers.Add("Warning",
                         fmt::format("299 - \"This version of the {} endpoint is deprecated. Please "
                                     "use a newer version.\"",
                                     page));
  }
  return response;
}

// The first segments of paths, without duplicates.
std::vector<std::string> Folders(const std::vector<std::string>& paths) {
  std::set<std::string> folders;
  for (const std::string& path : paths) folders.insert(path.substr(0, path.find('/', 1)));
  return {folders.begin(), folders.end()};
}

std::string StatuszText(const StatusFacts& facts, const std::vector<std::string>& paths,
                        std::int64_t seconds) {
  const auto start = static_cast<std::time_t>(ProcessStart());
  std::tm parts{};
  localtime_r(&start, &parts);
  char started[64];
  std::strftime(started, sizeof started, "%a %b %e %H:%M:%S %Z %Y", &parts);
  return fmt::format(
      "\nStarted: {}\nUp: {} hr {:02} min {:02} sec\nGo version: \nBinary version: {}\n"
      "Emulation version: {}\nPaths: {}\n",
      started, seconds / 3600, seconds / 60 % 60, seconds % 60, facts.binary_version, facts.emulation_version,
      fmt::join(paths, " "));
}

}  // namespace

void AddFlagz(Endpoints& endpoints, const std::function<std::map<std::string, std::string>()>& flags) {
  endpoints.Add("/flagz", [flags = flags()](const http::Request& request, const Target& target,
                                            const Respond& respond) {
    const auto text = [&] {
      std::string lines;
      for (const auto& [name, value] : flags) lines += fmt::format("{}:{}\n", name, value);
      return lines;
    };
    respond(Answer(request, target, "flagz", text, [&] { return Fields{{"flags", flags}}; }));
  });
}

void AddStatusz(Endpoints& endpoints, StatusFacts facts, const Clock& clock) {
  endpoints.Add("/statusz", [facts = std::move(facts), paths = Folders(endpoints.Paths()), &clock](
                                const http::Request& request, const Target& target, const Respond& respond) {
    const double now = std::chrono::duration<double>(clock.WallNow().time_since_epoch()).count();
    const auto up = std::max<std::int64_t>(0, static_cast<std::int64_t>(now - ProcessStart()));
    const auto fields = [&] {
      const WallTime start{std::chrono::seconds(static_cast<std::int64_t>(ProcessStart()))};
      return Fields{{"startTime", FormatTime(start)},
                    {"uptimeSeconds", up},
                    {"goVersion", std::string()},
                    {"binaryVersion", facts.binary_version},
                    {"emulationVersion", facts.emulation_version},
                    {"paths", paths}};
    };
    respond(Answer(request, target, "statusz", [&] { return StatuszText(facts, paths, up); }, fields));
  });
}

}  // namespace berth::service
