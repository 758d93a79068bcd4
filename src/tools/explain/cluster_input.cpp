#include "tools/explain/cluster_input.hpp"

#include <fmt/format.h>

#include "http/origin.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/resources.hpp"

namespace berth::explain {
namespace {

constexpr int kPage = 500;

// `found` is false if the server does not have the resource in this version.
struct Listing {
  bool found = true;
  Expected<void> read = {};
};

Listing ListAll(migrate::Server& server, const std::string& path, const LoadPage& load) {
  api::Decoder decoder;
  std::string next;
  do {
    std::string page = fmt::format("{}?limit={}", path, kPage);
    if (!next.empty()) page += "&continue=" + http::EncodeQuery(next);
    const client::Reply reply = server.Send({.path = page, .accept = "application/json"});
    if (!reply) return {reply.error().http_code != 404, std::unexpected(reply.error().ToError())};
    const auto versions = decoder.Versions(*reply);
    if (!versions) return {true, std::unexpected(versions.error())};
    next = versions->continue_token;
    if (auto loaded = load(*reply, path); !loaded) return {true, loaded};
  } while (!next.empty());
  return {};
}

Expected<void> ReadKind(migrate::Server& server, const client::Resource& resource, const LoadPage& load) {
  for (const std::string_view version : resource.versions) {
    if (version.empty()) continue;
    const std::string path =
        fmt::format("{}/{}", client::Resource::GroupPath(resource.group, version), resource.plural);
    Listing listing = ListAll(server, path, load);
    if (listing.found) return listing.read;
  }
  return {};
}

}  // namespace

Expected<void> ReadPriorityClasses(migrate::Server& server, const LoadPage& load) {
  Listing listing = ListAll(server, "/apis/scheduling.k8s.io/v1/priorityclasses", load);
  if (listing.read || !listing.found) return {};
  return std::unexpected(std::move(listing.read).error().In("cannot list priorityclasses"));
}

Expected<void> ReadCluster(migrate::Server& server, const LoadPage& load, const Wanted& wanted,
                           std::vector<std::string>& warnings) {
  std::vector<client::Resource> resources(client::kResources.begin(), client::kResources.end());
  resources.insert(resources.end(), client::kExternalResources.begin(), client::kExternalResources.end());
  resources.insert(resources.end(), client::kOtherSources.begin(), client::kOtherSources.end());
  for (const client::Resource& resource : resources) {
    if (!wanted(resource)) continue;
    const auto read = ReadKind(server, resource, load);
    if (read) continue;
    const bool essential = resource.kind == "Node" || resource.kind == "Pod";
    std::string text = fmt::format("cannot list {}: {}", resource.plural, read.error().message);
    if (essential) return Fail(read.error().code, std::move(text));
    warnings.push_back(text + "; the explanation does not consider them");
    // A server that does not answer will not answer the other requests either.
    if (read.error().code == ErrorCode::kUnavailable || read.error().code == ErrorCode::kTimeout)
      return Fail(read.error().code, std::move(text));
  }
  return {};
}

}  // namespace berth::explain
