#include "sandbox/apiserver/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "sandbox/apiserver/openapi/openapi.hpp"

namespace berth::sandbox {
namespace {

struct Subresource {
  std::string_view name;
  std::string_view group, version, kind;  // empty group and version: those of the resource
  json::array verbs;
};

std::vector<Subresource> SubresourcesOf(const ResourceType& type) {
  std::vector<Subresource> all;
  if (type.plural == "pods") {
    all.push_back({"binding", "", "", "Binding", {"create"}});
    all.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
    all.push_back({"log", "", "", "Pod", {"get"}});
  }
  if (type.plural == "namespaces") all.push_back({"finalize", "", "", "Namespace", {"update"}});
  if (type.has_scale) all.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
  if (type.has_status) all.push_back({"status", "", "", type.kind, {"get", "patch", "update"}});
  return all;
}

json::array SupportedVerbs() {
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

json::array ShortNames(const ResourceType& type) {
  json::array names;
  ForEachOf(type.short_names, [&](std::string_view name) { names.push_back(json::value(name)); });
  return names;
}

struct GroupVersion {
  std::string_view group, version;
  std::vector<const ResourceType*> types;
};

// In the order of the table; events.k8s.io, which has no entry of its own, comes last. The versions of a
// group follow each other, the preferred one first.
std::vector<GroupVersion> GroupVersions() {
  std::vector<GroupVersion> all;
  for (const auto& type : Resources()) {
    if (all.empty() || all.back().group != type.group || all.back().version != type.version) {
      all.push_back({type.group, type.version, {}});
    }
    all.back().types.push_back(&type);
  }
  all.push_back({"events.k8s.io", "v1", {&Known().events}});
  all.push_back({"authentication.k8s.io", "v1", {}});
  all.push_back({"authorization.k8s.io", "v1", {}});
  all.push_back({"metrics.k8s.io", "v1beta1", {}});
  return all;
}

// Resources that are not stored and have no entry in the resource table: reviews created by POST, and
// metrics.
struct Unstored {
  std::string_view group, plural, singular, kind;
  bool namespaced = false;
  bool read = false;  // get and list, instead of create

  json::array verbs() const { return read ? json::array{"get", "list"} : json::array{"create"}; }
};
constexpr Unstored kUnstored[] = {
    {"authentication.k8s.io", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview"},
    {"authentication.k8s.io", "tokenreviews", "tokenreview", "TokenReview"},
    {"authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectaccessreview",
     "SelfSubjectAccessReview"},
    {"authorization.k8s.io", "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview"},
    {"authorization.k8s.io", "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview"},
    {"metrics.k8s.io", "nodes", "", "NodeMetrics", false, true},
    {"metrics.k8s.io", "pods", "", "PodMetrics", true, true},
};

// --- the unaggregated form: a request per group version ---

json::object ResourceList(const GroupVersion& gv) {
  json::array resources;
  for (const ResourceType* type : gv.types) {
    json::object entry{{"name", type->plural},
                       {"singularName", type->singular},
                       {"namespaced", type->namespaced},
                       {"kind", type->kind},
                       {"verbs", SupportedVerbs()}};
    if (!type->short_names.empty()) entry["shortNames"] = ShortNames(*type);
    if (type->in_all) entry["categories"] = json::array{"all"};
    resources.push_back(std::move(entry));
    for (const auto& sub : SubresourcesOf(*type)) {
      json::object part{{"name", fmt::format("{}/{}", type->plural, sub.name)},
                        {"singularName", ""},
                        {"namespaced", type->namespaced},
                        {"kind", sub.kind},
                        {"verbs", sub.verbs}};
      if (!sub.group.empty()) {
        part["group"] = sub.group;
        part["version"] = sub.version;
      }
      resources.push_back(std::move(part));
    }
  }
  for (const auto& review : kUnstored) {
    if (review.group != gv.group) continue;
    resources.push_back(json::object{{"name", review.plural},
                                     {"singularName", review.singular},
                                     {"namespaced", review.namespaced},
                                     {"kind", review.kind},
                                     {"verbs", review.verbs()}});
  }
  const std::string name =
      gv.group.empty() ? std::string(gv.version) : fmt::format("{}/{}", gv.group, gv.version);
  json::object list{{"kind", "APIResourceList"}};
  if (!gv.group.empty()) list["apiVersion"] = "v1";
  list["groupVersion"] = name;
  list["resources"] = std::move(resources);
  return list;
}

// `versions`: of one group.
json::object Group(std::span<const GroupVersion> versions) {
  json::array all;
  for (const auto& gv : versions) {
    all.push_back(
        json::object{{"groupVersion", fmt::format("{}/{}", gv.group, gv.version)}, {"version", gv.version}});
  }
  const json::value preferred = all.front();
  return {{"name", versions.front().group}, {"versions", std::move(all)}, {"preferredVersion", preferred}};
}

// Calls visit(std::span<const GroupVersion>) for each group.
template <class Visit>
void ForEachGroup(std::span<const GroupVersion> all, Visit&& visit) {
  while (!all.empty()) {
    std::size_t versions = 1;
    while (versions < all.size() && all[versions].group == all.front().group) ++versions;
    visit(all.first(versions));
    all = all.subspan(versions);
  }
}

// --- the aggregated form: all groups in one response ---

json::object Kind(std::string_view group, std::string_view version, std::string_view kind) {
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

json::object AggregatedResource(const ResourceType& type) {
  json::object entry{{"resource", type.plural},
                     {"responseKind", Kind("", "", type.kind)},
                     {"scope", type.namespaced ? "Namespaced" : "Cluster"},
                     {"singularResource", type.singular},
                     {"verbs", SupportedVerbs()}};
  if (!type.short_names.empty()) entry["shortNames"] = ShortNames(type);
  if (type.in_all) entry["categories"] = json::array{"all"};
  json::array subresources;
  for (const auto& sub : SubresourcesOf(type)) {
    subresources.push_back(json::object{{"subresource", sub.name},
                                        {"responseKind", Kind(sub.group, sub.version, sub.kind)},
                                        {"verbs", sub.verbs}});
  }
  if (!subresources.empty()) entry["subresources"] = std::move(subresources);
  return entry;
}

json::object AggregatedVersion(const GroupVersion& gv) {
  json::array resources;
  for (const ResourceType* type : gv.types) resources.push_back(AggregatedResource(*type));
  for (const auto& review : kUnstored) {
    if (review.group != gv.group) continue;
    resources.push_back(json::object{{"resource", review.plural},
                                     {"responseKind", Kind("", "", review.kind)},
                                     {"scope", review.namespaced ? "Namespaced" : "Cluster"},
                                     {"singularResource", review.singular},
                                     {"verbs", review.verbs()}});
  }
  return {{"version", gv.version}, {"freshness", "Current"}, {"resources", std::move(resources)}};
}

json::object AggregatedGroup(std::span<const GroupVersion> versions) {
  json::object metadata;
  if (!versions.front().group.empty()) metadata["name"] = versions.front().group;
  json::array all;
  for (const auto& gv : versions) all.push_back(AggregatedVersion(gv));
  return {{"metadata", metadata}, {"versions", std::move(all)}};
}

Answer Aggregated(bool core) {
  json::array items;
  ForEachGroup(GroupVersions(), [&](std::span<const GroupVersion> versions) {
    if (versions.front().group.empty() == core) items.push_back(AggregatedGroup(versions));
  });
  return {200, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
          json::serialize(json::object{{"kind", "APIGroupDiscoveryList"},
                                       {"apiVersion", "apidiscovery.k8s.io/v2"},
                                       {"metadata", json::object()},
                                       {"items", std::move(items)}}) +
              "\n"};
}

bool WantsAggregated(const ApiRequest& request) {
  const std::string_view accept = request.accept;
  return accept.find("as=APIGroupDiscoveryList") != std::string_view::npos &&
         accept.find("v=v2;") != std::string_view::npos;
}

// --- OpenAPI: kubectl only checks whether the server validates fields ---

std::string OpenApiPath(const GroupVersion& gv) {
  return gv.group.empty() ? fmt::format("api/{}", gv.version)
                          : fmt::format("apis/{}/{}", gv.group, gv.version);
}

json::object OpenApiIndex() {
  json::object paths;
  for (const auto& gv : GroupVersions()) {
    const std::string path = OpenApiPath(gv);
    paths[path] = json::object{{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash=berth", path)}};
  }
  return {{"paths", std::move(paths)}};
}

Answer Json(const json::object& object) { return {200, "application/json", json::serialize(object) + "\n"}; }

Answer NotFoundText() { return {404, "text/plain; charset=utf-8", "404 page not found\n"}; }

Answer VersionAnswer() {
  return Json({{"major", "1"},
               {"minor", "37"},
               {"emulationMajor", "1"},
               {"emulationMinor", "37"},
               {"minCompatibilityMajor", "1"},
               {"minCompatibilityMinor", "36"},
               {"gitVersion", "v1.37.1"},
               {"gitCommit", "berth-sandbox"},
               {"gitTreeState", "clean"},
               {"buildDate", "1970-01-01T00:00:00Z"},
               {"goVersion", "none"},
               {"compiler", "g++"},
               {"platform", "linux/amd64"}});
}

std::optional<Answer> AnswerApi(const ApiRequest& request) {
  if (request.path.size() == 1) {
    if (WantsAggregated(request)) return Aggregated(true);
    const json::object address{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", "127.0.0.1"}};
    return Json({{"kind", "APIVersions"},
                 {"versions", json::array{"v1"}},
                 {"serverAddressByClientCIDRs", json::array{address}}});
  }
  if (request.path[1] != "v1") return NotFoundText();
  if (request.path.size() == 2) return Json(ResourceList(GroupVersions().front()));
  return std::nullopt;
}

// An unknown version of a known group.
Answer UnknownInGroup() { return {404, "application/json", NoSuchResource().error().ToJson()}; }

std::optional<Answer> AnswerApis(const ApiRequest& request) {
  const auto all = GroupVersions();
  if (request.path.size() == 1) {
    if (WantsAggregated(request)) return Aggregated(false);
    json::array groups;
    ForEachGroup(all, [&](std::span<const GroupVersion> versions) {
      if (!versions.front().group.empty()) groups.push_back(Group(versions));
    });
    return Json({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
  }
  const auto gv = std::ranges::find_if(all, [&](const GroupVersion& candidate) {
    return !candidate.group.empty() && candidate.group == request.path[1] &&
           (request.path.size() == 2 || candidate.version == request.path[2]);
  });
  const auto knows_group = [&](const GroupVersion& candidate) {
    return !candidate.group.empty() && candidate.group == request.path[1];
  };
  if (gv == all.end() && std::ranges::any_of(all, knows_group)) return UnknownInGroup();
  if (gv == all.end()) return NotFoundText();
  if (request.path.size() == 2) {
    json::object group{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    ForEachGroup(all, [&](std::span<const GroupVersion> versions) {
      if (versions.front().group != gv->group) return;
      for (auto& entry : Group(versions)) group[entry.key()] = entry.value();
    });
    return Json(group);
  }
  if (request.path.size() == 3) return Json(ResourceList(*gv));
  return std::nullopt;
}

std::optional<Answer> AnswerOpenApi(const ApiRequest& request) {
  if (request.path.size() < 2 || request.path[1] != "v3") return NotFoundText();
  if (request.path.size() == 2) return Json(OpenApiIndex());
  std::string path;
  for (std::size_t i = 2; i < request.path.size(); ++i) path += (i > 2 ? "/" : "") + request.path[i];
  for (const auto& gv : GroupVersions()) {
    if (OpenApiPath(gv) == path) return Json(OpenApiDocument(gv.group, gv.version, gv.types));
  }
  return NotFoundText();
}

}  // namespace

std::optional<Answer> AnswerDiscovery(const ApiRequest& request) {
  if (request.path.empty()) {
    return Json({{"paths", json::array{"/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3",
                                       "/readyz", "/version"}}});
  }
  const std::string& first = request.path[0];
  if (first == "version" && request.path.size() == 1) return VersionAnswer();
  if (first == "healthz" || first == "livez" || first == "readyz")
    return Answer{200, "text/plain; charset=utf-8", "ok"};
  if (first == "openapi") return AnswerOpenApi(request);
  if (first == "api") return AnswerApi(request);
  if (first == "apis") return AnswerApis(request);
  return NotFoundText();
}

}  // namespace berth::sandbox
