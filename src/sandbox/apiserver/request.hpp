// A parsed API request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.hpp"
#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/apiserver/status.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// Decoded query parameters in their order.
class Query {
 public:
  void Add(std::string key, std::string value) { entries_.emplace_back(std::move(key), std::move(value)); }
  // The first value; empty if absent.
  std::string_view Get(std::string_view key) const;
  bool Has(std::string_view key) const;
  // Absent, 0 and false are false; anything else is true, as in kube-apiserver.
  bool Flag(std::string_view key) const;
  // Absent: nullopt. Not a number: 400.
  ApiResult<std::optional<std::int64_t>> Integer(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

// The representation of objects in the response, from the Accept header.
struct View {
  enum class Shape { kObject, kTable, kMetadata };
  enum class Include { kNone, kMetadata, kObject };  // the object data in a table row besides its cells

  const ResourceType* type = nullptr;
  bool events_group = false;  // show events as events.k8s.io/v1
  Shape shape = Shape::kObject;
  Include include = Include::kMetadata;

  std::string_view group_version() const { return events_group ? "events.k8s.io/v1" : type->group_version(); }
};

struct ApiRequest {
  std::string method;
  std::vector<std::string> path;  // decoded segments
  Query query;
  std::string accept;
  std::string content_type;  // without parameters, lower case
  std::string body;
  std::string user_agent;
  bool accepts_gzip = false;
  User user;  // the authenticated user

  // The resource of the path; null if the path has none.
  const ResourceType* type = nullptr;
  bool events_group = false;
  std::string ns;
  std::string name;
  std::string subresource;

  Place place() const { return {*type, ns, name}; }
  DryRun dry_run() const { return query.Has("dryRun") ? DryRun::kYes : DryRun::kNo; }
};

// The parameters of a write: dryRun, fieldManager, fieldValidation, force. Fails with 422. `patch` is set for
// patches; `warnings` receives the findings of fieldValidation=Warn.
ApiResult<WriteOptions> DecodeWriteOptions(const ApiRequest& request, std::optional<PatchType> patch,
                                           std::vector<std::string>& warnings);

// Parses the target and the relevant headers. Fails with 400 if the target is not a path.
ApiResult<ApiRequest> ParseRequest(http::Request request);
// Resolves the path to a resource type. Fails with 404.
ApiResult<> ResolveResource(ApiRequest& request);
// 406 if the client accepts no supported representation, 400 for an unknown includeObject.
ApiResult<View> NegotiateView(const ApiRequest& request);

// The object in the body, JSON or protobuf, which must be of the given kind; kind and apiVersion may be left
// out.
ApiResult<Document> DecodeBody(const ApiRequest& request, std::string_view group_version,
                               std::string_view kind);
// From the body and the query; the body takes precedence.
ApiResult<DeleteOptions> DecodeDeleteOptions(const ApiRequest& request);

}  // namespace berth::sandbox
