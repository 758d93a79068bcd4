// The configuration of a scheduler extender (Extender of kubescheduler.config.k8s.io/v1).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.hpp"

namespace berth::config {

struct ExtenderTls {
  bool insecure = false;
  std::string server_name;
  std::string cert_file, key_file, ca_file;
  std::string cert_data, key_data, ca_data;  // as in the file, base64; they take precedence over files
};

struct ManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
};

struct ExtenderConfig {
  std::string url_prefix;
  // Empty: the extender does not support this call.
  std::string filter_verb, preempt_verb, prioritize_verb, bind_verb;
  std::int64_t weight = 0;
  bool enable_https = false;
  std::optional<ExtenderTls> tls;
  std::chrono::nanoseconds http_timeout{0};  // unset: 5 seconds; negative: none
  bool node_cache_capable = false;
  std::vector<ManagedResource> managed_resources;  // empty: interested in every pod
  bool ignorable = false;
};

// The notation of extenders in the file's version.
struct ExtenderForm {
  std::string_view https_key = "enableHTTPS";
  bool timeout_is_number = false;  // nanoseconds; else a duration like "5s"
  bool ignore_case = false;        // unknown members are ignored then
};

ExtenderConfig ReadExtender(const Value& value, const std::string& path, const ExtenderForm& form,
                            Problems& problems);

// Errors with kube-scheduler's texts.
std::vector<std::string> ValidateExtenders(const std::vector<ExtenderConfig>& extenders);

// In v1 notation.
Value WriteExtender(const ExtenderConfig& extender);

}  // namespace berth::config
