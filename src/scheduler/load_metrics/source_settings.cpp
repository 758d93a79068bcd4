#include "scheduler/load_metrics/source_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/go_duration.hpp"
#include "base/invisible_characters.hpp"
#include "base/nearest.hpp"
#include "base/redact.hpp"
#include "config/value.hpp"
#include "http/origin.hpp"

namespace berth::load_metrics {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

// Reads all sources and collects their errors.
class SourcesReader {
 public:
  Expected<std::vector<SourceSettings>> Read(const Value& root) {
    StructReader reader(root, "MetricSources", "", problems_);
    reader.Each(
        "sources", [&](const Value& value, const std::string& path) { ReadSource(value, path); },
        "MetricSource");
    reader.Finish();
    if (!problems_.empty()) return Invalid(problems_.Text());
    for (std::size_t i = 0; i < sources_.size(); ++i) Check(sources_[i], fmt::format("sources[{}]", i));
    if (!errors_.empty()) return Invalid(fmt::format("{}", fmt::join(errors_, ", ")));
    return std::move(sources_);
  }

 private:
  void ReadSource(const Value& value, const std::string& path) {
    SourceSettings source;
    StructReader reader(value, "MetricSource", path, problems_);
    reader.Read("name", source.name);
    reader.Read("addresses", source.addresses);
    ReadDuration(reader, "pollInterval", source.poll_interval);
    ReadDuration(reader, "timeout", source.timeout);
    reader.Read("bearerToken", source.bearer_token);
    reader.Read("bearerTokenFile", source.bearer_token_file);
    reader.With("basicAuth", [&](const Value& auth, const std::string& at) {
      StructReader fields(auth, "BasicAuth", at, problems_);
      fields.Read("username", source.username);
      fields.Read("password", source.password);
      fields.Read("passwordFile", source.password_file);
      fields.Finish();
    });
    reader.With("tls", [&](const Value& tls, const std::string& at) { ReadTls(tls, at, source.tls); });
    ReadPairs(reader, "headers", source.headers);
    ReadPairs(reader, "queryParameters", source.query_parameters);
    if (reader.Has("nodeLabels")) source.node_labels.clear();
    reader.Read("nodeLabels", source.node_labels);
    reader.Each(
        "nodePatterns", [&](const Value& item, const std::string& at) { ReadPattern(item, at, source); },
        "NodePattern");
    reader.Finish();
    sources_.push_back(std::move(source));
  }

  void ReadTls(const Value& value, const std::string& path, SourceTls& tls) {
    StructReader fields(value, "TLS", path, problems_);
    fields.Read("caFile", tls.ca_file);
    fields.Read("certFile", tls.cert_file);
    fields.Read("keyFile", tls.key_file);
    fields.Read("serverName", tls.server_name);
    fields.Read("insecureSkipVerify", tls.insecure_skip_verify);
    fields.Finish();
  }

