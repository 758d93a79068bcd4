#include "service/negotiation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_text.hpp"
#include "base/trim.hpp"
#include "base/utf8.hpp"
#include "service/target.hpp"

namespace berth::service {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kYaml = "application/yaml";
constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

// Removes and returns the text before the separator.
std::string_view Next(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const std::string_view item = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return item;
}

bool ParseRange(std::string_view part, MediaRange& range) {
  std::string_view names = Next(part, ';');
  range.type = Trimmed(Next(names, '/'));
  if (names.empty()) {
    if (range.type != "*") return false;
    range.subtype = "*";
  } else {
    if (names.contains('/')) return false;
    range.subtype = Trimmed(names);
  }
  while (!part.empty()) {
    std::string_view param = Next(part, ';');
    const std::string_view key = Trimmed(Next(param, '='));
    if (param.empty() || param.contains('=')) continue;
    if (key == "q") {
      double quality = 0;
      const auto [end, ec] = std::from_chars(param.data(), param.data() + param.size(), quality);
      range.quality = ec == std::errc() && end == param.data() + param.size() ? quality : 0;
    } else {
      range.params.insert_or_assign(std::string(key), std::string(Trimmed(param)));
    }
  }
  return true;
}

bool Before(const MediaRange& a, const MediaRange& b) {
  return a.quality > b.quality || (a.type != "*" && b.type == "*") || (a.subtype != "*" && b.subtype == "*");
}

// "application/json" and so on; empty: no supported format is accepted.
std::string_view StatusForm(const http::Request& request, bool with_protobuf, bool& pretty) {
  const std::string_view accept = request.headers.Find("Accept");
  if (accept.empty()) return kJson;
  for (const MediaRange& range : ParseAccept(accept)) {
    for (const std::string_view form : {kJson, kYaml, kProtobuf}) {
      if (form == kProtobuf && !with_protobuf) continue;
      const bool same = range.type == "application" && form.substr(12) == range.subtype;
      if (!same && !(range.subtype == "*" && (range.type == "application" || range.type == "*"))) continue;
      // A Status is not available as another kind or version, nor as a stream.
      const auto has = [&](std::string_view name) { return range.params.contains(name); };
      const auto parameter = [&](std::string_view name) {
        const auto found = range.params.find(name);
        return found == range.params.end() ? std::string_view() : std::string_view(found->second);
      };
      if (has("as") || has("g") || has("v") || !parameter("sv").empty()) continue;
      if (!parameter("stream").empty() && parameter("stream") != "watch") continue;
      if (parameter("pretty") == "1") pretty = true;
      return form;
    }
  }
  return {};
}

std::string JsonStatus(const StatusText& status, bool pretty) {
  const std::string_view newline = pretty ? "\n" : "";
  const std::string_view indent = pretty ? "  " : "";
  const std::string_view colon = pretty ? ": " : ":";
  std::string out = fmt::format("{{{}", newline);
  const auto add = [&](std::string_view key, std::string_view value, bool quoted, bool last = false) {
    out += fmt::format("{}\"{}\"{}", indent, key, colon);
    if (quoted) {
      AppendGoJsonString(out, value);
    } else {
      out += value;
    }
    out += fmt::format("{}{}", last ? "" : ",", newline);
  };
  add("kind", "Status", true);
  add("apiVersion", "v1", true);
  add("metadata", "{}", false);
  add("status", "Failure", true);
  add("message", status.message, true);
  add("reason", status.reason, true);
  if (status.with_details) add("details", "{}", false);
  add("code", std::to_string(status.code), false, true);
  out += pretty ? "}" : "}\n";
  return out;
}

std::string YamlText(const std::string& text) {
  const bool plain = !text.contains(": ") && !text.contains(" #") && !text.ends_with(':') &&
                     std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20; });
  if (plain) return text;
  std::string out;
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20; })) {
    AppendJsonString(out, text);
    return out;
  }
  out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string YamlStatus(const StatusText& status) {
  return fmt::format(
      "apiVersion: v1\ncode: {}\n{}kind: Status\nmessage: {}\nmetadata: {{}}\nreason: {}\nstatus: Failure\n",
      status.code, status.with_details ? "details: {}\n" : "", YamlText(ToUtf8(status.message)),
      status.reason);
}

void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void AppendField(std::string& out, int number, std::string_view bytes) {
  AppendVarint(out, static_cast<std::uint64_t>(number) << 3 | 2);
  AppendVarint(out, bytes.size());
  out += bytes;
}

// As Kubernetes' generated code writes it: strings are present even if empty.
std::string ProtobufStatus(const StatusText& status) {
  std::string list_meta;
  for (const int field : {1, 2, 3}) AppendField(list_meta, field, "");
  std::string body;
  AppendField(body, 1, list_meta);
  AppendField(body, 2, "Failure");
  AppendField(body, 3, ToUtf8(status.message));
  AppendField(body, 4, status.reason);
  if (status.with_details) {
    std::string details;
    for (const int field : {1, 2, 3}) AppendField(details, field, "");
    details += std::string_view("\x28\x00", 2);  // retryAfterSeconds
    AppendField(details, 6, "");
    AppendField(body, 5, details);
  }
  body += '\x30';
  AppendVarint(body, static_cast<std::uint64_t>(status.code));
  std::string type;
  AppendField(type, 1, "v1");
  AppendField(type, 2, "Status");
  std::string out("k8s\0", 4);
  AppendField(out, 1, type);
  AppendField(out, 2, body);
  AppendField(out, 3, "");
  AppendField(out, 4, "");
  return out;
}

}  // namespace

std::vector<MediaRange> ParseAccept(std::string_view header) {
  // The sort takes quadratic time; no client needs as many ranges.
  constexpr std::size_t kRangesMax = 64;
  std::vector<MediaRange> ranges;
  while (!header.empty() && ranges.size() < kRangesMax) {
    MediaRange range;
    if (!ParseRange(Trimmed(Next(header, ',')), range)) continue;
    // Insertion sort: the comparison is not a strict order, and this gives apiserver's result.
    auto at = ranges.insert(ranges.end(), std::move(range));
    for (; at != ranges.begin() && Before(*at, *(at - 1)); --at) std::iter_swap(at, at - 1);
  }
  return ranges;
}

http::Response Plain(int status, std::string body, std::string_view content_type) {
  http::Response response;
  response.status = status;
  response.content_type = content_type;
  response.body = ShareText(std::move(body));
  response.headers.Add("Cache-Control", "no-cache, private");
  return response;
}

http::Response PlainError(int status, std::string text) {
  http::Response response = Plain(status, std::move(text) + "\n");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  return response;
}

http::Response NotFound() { return PlainError(404, "404 page not found"); }

bool ShouldIndent(const http::Request& request, const Target& target) {
  if (const std::string_view parameter = target.Get("pretty"); !parameter.empty()) {
    constexpr std::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
    return std::ranges::find(kTrue, parameter) != std::end(kTrue);
  }
  const std::string_view agent = request.headers.Find("User-Agent");
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

http::Response StatusAnswer(const http::Request& request, const Target& target, const StatusText& status,
                            bool with_protobuf) {
  bool pretty = ShouldIndent(request, target);
  const std::string_view form = StatusForm(request, with_protobuf, pretty);
  if (form == kYaml) return Plain(status.code, YamlStatus(status), form);
  if (form == kProtobuf) return Plain(status.code, ProtobufStatus(status), form);
  // If no accepted format is supported, the error is still reported, as JSON.
  return Plain(status.code, JsonStatus(status, pretty || form.empty()), kJson);
}

}  // namespace berth::service
