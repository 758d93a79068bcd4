// Kubernetes objects as JSON for benchmarks: Berth and kube-scheduler get the same text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace berth::bench {

inline constexpr std::string_view kZone = "topology.kubernetes.io/zone";
inline constexpr std::string_view kHostname = "kubernetes.io/hostname";

// `text` with each $name replaced by its value; every name in the text must have a value.
std::string Fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> values);

// node-00042, zone-1
std::string NodeName(std::size_t i);
std::string ZoneName(std::size_t i);

// The parts of a pod. Members are JSON without the brackets around them.
struct PodText {
  std::string name;
  std::string ns = "default";
  std::string uid;     // default: derived from the name
  std::string labels;  // "app":"web","tier":"front"
  std::string image = "registry.example.org/app:v1";
  std::string requests;     // "cpu":"100m"
  std::string tolerations;  // {...},{...}
  std::string spec;         // additional members of spec, each with a leading comma
  std::string status;       // members
  std::string node;         // the node that it is bound to; empty: pending

  std::string text() const;
};

// {"labelSelector":{"matchLabels":{labels}},"topologyKey":key,...}; `more` are additional members, each with
// a leading comma.
std::string AffinityTerm(std::string_view labels, std::string_view topology_key, std::string_view more = "");
// A member of spec with a leading comma. `kind` is podAffinity or podAntiAffinity.
std::string RequiredTerm(std::string_view kind, const std::string& term);
std::string PreferredTerm(std::string_view kind, int weight, const std::string& term);
// A member of spec with a leading comma.
std::string Spread(std::string_view topology_key, int max_skew, std::string_view when_unsatisfiable,
                   std::string_view labels);
// A member of spec that mounts a claim, with a leading comma.
std::string ClaimVolume(std::string_view claim);

}  // namespace berth::bench