  void ReadPattern(const Value& value, const std::string& path, SourceSettings& source) {
    NodePattern pattern;
    StructReader fields(value, "NodePattern", path, problems_);
    fields.Read("label", pattern.label);
    fields.Read("regex", pattern.text);
    fields.Read("replacement", pattern.replacement);
    fields.Finish();
    if (pattern.label.empty()) errors_.push_back(path + ".label: Required value");
    if (pattern.text.empty()) errors_.push_back(path + ".regex: Required value");
    try {
      pattern.regex = std::regex(pattern.text, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& error) {
      errors_.push_back(
          fmt::format("{}.regex: Invalid value: \"{}\": not an ECMAScript regular expression: {}", path,
                      pattern.text, error.what()));
    }
    if (pattern.replacement.empty()) pattern.replacement = "$1";
    source.node_patterns.push_back(std::move(pattern));
  }

  void ReadPairs(StructReader& reader, std::string_view name,
                 std::vector<std::pair<std::string, std::string>>& out) {
    reader.With(name, [&](const Value& map, const std::string& path) {
      for (const auto& [key, value] : map.members) {
        if (value.kind != Value::Kind::kString) {
          errors_.push_back(
              fmt::format("{}.{}: Invalid value: {}: expected a string; quote it", path, key, value.text));
          continue;
        }
        out.emplace_back(key, value.text);
      }
    });
  }

  void ReadDuration(StructReader& reader, std::string_view name, Duration& out) {
    std::string text;
    reader.Read(name, text);
    if (text.empty()) return;
    if (const auto duration = ParseGoDuration(text)) {
      out = *duration;
    } else {
      errors_.push_back(fmt::format("{}: Invalid value: \"{}\": expected a duration such as 15s or 1m30s",
                                    reader.PathOf(name), text));
    }
  }

  void Check(SourceSettings& source, const std::string& path) {
    const auto wrong = [&](std::string_view field, std::string_view what) {
      errors_.push_back(fmt::format("{}.{}: {}", path, field, what));
    };
    if (source.addresses.empty())
      wrong("addresses", "Required value: at least one URL of a Prometheus server");
    for (std::size_t i = 0; i < source.addresses.size(); ++i) {
      if (const auto fine = CheckAddress(source.addresses[i]); !fine)
        wrong(fmt::format("addresses[{}]", i), fine.error().message);
    }
    if (source.name.empty() && !source.addresses.empty()) source.name = RedactUrl(source.addresses.front());
    if (!names_.emplace(source.name).second)
      wrong("name", fmt::format("Duplicate value: \"{}\"", source.name));
    if (source.poll_interval < std::chrono::seconds(1))
      wrong("pollInterval", fmt::format("Invalid value: \"{}\": must be at least 1s",
                                        FormatGoDuration(source.poll_interval)));
    if (source.timeout <= Duration{})
      wrong("timeout", fmt::format("Invalid value: \"{}\": must be greater than zero",
                                   FormatGoDuration(source.timeout)));
    if (source.node_labels.empty()) wrong("nodeLabels", "Required value: at least one label");
    const bool bearer = !source.bearer_token.empty() || !source.bearer_token_file.empty();
    if (bearer && !source.username.empty())
      wrong("basicAuth", "Forbidden: only one of basicAuth and a bearer token can be sent");
    if (source.tls.cert_file.empty() != source.tls.key_file.empty())
      wrong("tls", "Invalid value: certFile and keyFile must be given together");
  }

  static Expected<> CheckAddress(const std::string& address) {
    if (RedactUrl(address) != address)
      return Invalid(fmt::format("Invalid value: \"{}\": must not contain a password; set basicAuth",
                                 RedactUrl(address)));
    if (!address.starts_with("http://") && !address.starts_with("https://"))
      return Invalid(fmt::format("Invalid value: \"{}\": must begin with http:// or https://", address));
    if (const auto origin = http::ParseOrigin(address); !origin)
      return Invalid(fmt::format("Invalid value: \"{}\": {}", address, origin.error().message));
    return {};
  }

  Problems problems_;
  std::vector<std::string> errors_;
  std::vector<SourceSettings> sources_;
  std::set<std::string> names_;
};

std::string_view WithoutSlash(std::string_view address) {
  while (address.ends_with('/')) address.remove_suffix(1);
  return address;
}

}  // namespace

Expected<std::vector<SourceSettings>> ReadSources(std::string_view text) {
  BERTH_TRY(const Value root, yaml::ParseValue(text));
  return WithInvisibleCharacter(SourcesReader().Read(root), text);
}

Expected<SourceSettings> FindSource(const std::vector<SourceSettings>& sources, const std::string& wanted) {
  std::vector<std::string> names;
  for (const SourceSettings& source : sources) {
    if (source.name == wanted) return source;
    names.push_back(source.name);
  }
  for (const SourceSettings& source : sources) {
    for (const std::string& address : source.addresses) {
      if (WithoutSlash(address) == WithoutSlash(wanted)) return source;
    }
  }
  const bool url = wanted.starts_with("http://") || wanted.starts_with("https://");
  if (!url || !http::ParseOrigin(wanted)) {
    const std::string near = Nearest(wanted, names);
    return Invalid(
        fmt::format("metric source \"{}\" is neither a URL nor described in --berth-metric-sources{}", wanted,
                    near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  }
  SourceSettings plain;
  plain.name = wanted;
  plain.addresses = {wanted};
  return plain;
}

void ApplyAccess(const SourceAccess& access, SourceSettings& source) {
  source.protocol = access.protocol;
  // The response of load-watcher names nodes; they are passed on as this label.
  if (access.protocol == Protocol::kLoadWatcher) source.node_labels = {"node"};
  if (access.insecure_skip_verify) source.tls.insecure_skip_verify = true;
  if (access.bearer_token.empty()) return;
  source.bearer_token = access.bearer_token;
  source.bearer_token_file.clear();
  source.username.clear();
}

}  // namespace berth::load_metrics
