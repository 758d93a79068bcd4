#include "tools/migrate/server_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "kubernetes/api/elastic_quota.hpp"
#include "kubernetes/client/resources.hpp"

namespace berth::migrate {
namespace {

constexpr int kOldest = 31, kNewest = 37;

// The minor version of "v1.33.2-gke.1"; 0 if the text has another form.
int MinorOf(std::string_view version) {
  if (!version.starts_with("v1.")) return 0;
  int minor = 0;
  std::from_chars(version.data() + 3, version.data() + version.size(), minor);
  return minor;
}

Finding OnVersion(const std::string& version) {
  const int minor = MinorOf(version);
  const std::string supported = fmt::format("Berth works with 1.{} to 1.{}", kOldest, kNewest);
  if (minor >= kOldest && minor <= kNewest)
    return {Level::kOk, Topic::kServer, fmt::format("Kubernetes {}; {}", version, supported)};
  return {Level::kWarning, Topic::kServer,
          fmt::format("Kubernetes {}, where {}", version.empty() ? "?" : version, supported),
          minor > kNewest ? "Berth follows kube-scheduler v1.37.1, without newer features"
                          : "try it beside the running scheduler first, with a profile name of its own"};
}

// Caches the discovery of each group version.
class Groups {
 public:
  explicit Groups(Server& server) : server_(server) {}

  // The path of the first version that has the resource; empty if none has it.
  Expected<std::string> PathOf(std::string_view group, std::string_view plural, auto&& versions) {
    for (const std::string_view version : versions) {
      if (version.empty()) continue;
      const std::string path = client::Resource::GroupPath(group, version);
      BERTH_TRY(const auto* names, NamesAt(path));
      if (std::ranges::find(*names, plural) != names->end()) return fmt::format("{}/{}", path, plural);
    }
    return std::string();
  }

 private:
  Expected<const std::vector<std::string>*> NamesAt(const std::string& path) {
    const auto known = names_.find(path);
    if (known != names_.end()) return &known->second;
    const client::Reply reply = server_.Send({.path = path});
    if (!reply && reply.error().code != ErrorCode::kNotFound) return std::unexpected(reply.error().ToError());
    std::vector<std::string> names;
    if (reply) {
      BERTH_TRY(names, decoder_.ResourceNames(*reply));
    }
    return &names_.emplace(path, std::move(names)).first->second;
  }

  Server& server_;
  api::Decoder decoder_;
  std::map<std::string, std::vector<std::string>> names_;
};

// "resource.k8s.io/v1beta1" of "/apis/resource.k8s.io/v1beta1/deviceclasses".
std::string_view GroupVersionOf(std::string_view path) {
  path.remove_prefix(std::string_view("/apis/").size());
  return path.substr(0, path.rfind('/'));
}

Expected<void> Discover(Server& server, ServerFacts& facts) {
  Groups groups(server);
  const auto& quotas = client::ResourceOf<api::ElasticQuota>();
  BERTH_TRY(facts.elastic_quotas, groups.PathOf(quotas.group, quotas.plural, quotas.versions));
  const auto& koordinator = client::kOtherSources.front();
  BERTH_TRY(facts.koordinator_quotas,
            groups.PathOf(koordinator.group, koordinator.plural, koordinator.versions));
  const auto discover = [&](const client::Resource& resource) -> Expected<void> {
    BERTH_TRY(const std::string path, groups.PathOf(resource.group, resource.plural, resource.versions));
    if (resource.plural == "deviceclasses") facts.device_classes = path;
    if (!path.empty()) return {};
    const bool optional = !resource.feature_gate.empty() || resource.on_request;
    (optional ? facts.absent_optional : facts.absent)
        .insert(fmt::format("{}.{}", resource.plural, resource.group));
    return {};
  };
  for (const client::Resource& resource : client::kResources) BERTH_RETURN_IF_ERROR(discover(resource));
  for (const client::Resource& resource : client::kExternalResources)
    BERTH_RETURN_IF_ERROR(discover(resource));
  for (const client::Resource& resource : client::kOtherSources) BERTH_RETURN_IF_ERROR(discover(resource));
  constexpr std::string_view kVersions[] = {"v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"};
  BERTH_TRY(facts.pod_groups, groups.PathOf("scheduling.k8s.io", "podgroups", kVersions));
  return {};
}

}  // namespace

Expected<ServerFacts> DiscoverServer(Server& server, Findings& findings) {
  ServerFacts facts;
  BERTH_TRY(const config::Value version, GetTree(server, {.path = "/version"}));
  facts.version = TextAt(version, {"gitVersion"});
  findings.push_back(OnVersion(facts.version));
  if (const auto found = Discover(server, facts); !found) {
    findings.push_back({Level::kWarning, Topic::kServer,
                        fmt::format("cannot discover the server's resources: {}", found.error().message),
                        "Berth needs discovery, too: bind its user to the role system:discovery"});
  } else if (!facts.absent.empty()) {
    findings.push_back(
        {Level::kNote, Topic::kServer,
         fmt::format(
             "the server does not have {}; Berth works without these and checks for them every five minutes",
             fmt::join(facts.absent, ", "))});
  }
  if (!facts.device_classes.empty() && !facts.device_classes.starts_with("/apis/resource.k8s.io/v1/")) {
    findings.push_back(
        {Level::kNote, Topic::kServer,
         fmt::format("the server has devices as {}; Berth reads and writes them in this version, "
                     "kube-scheduler v1.37 only as resource.k8s.io/v1",
                     GroupVersionOf(facts.device_classes))});
  }
  return facts;
}

}  // namespace berth::migrate
