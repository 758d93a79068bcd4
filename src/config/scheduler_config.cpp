#include "config/scheduler_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/invisible_characters.hpp"
#include "config/document.hpp"
#include "config/versions/version.hpp"
#include "kubernetes/api/selectors.hpp"

namespace berth::config {
namespace {

// A file's kind and apiVersion; empty if the field is missing.
struct TypeMeta {
  std::string kind;
  std::string api_version;
};

Expected<TypeMeta> ReadTypeMeta(const Value& root, std::string_view text) {
  constexpr std::string_view kNoVersion =
      "couldn't get version/kind; json parse error: json: cannot unmarshal ";
  const auto kind_name = [](const Value& value) {
    return value.kind == Value::Kind::kBool     ? "bool"
           : value.kind == Value::Kind::kNumber ? "number"
           : value.kind == Value::Kind::kString ? "string"
           : value.kind == Value::Kind::kList   ? "array"
                                                : "object";
  };
  if (root.kind != Value::Kind::kMap && root.kind != Value::Kind::kNull)
    return Invalid(fmt::format(
        "{}{} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind "
        "string \"json:\\\"kind,omitempty\\\"\" }}",
        kNoVersion, kind_name(root)));
  TypeMeta meta;
  for (const auto& [field, out] : {std::pair{"apiVersion", &meta.api_version}, {"kind", &meta.kind}}) {
    const Value* value = root.Find(field);
    if (value == nullptr || value->kind == Value::Kind::kNull) continue;
    if (value->kind != Value::Kind::kString)
      return Invalid(
          fmt::format("{}{} into Go struct field .{} of type string", kNoVersion, kind_name(*value), field));
    *out = value->text;
  }
  if (IsPolicy(root)) return TypeMeta{"Policy", "v1"};
  constexpr std::string_view kHint = "expected kind \"KubeSchedulerConfiguration\" of ";
  if (meta.kind.empty())
    return Invalid(fmt::format("Object 'Kind' is missing in '{}'; {}\"{}\", or a Policy", text, kHint,
                               ApiVersion(Version::kV1)));
  if (meta.api_version.empty())
    return Invalid(fmt::format("Object 'apiVersion' is missing in '{}'; {}\"{}\"", text, kHint,
                               ApiVersion(Version::kV1)));
  return meta;
}

std::string UnknownType(const TypeMeta& meta) {
  std::vector<std::string> versions;
  for (int v = static_cast<int>(Version::kV1); v >= 0; --v)
    versions.push_back(ApiVersion(static_cast<Version>(v)).substr(kGroup.size() + 1));
  return fmt::format(
      "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"; expected "
      "kind "
      "\"{}\" of \"{}/\" and one of {}, or a Policy",
      meta.kind, meta.api_version, kKind, kGroup, fmt::join(versions, ", "));
}

// Reports all errors in the text of a document in one list, as kube-scheduler does.
Expected<void> Report(const yaml::ParsedText& parsed, const Problems& problems) {
  if (problems.fatal()) return Invalid(problems.Text());
  std::vector<std::string> texts = parsed.duplicates;
  const auto strict = problems.StrictTexts();
  texts.insert(texts.end(), strict.begin(), strict.end());
  if (texts.empty()) return {};
  std::string text = fmt::format("strict decoding error: {}", fmt::join(texts, ", "));
  if (const auto hints = problems.Hints(); !hints.empty()) text += fmt::format("; {}", fmt::join(hints, " "));
  return Invalid(text);
}

// Resources managed by extenders are ignored by NodeResourcesFit, in every profile.
Expected<void> IgnoreManagedResources(Document& document) {
  Value ignored = Value::List();
  for (const ExtenderConfig& extender : document.config.extenders) {
    for (const ManagedResource& resource : extender.managed_resources) {
      if (resource.ignored_by_scheduler) ignored.items.push_back(Value::Text(resource.name));
    }
  }
  if (ignored.items.empty()) return {};
  for (ProfileDocument& profile : document.profiles) {
    PluginConfigEntry* fit = profile.FindConfig("NodeResourcesFit");
    if (fit == nullptr || !fit->args)
      return Invalid("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config");
    fit->args->Set("ignoredResources", ignored);
  }
  return {};
}

SchedulerConfig Finished(Document& document) {
  SchedulerConfig config = std::move(document.config);
  for (ProfileDocument& from : document.profiles) {
    Profile& to = config.profiles.emplace_back();
    to.scheduler_name = from.scheduler_name.value_or("");
    to.percentage_of_nodes_to_score = from.percentage_of_nodes_to_score;
    to.plugins = std::move(from.plugins);
    for (PluginConfigEntry& entry : from.plugin_config) {
      to.args_paths[entry.name] = entry.path + ".args";
      if (entry.args) to.plugin_args[entry.name] = std::move(*entry.args);
    }
  }
  return config;
}

Expected<void> ReadAny(const yaml::ParsedText& parsed, const TypeMeta& meta, const ParseOptions& options,
                       Document& document) {
  Problems problems;
  if (meta.kind == "Policy") {
    document.config.version = "Policy";
    ProfileDocument& profile = document.profiles.emplace_back();
    BERTH_RETURN_IF_ERROR(ReadPolicy(parsed.root, document, profile));
    Upgrade(Version::kV1Beta1, document);
    if (!document.errors.empty()) return Invalid(api::JoinErrors(document.errors));
    return CompleteArgs(document, ApiVersion(Version::kV1), options.codecs, problems);
  }
  const auto version = VersionOf(meta.api_version);
  if (!version || meta.kind != kKind) {
    const bool args_kind = version == Version::kV1 && options.codecs != nullptr &&
                           std::ranges::any_of(*options.codecs, [&](const auto& codec) {
                             return codec.second.in_tree && codec.second.kind == meta.kind;
                           });
    if (args_kind)
      return Invalid(fmt::format(
          "couldn't decode as KubeSchedulerConfiguration, got {}, Kind={}: ", meta.api_version, meta.kind));
    return Invalid(UnknownType(meta));
  }
  document.config.version = meta.api_version;
  BERTH_RETURN_IF_ERROR(ReadConfiguration(parsed.root, *version, options.read_file, document, problems));
  if (problems.fatal()) return Invalid(problems.Text());
  Upgrade(*version, document);
  if (!document.errors.empty()) return Invalid(api::JoinErrors(document.errors));
  BERTH_RETURN_IF_ERROR(CompleteArgs(document, ApiVersion(Version::kV1), options.codecs, problems));
  // of repeated members the last one is used
  if (*version == Version::kV1Alpha1) return Report({}, problems);
  return Report(parsed, problems);
}

Expected<SchedulerConfig> ReadConfig(const yaml::ParsedText& parsed, std::string_view text,
                                     const ParseOptions& options) {
  BERTH_TRY(const TypeMeta meta, ReadTypeMeta(parsed.root, text));
  Document document;
  document.config.gates = options.gates;
  BERTH_RETURN_IF_ERROR(ReadAny(parsed, meta, options, document));
  ApplyDefaults(document, options.codecs);
  if (options.adjust_election) options.adjust_election(document.config.leader_election);
  if (const Findings findings = Validate(document, options.codecs); !findings.errors.empty())
    return Invalid(findings.Text());
  if (options.codecs != nullptr) BERTH_RETURN_IF_ERROR(IgnoreManagedResources(document));
  return Finished(document);
}

}  // namespace

SchedulerConfig DefaultSchedulerConfig(const FeatureGates& gates, const ArgsCodecs* codecs) {
  Document document;
  document.config.gates = gates;
  ApplyDefaults(document, codecs);
  return Finished(document);
}

Expected<SchedulerConfig> ParseSchedulerConfig(std::string_view text, const ParseOptions& options) {
  BERTH_TRY(const yaml::ParsedText parsed, yaml::ParseText(text));
  auto config = ReadConfig(parsed, text, options);
  if (!config) return WithInvisibleCharacter(std::move(config), text);
  if (const auto invisible = FindInvisibleCharacter(text))
    config->notes.push_back(fmt::format("the configuration has an invisible character: {}", *invisible));
  return config;
}

Expected<SchedulerConfig> ParseSchedulerConfig(std::string_view text, const FeatureGates& gates) {
  return ParseSchedulerConfig(text, ParseOptions{.gates = gates, .codecs = nullptr, .read_file = {}});
}

}  // namespace berth::config
