// The settings of a metrics server: a file of --berth-metric-sources.
//
//   sources:
//   - name: main
//     addresses: ["https://prometheus-0.monitoring:9090", "https://prometheus-1.monitoring:9090"]
//     pollInterval: 15s
//     bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
//     tls: {caFile: /etc/prometheus/ca.crt}
//     headers: {X-Scope-OrgID: platform}
//     queryParameters: {dedup: "true"}
//     nodeLabels: [node, instance]
//     nodePatterns: [{label: instance, regex: "(.+)-metrics", replacement: "$1"}]
#pragma once

#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::load_metrics {

// Rewrites a label value that differs from the cluster's node name. Values without a match are unchanged.
struct NodePattern {
  std::string label;
  std::string text;  // the regular expression as written: ECMAScript, matches the whole value
  std::regex regex;
  std::string replacement;  // $1 is the first group
};

struct SourceTls {
  std::string ca_file{}, cert_file{}, key_file{}, server_name{};
  bool insecure_skip_verify = false;
};

struct SourceSettings {
  std::string name;                    // the name used by plugins and metrics
  std::vector<std::string> addresses;  // servers with the same data, tried in this order
  Duration poll_interval = std::chrono::seconds(15);
  Duration timeout = std::chrono::seconds(10);  // of a query, over all addresses
  std::string bearer_token{}, bearer_token_file{};
  std::string username{}, password{}, password_file{};
  SourceTls tls{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::vector<std::pair<std::string, std::string>> query_parameters{};
  // The labels that identify nodes, the most reliable first.
  std::vector<std::string> node_labels = {"node", "kubernetes_node", "nodename", "Hostname", "instance"};
  std::vector<NodePattern> node_patterns{};
  Protocol protocol = Protocol::kPrometheus;  // not in the file: of the plugin that uses the source
};

// Parses a file strictly: errors for unknown fields, wrong types and values out of range contain the path.
Expected<std::vector<SourceSettings>> ReadSources(std::string_view text);

// Resolves a plugin's `wanted`: the name of a source, the address of a source, or an address that is not
// configured, which gets the default settings above.
Expected<SourceSettings> FindSource(const std::vector<SourceSettings>& sources, const std::string& wanted);

// Adds what a plugin's arguments describe. A token replaces the credentials of the file.
void ApplyAccess(const SourceAccess& access, SourceSettings& source);

}  // namespace berth::load_metrics
