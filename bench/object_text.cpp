#include "bench/object_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace berth::bench {

std::string Fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t dollar = std::min(text.find('$', at), text.size());
    out.append(text.substr(at, dollar - at));
    if (dollar == text.size()) break;
    std::size_t end = dollar + 1;
    while (end < text.size() && std::islower(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::string_view name = text.substr(dollar + 1, end - dollar - 1);
    const auto found = std::ranges::find(values, name, [](const auto& value) { return value.first; });
    if (found == values.end()) std::abort();  // a bug in the template
    out.append(found->second);
    at = end;
  }
  return out;
}

std::string NodeName(std::size_t i) { return fmt::format("node-{:05}", i); }
std::string ZoneName(std::size_t i) { return fmt::format("zone-{}", i % 3); }

std::string PodText::text() const {
  const std::string id = uid.empty() ? ns + "." + name : uid;
  const std::string bound = node.empty() ? "" : Fill(R"(,"nodeName":"$node")", {{"node", node}});
  const std::string tolerates =
      tolerations.empty() ? "" : Fill(R"(,"tolerations":[$list])", {{"list", tolerations}});
  return Fill(
      R"({"apiVersion":"v1","kind":"Pod",)"
      R"("metadata":{"name":"$name","namespace":"$ns","uid":"$uid","labels":{$labels}},)"
      R"("spec":{"schedulerName":"default-scheduler"$bound,)"
      R"("containers":[{"name":"main","image":"$image","resources":{"requests":{$requests}}}]$tolerates$more},)"
      R"("status":{$status}})",
      {{"name", name},
       {"ns", ns},
       {"uid", id},
       {"labels", labels},
       {"bound", bound},
       {"image", image},
       {"requests", requests},
       {"tolerates", tolerates},
       {"more", spec},
       {"status", status}});
}

std::string AffinityTerm(std::string_view labels, std::string_view topology_key, std::string_view more) {
  return Fill(R"({"labelSelector":{"matchLabels":{$labels}},"topologyKey":"$key"$more})",
              {{"labels", labels}, {"key", topology_key}, {"more", more}});
}

std::string RequiredTerm(std::string_view kind, const std::string& term) {
  return Fill(R"(,"affinity":{"$kind":{"requiredDuringSchedulingIgnoredDuringExecution":[$term]}})",
              {{"kind", kind}, {"term", term}});
}

std::string PreferredTerm(std::string_view kind, int weight, const std::string& term) {
  return Fill(R"(,"affinity":{"$kind":{"preferredDuringSchedulingIgnoredDuringExecution":)"
              R"([{"weight":$weight,"podAffinityTerm":$term}]}})",
              {{"kind", kind}, {"weight", std::to_string(weight)}, {"term", term}});
}

std::string Spread(std::string_view topology_key, int max_skew, std::string_view when_unsatisfiable,
                   std::string_view labels) {
  return Fill(
      R"(,"topologySpreadConstraints":[{"maxSkew":$skew,"topologyKey":"$key","whenUnsatisfiable":"$when",)"
      R"("labelSelector":{"matchLabels":{$labels}}}])",
      {{"skew", std::to_string(max_skew)},
       {"key", topology_key},
       {"when", when_unsatisfiable},
       {"labels", labels}});
}

std::string ClaimVolume(std::string_view claim) {
  return Fill(R"(,"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"$claim"}}])",
              {{"claim", claim}});
}

}  // namespace berth::bench
