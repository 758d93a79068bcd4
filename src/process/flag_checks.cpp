// kube-scheduler v1.37.1's flag validation, in its order and with its texts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/go_duration.hpp"
#include "base/trim.hpp"
#include "kubernetes/api/quantity.hpp"
#include "kubernetes/api/selectors.hpp"
#include "process/metrics_options.hpp"
#include "process/scheduler_flags.hpp"
#include "service/page/page.hpp"

namespace berth::process {
namespace {

using Errors = std::vector<std::string>;

Expected<void> Outcome(const Errors& errors) {
  if (!errors.empty()) return Invalid(api::JoinErrors(errors));
  return {};
}

// Major and minor.
using Version = std::pair<int, int>;

std::string Text(const Version& version) { return fmt::format("{}.{}", version.first, version.second); }

Expected<Version> ParseVersion(std::string_view text) {
  std::string_view rest = Trimmed(text);
  if (rest.starts_with('v')) rest.remove_prefix(1);
  std::vector<int> numbers;
  while (!rest.empty()) {
    int number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{}) break;
    numbers.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (!rest.starts_with('.')) break;
    rest.remove_prefix(1);
  }
  if (numbers.empty()) return Invalid(fmt::format("could not parse \"{}\" as version", text));
  if (numbers.size() < 2)
    return Invalid(fmt::format("illegal version string \"{}\"; expected 1.34 to 1.37", text));
  if (numbers.size() > 2 && numbers[2] != 0)
    return Invalid(fmt::format("patch version not allowed, got: kube={}", Trimmed(text)));
  return Version{numbers[0], numbers[1]};
}

// From "1.36" or "kube=1.36"; `otherwise` if there is no value.
Expected<Version> VersionOf(const std::vector<std::string>& values, Version otherwise) {
  std::optional<Version> found;
  for (const std::string_view value : values) {
    const auto equals = value.find('=');
    const std::string_view component = equals == value.npos ? "kube" : Trimmed(value.substr(0, equals));
    BERTH_TRY(const Version version, ParseVersion(equals == value.npos ? value : value.substr(equals + 1)));
    if (component != "kube") return Invalid(fmt::format("component not registered: {}", component));
    if (found)
      return Invalid(fmt::format("duplicate version flag, kube={} and kube={}", Text(*found), Text(version)));
    found = version;
  }
  return found.value_or(otherwise);
}

struct Versions {
  Version emulated, compatible;
};

Expected<Versions> VersionsOf(const SchedulerFlags& flags) {
  Versions versions;
  BERTH_TRY(versions.emulated, VersionOf(flags.emulated_version, {1, 37}));
  const auto [major, minor] = versions.emulated;
  const Version before = major == 1 ? Version{1, std::clamp(minor - 1, 34, 36)} : Version{major, minor - 1};
  BERTH_TRY(versions.compatible, VersionOf(flags.min_compatibility_version, before));
  return versions;
}

void CheckVersionRanges(const Versions& versions, Errors& errors) {
  constexpr Version kOldest{1, 34}, kOurs{1, 37};
  const auto& [emulated, compatible] = versions;
  if (emulated < kOldest || emulated > kOurs)
    errors.push_back(fmt::format("emulation version {} is not between [1.34, 1.37.0]", Text(emulated)));
  if (compatible < kOldest || compatible > emulated)
    errors.push_back(fmt::format("minCompatibilityVersion version {} is not between [1.34, {}]",
                                 Text(compatible), Text(emulated)));
}

void CheckPorts(const SchedulerFlags& flags, Errors& errors) {
  const std::int64_t port = flags.serving.port;
  if (port > 65535) {
    errors.push_back(
        fmt::format("--secure-port {} must be between 1 and 65535, inclusive. It cannot be turned off with "
                    "0; 0 is accepted and means none",
                    port));
  } else if (port < 0) {
    errors.push_back(fmt::format(
        "--secure-port {} must be between 0 and 65535, inclusive. 0 for turning off secure port", port));
  }
  if (flags.old.port < 0 || flags.old.port > 65535)
    errors.push_back(fmt::format("--port {} must be between 0 and 65535", flags.old.port));
}

void CheckRequestHeaders(const service::RequestHeaderOptions& options, const config::FeatureGates& gates,
                         Errors& errors) {
  const auto blank = [&](std::string_view flag, const std::vector<std::string>& names) {
    if (std::ranges::any_of(names, [](const std::string& name) { return Trimmed(name).empty(); }))
      errors.push_back(fmt::format("empty value in \"{}\"", flag));
  };
  blank("requestheader-username-headers", options.username_headers);
  blank("requestheader-group-headers", options.group_headers);
  blank("requestheader-extra-headers-prefix", options.extra_header_prefixes);
  blank("requestheader-allowed-names", options.allowed_names);
  if (options.uid_headers.empty()) return;
  if (!gates.Enabled("RemoteRequestHeaderUID")) {
    errors.emplace_back(
        "--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" feature to be enabled");
    return;
  }
  blank("requestheader-uid-headers", options.uid_headers);
  const auto is_standard = [](std::string_view name) {
    return std::ranges::equal(name, std::string_view("x-remote-uid"),
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b; });
  };
  if (std::ranges::none_of(options.uid_headers, is_standard))
    errors.emplace_back(
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API "
        "aggregation will not work");
}

void CheckOwn(const SchedulerFlags& flags, Errors& errors) {
  if (!(flags.own.trace_ratio >= 0 && flags.own.trace_ratio <= 1))
    errors.push_back(fmt::format("--berth-trace-ratio {} must be between 0 and 1", flags.own.trace_ratio));
  if (!(flags.own.scheduled_event_ratio >= 0 && flags.own.scheduled_event_ratio <= 1)) {
    errors.push_back(fmt::format("--berth-scheduled-event-ratio {} must be between 0 and 1",
                                 flags.own.scheduled_event_ratio));
  }
  constexpr std::int64_t kMostClasses = 1000;
  if (flags.own.max_classes < 1 || flags.own.max_classes > kMostClasses) {
    errors.push_back(
        fmt::format("--berth-max-classes {} must be between 1 and {}", flags.own.max_classes, kMostClasses));
  }
  const ShadowFlags& shadow = flags.own.shadow;
  if (!shadow.on && !shadow.report.empty())
    errors.push_back(fmt::format("--berth-shadow-report {} needs --berth-shadow", shadow.report));
  if (shadow.window < Duration::zero())
    errors.push_back(
        fmt::format("--berth-shadow-window {} must not be negative", FormatGoDuration(shadow.window)));
  if (shadow.keep < 0 || shadow.keep > 100000)
    errors.push_back(fmt::format("--berth-shadow-keep {} must be between 0 and 100000", shadow.keep));
  if (shadow.on && !flags.own.otlp_endpoint.empty())
    errors.emplace_back(
        "--berth-otlp-endpoint cannot be used with --berth-shadow: a shadow does not schedule");
  if (shadow.on && !flags.own.recording_dir.empty())
    errors.emplace_back(
        "--berth-recording-dir cannot be used with --berth-shadow: a shadow does not schedule");
  if (flags.own.config_reload && flags.config.empty())
    errors.emplace_back("--berth-config-reload needs --config");
  if (flags.own.config_reload && shadow.on) {
    errors.emplace_back(
        "--berth-config-reload cannot be used with --berth-shadow: restart the shadow to compare another "
        "configuration");
  }
  if (flags.own.reload_limit < 0 || flags.own.reload_limit > 100) {
    errors.push_back(
        fmt::format("--berth-reload-limit {} must be between 0 and 100", flags.own.reload_limit));
  }
  if (flags.own.api_reload && flags.config.empty()) errors.emplace_back("--berth-api-reload needs --config");
  if (flags.own.ui && !service::HasPage())
    errors.emplace_back("--berth-ui: this program was built without the page (BERTH_UI=OFF)");
  for (const auto& [name, on] : {std::pair{"--berth-ui", flags.own.ui},
                                 {"--berth-api-retry", flags.own.api_retry},
                                 {"--berth-api-reload", flags.own.api_reload}}) {
    if (!on) continue;
    if (flags.serving.port == 0)
      errors.push_back(fmt::format("{} needs the secure port: --secure-port is 0", name));
    if (shadow.on) {
      errors.push_back(
          fmt::format("{} cannot be used with --berth-shadow: a shadow does not serve the API", name));
    }
  }
}

bool IsZero(const std::string& quantity) {
  const auto parsed = api::Quantity::Parse(quantity);
  return parsed && parsed->Compare(api::Quantity()) == 0;
}

}  // namespace

