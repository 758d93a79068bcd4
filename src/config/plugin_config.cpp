// Plugin arguments: strict reading and defaults.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/document.hpp"
#include "config/versions/version.hpp"

namespace berth::config {
namespace {

// The error of Go's decoder for a document that is not an object.
constexpr std::string_view kNoObject =
    "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ "
    "APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}";

std::string_view Named(Value::Kind kind) {
  return kind == Value::Kind::kBool     ? "bool"
         : kind == Value::Kind::kNumber ? "number"
         : kind == Value::Kind::kString ? "string"
                                        : "array";
}

std::string TextOf(const Value& args, std::string_view field) {
  const Value* value = args.Find(field);
  return value != nullptr && value->kind == Value::Kind::kString ? value->text : "";
}

bool IsKnownKind(const std::string& kind, const ArgsCodecs& codecs) {
  if (kind == kKind) return true;
  for (const auto& [name, codec] : codecs) {
    if (codec.in_tree && codec.kind == kind) return true;
  }
  return false;
}

// kind and apiVersion may be missing. Returns the error, or an empty text.
std::string WrongType(const PluginConfigEntry& entry, const ArgsCodec& codec, const std::string& api_version,
                      const ArgsCodecs& codecs) {
  const std::string kind = TextOf(*entry.args, "kind");
  const std::string version = TextOf(*entry.args, "apiVersion");
  if (kind.empty() && version.empty()) return "";
  const std::string wanted = kind.empty() ? codec.kind : kind;
  const std::string given = version.empty() ? api_version : version;
  if (given != api_version || !IsKnownKind(wanted, codecs)) {
    if (!codec.in_tree && kind == codec.kind) return "";
    return fmt::format(
        "decoding args for plugin {}: no kind \"{}\" is registered for version \"{}\" in scheme "
        "\"pkg/runtime/scheme.go:111\"; expected kind \"{}\" of \"{}\"",
        entry.name, wanted, given, codec.kind, api_version);
  }
  if (wanted == codec.kind) return "";
  return fmt::format("args for plugin {} were not of type {}.{}, got {}.{}", entry.name, codec.kind, kGroup,
                     wanted, kGroup);
}

// Returns an error that ends the reading, or an empty text.
std::string CompleteOne(PluginConfigEntry& entry, const std::string& api_version, const ArgsCodec& codec,
                        const ArgsCodecs& codecs, const FeatureGates& gates, Problems& problems) {
  if (!entry.args) entry.args = Value::Map();
  if (entry.args->kind != Value::Kind::kMap)
    return fmt::format("decoding args for plugin {}: {}", entry.name,
                       fmt::format(fmt::runtime(kNoObject), Named(entry.args->kind)));
  if (auto wrong = WrongType(entry, codec, api_version, codecs); !wrong.empty()) return wrong;
  Problems own;
  Value completed = codec.complete(*entry.args, gates, own);
  if (own.fatal()) return fmt::format("decoding args for plugin {}: {}", entry.name, own.Text());
  if (!own.empty())
    problems.Strict(
        fmt::format(
            "decoding {}{}: strict decoding error: decoding args for plugin {}: strict decoding error: {}",
            entry.path.starts_with("profiles") ? "." : "", entry.path, entry.name,
            fmt::join(own.StrictTexts(), ", ")),
        own.Hints());
  entry.args = std::move(completed);
  return "";
}

}  // namespace

Expected<void> CompleteArgs(Document& document, const std::string& api_version, const ArgsCodecs* codecs,
                            Problems& problems) {
  if (codecs == nullptr) return {};
  for (ProfileDocument& profile : document.profiles) {
    for (PluginConfigEntry& entry : profile.plugin_config) {
      const auto codec = codecs->find(entry.name);
      if (codec == codecs->end()) continue;
      const std::string wrong =
          CompleteOne(entry, api_version, codec->second, *codecs, document.config.gates, problems);
      if (!wrong.empty()) return Invalid(fmt::format("decoding .{}: {}", entry.path, wrong));
    }
  }
  return {};
}

}  // namespace berth::config
