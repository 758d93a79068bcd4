// A server that measures, as its owner describes it: a file of --berth-metric-sources.
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

namespace berth::load_metrics {

// Rewrites a label that does not name its node as the cluster does. Without a match the label stays.
struct NodePattern {
  std::string label;
  std::string text;  // the regular expression as it was written: ECMAScript, for the whole value
  std::regex regex;
  std::string replacement;  // $1 is the first group
};

struct SourceTls {
  std::string ca_file{}, cert_file{}, key_file{}, server_name{};
  bool insecure_skip_verify = false;
};

struct SourceSettings {
  std::string name;                    // what plugins and metrics call it
  std::vector<std::string> addresses;  // of the same data: tried in this order
  Duration poll_interval = std::chrono::seconds(15);
  Duration timeout = std::chrono::seconds(10);  // of a query, all addresses together
  std::string bearer_token{}, bearer_token_file{};
  std::string username{}, password{}, password_file{};
  SourceTls tls{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::vector<std::pair<std::string, std::string>> query_parameters{};
  // The labels that tell nodes apart, the most telling first.
  std::vector<std::string> node_labels = {"node", "kubernetes_node", "nodename", "Hostname", "instance"};
  std::vector<NodePattern> node_patterns{};
};

// A whole file, strictly: unknown fields, wrong types and values out of range are named with their path.
Expected<std::vector<SourceSettings>> ReadSources(std::string_view text);

// What a plugin means by `wanted`: a source of that name, or one with that address, or an address that nobody
// described, with the settings above.
Expected<SourceSettings> FindSource(const std::vector<SourceSettings>& sources, const std::string& wanted);

}  // namespace berth::load_metrics