Expected<void> CheckVersions(const SchedulerFlags& flags) {
  BERTH_RETURN_IF_ERROR(VersionsOf(flags));
  return {};
}

Expected<void> ValidateLogging(const SchedulerFlags& flags, const config::FeatureGates& gates) {
  const LogFlags& log = flags.log;
  Errors errors;
  if (log.flush_frequency <= Duration::zero())
    errors.push_back(fmt::format("flushFrequency: Invalid value: \"{}\": Must be greater than zero",
                                 FormatGoDuration(log.flush_frequency)));
  if (log.format != "text" && log.format != "json") {
    errors.push_back(fmt::format("format: Invalid value: \"{}\": Unsupported log format", log.format));
  } else if (log.format == "json" && !gates.Enabled("LoggingBetaOptions")) {
    errors.emplace_back("format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature");
  }
  if (!log.vmodule.empty() && !log.format.empty() && log.format != "text")
    errors.emplace_back("vmodule: Forbidden: Only supported for text log format");
  const auto alpha = [&](bool used, std::string_view field) {
    if (used && !gates.Enabled("LoggingAlphaOptions"))
      errors.push_back(fmt::format("options.{}: Forbidden: Feature LoggingAlphaOptions is disabled", field));
  };
  alpha(log.text_split_stream, "text.splitStream");
  alpha(!IsZero(log.text_buffer), "text.infoBufferSize");
  alpha(log.json_split_stream, "json.splitStream");
  alpha(!IsZero(log.json_buffer), "json.infoBufferSize");
  return Outcome(errors);
}

Expected<void> Validate(const SchedulerFlags& flags, const config::FeatureGates& gates) {
  Errors errors;
  BERTH_TRY(const Versions versions, VersionsOf(flags));
  CheckVersionRanges(versions, errors);
  CheckPorts(flags, errors);
  CheckRequestHeaders(flags.authentication.request_header, gates, errors);
  CheckMetrics(flags.metrics, errors);
  CheckOwn(flags, errors);
  return Outcome(errors);
}

}  // namespace berth::process
