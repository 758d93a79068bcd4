// A request as the API server understands it.
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

// Decoded parameters of the query, in their order.
class Query {
 public:
  void Add(std::string key, std::string value) { entries_.emplace_back(std::move(key), std::move(value)); }
  // The first value; empty if absent.
  std::string_view Get(std::string_view key) const;
  bool Has(std::string_view key) const;
  // Absent, 0 and false are false; anything else is true, as in the original.
  bool Flag(std::string_view key) const;
  // Absent: nothing. Not a number: 400.
  ApiResult<std::optional<std::int64_t>> Integer(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

// How objects are shown in the answer, by the Accept header.
struct View {
  enum class Shape { kObject, kTable, kMetadata };
  enum class Include { kNone, kMetadata, kObject };  // what a row of a table carries besides its cells

  const ResourceType* type = nullptr;
  bool events_group = false;  // events as events.k8s.io/v1 shows them
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
  User user;  // who asks

  // Where the path leads, if it leads to objects.
  const ResourceType* type = nullptr;
  bool events_group = false;
  std::string ns;
  std::string name;
  std::string subresource;

  Place place() const { return {*type, ns, name}; }
  DryRun dry_run() const { return query.Has("dryRun") ? DryRun::kYes : DryRun::kNo; }
};

// The parameters of a write: dryRun, fieldManager, fieldValidation, force. Fails with 422. `patch` is the
// type of the patch if it is one; `warnings` receives what fieldValidation=Warn finds.
ApiResult<WriteOptions> DecodeWriteOptions(const ApiRequest& request, std::optional<PatchType> patch,
                                           std::vector<std::string>& warnings);

// Splits the target and takes what is needed from the headers. Fails with 400 if the target is no path.
ApiResult<ApiRequest> ParseRequest(http::Request request);
// Fills in where the path leads. Fails with 404.
ApiResult<> ResolveResource(ApiRequest& request);
// 406 if nothing that the client accepts can be made, 400 for an unknown includeObject.
ApiResult<View> NegotiateView(const ApiRequest& request);

// The object in the body, JSON or protobuf, which must be of the given kind; kind and apiVersion may be left
// out.
ApiResult<Document> DecodeBody(const ApiRequest& request, std::string_view group_version,
                               std::string_view kind);
// From the body and the query; the body wins.
ApiResult<DeleteOptions> DecodeDeleteOptions(const ApiRequest& request);

}  // namespace berth::sandbox
