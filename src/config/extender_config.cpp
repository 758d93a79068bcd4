#include "config/extender_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/go_duration.hpp"
#include "config/duration.hpp"
#include "config/name_errors.hpp"
#include "kubernetes/api/selectors.hpp"

namespace berth::config {
namespace {

// The offset that Go's decoder reports; nullopt for valid text.
std::optional<std::size_t> InvalidBase64At(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto after_newlines = [&](std::size_t at) {
    return std::min(text.find_first_not_of("\r\n", at), text.size());
  };
  std::size_t in_group = 0;  // of four
  for (std::size_t at = 0; (at = after_newlines(at)) < text.size(); ++at) {
    if (kLetters.find(text[at]) != kLetters.npos) {
      in_group = (in_group + 1) % 4;
      continue;
    }
    if (text[at] != '=' || in_group < 2) return at;
    std::size_t next = after_newlines(at + 1);
    if (in_group == 2) {
      if (next == text.size()) return text.size();
      if (text[next] != '=') return next - 1;
      next = after_newlines(next + 1);
    }
    return next < text.size() ? std::optional(next) : std::nullopt;
  }
  if (in_group != 0) return text.size() - in_group;
  return std::nullopt;
}

void ReadBase64(StructReader& reader, std::string_view name, std::string& out, Problems& problems) {
  reader.Read(name, out, "[]uint8");
  const auto invalid = InvalidBase64At(out);
  if (!invalid) return;
  problems.Other(fmt::format("illegal base64 data at input byte {}; expected {} as base64", *invalid,
                             reader.PathOf(name)),
                 1);
}

ExtenderTls ReadTls(const Value& value, const std::string& path, const ExtenderForm& form,
                    Problems& problems) {
  ExtenderTls tls;
  StructReader reader(value, "ExtenderTLSConfig", path, problems);
  if (form.ignore_case) reader.IgnoreCase();
  reader.Read("insecure", tls.insecure);
  reader.Read("serverName", tls.server_name);
  reader.Read("certFile", tls.cert_file);
  reader.Read("keyFile", tls.key_file);
  reader.Read("caFile", tls.ca_file);
  ReadBase64(reader, "certData", tls.cert_data, problems);
  ReadBase64(reader, "keyData", tls.key_data, problems);
  ReadBase64(reader, "caData", tls.ca_data, problems);
  if (!form.ignore_case) reader.Finish();
  return tls;
}

void CheckResourceName(const std::string& path, const std::string& name, std::vector<std::string>& errors) {
  if (!CheckQualifiedName(path, name, errors)) return;
  const bool native = name.find('/') == std::string::npos || name.find("kubernetes.io/") != std::string::npos;
  if (native || name.starts_with("requests.") || !api::CheckLabelKey("requests." + name).empty()) {
    errors.push_back(
        fmt::format("{}: Invalid value: \"{}\": is an invalid extended resource name", path, name));
  }
}

}  // namespace

ExtenderConfig ReadExtender(const Value& value, const std::string& path, const ExtenderForm& form,
                            Problems& problems) {
  ExtenderConfig extender;
  StructReader reader(value, "Extender", path, problems);
  if (form.ignore_case) reader.IgnoreCase();
  reader.Read("urlPrefix", extender.url_prefix);
  reader.Read("filterVerb", extender.filter_verb);
  reader.Read("preemptVerb", extender.preempt_verb);
  reader.Read("prioritizeVerb", extender.prioritize_verb);
  reader.Read("weight", extender.weight);
  reader.Read("bindVerb", extender.bind_verb);
  reader.Read(form.https_key, extender.enable_https);
  reader.With(
      "tlsConfig",
      [&](const Value& v, const std::string& p) { extender.tls = ReadTls(v, p, form, problems); },
      "v1.ExtenderTLSConfig");
  if (form.timeout_is_number) {
    std::int64_t nanoseconds = 0;
    reader.Read("httpTimeout", nanoseconds, "time.Duration");
    extender.http_timeout = std::chrono::nanoseconds(nanoseconds);
  } else {
    ReadDuration(reader, "httpTimeout", extender.http_timeout, problems);
  }
  reader.Read("nodeCacheCapable", extender.node_cache_capable);
  reader.Each(
      "managedResources",
      [&](const Value& item, const std::string& place) {
        ManagedResource& resource = extender.managed_resources.emplace_back();
        StructReader fields(item, "ExtenderManagedResource", place, problems);
        if (form.ignore_case) fields.IgnoreCase();
        fields.Read("name", resource.name);
        fields.Read("ignoredByScheduler", resource.ignored_by_scheduler);
        if (!form.ignore_case) fields.Finish();
      },
      "v1.ExtenderManagedResource");
  reader.Read("ignorable", extender.ignorable);
  if (!form.ignore_case) reader.Finish();
  return extender;
}

std::vector<std::string> ValidateExtenders(const std::vector<ExtenderConfig>& extenders) {
  std::vector<std::string> errors;
  std::set<std::string> seen;
  int binders = 0;
  for (std::size_t i = 0; i < extenders.size(); ++i) {
    const ExtenderConfig& extender = extenders[i];
    if (!extender.prioritize_verb.empty() && extender.weight <= 0) {
      errors.push_back(
          fmt::format("extenders[{}].weight: Invalid value: {}: must have a positive weight applied to it", i,
                      extender.weight));
    }
    if (!extender.bind_verb.empty()) ++binders;
    for (std::size_t j = 0; j < extender.managed_resources.size(); ++j) {
      const std::string& name = extender.managed_resources[j].name;
      const std::string path = fmt::format("extenders[{}].managedResources[{}].name", i, j);
      CheckResourceName(path, name, errors);
      if (!seen.insert(name).second)
        errors.push_back(
            fmt::format("{}: Invalid value: \"{}\": duplicate extender managed resource name", path, name));
    }
  }
  if (binders > 1) {
    errors.push_back(fmt::format(
        "extenders: Invalid value: \"found {} extenders implementing bind\": only one extender can implement "
        "bind",
        binders));
  }
  return errors;
}

Value WriteExtender(const ExtenderConfig& extender) {
  Value out = Value::Map();
  const auto text = [](Value& map, std::string_view name, const std::string& value) {
    if (!value.empty()) map.Set(name, Value::Text(value));
  };
  const auto flag = [](Value& map, std::string_view name, bool value) {
    if (value) map.Set(name, Value::Bool(true));
  };
  out.Set("urlPrefix", Value::Text(extender.url_prefix));
  text(out, "filterVerb", extender.filter_verb);
  text(out, "preemptVerb", extender.preempt_verb);
  text(out, "prioritizeVerb", extender.prioritize_verb);
  if (extender.weight != 0) out.Set("weight", Value::Number(extender.weight));
  text(out, "bindVerb", extender.bind_verb);
  flag(out, "enableHTTPS", extender.enable_https);
  if (extender.tls) {
    Value& tls = out.Set("tlsConfig", Value::Map());
    flag(tls, "insecure", extender.tls->insecure);
    text(tls, "serverName", extender.tls->server_name);
    text(tls, "certFile", extender.tls->cert_file);
    text(tls, "keyFile", extender.tls->key_file);
    text(tls, "caFile", extender.tls->ca_file);
    text(tls, "certData", extender.tls->cert_data);
    text(tls, "keyData", extender.tls->key_data);
    text(tls, "caData", extender.tls->ca_data);
  }
  out.Set("httpTimeout", Value::Text(FormatGoDuration(extender.http_timeout)));
  flag(out, "nodeCacheCapable", extender.node_cache_capable);
  if (!extender.managed_resources.empty()) {
    Value& list = out.Set("managedResources", Value::List());
    for (const ManagedResource& resource : extender.managed_resources) {
      Value& item = list.items.emplace_back(Value::Map());
      item.Set("name", Value::Text(resource.name));
      flag(item, "ignoredByScheduler", resource.ignored_by_scheduler);
    }
  }
  flag(out, "ignorable", extender.ignorable);
  return out;
}

}  // namespace berth::config
