// Lists: of the current state, of a past version, and in pages.
#pragma once

#include "sandbox/apiserver/render.hpp"
#include "sandbox/store/selector.hpp"
#include "sandbox/store/store.hpp"

namespace berth::sandbox {

struct ListOptions {
  Selector selector;
  std::size_t limit = 0;           // 0: everything
  std::optional<Version> exactly;  // the state at that version, if it is still in the window
  std::optional<Version> at_least;
  std::string start;  // keys after this one
};

// Validates the parameters of a list. 422 if they contradict each other, 400 if they are malformed.
ApiResult<ListOptions> ParseListOptions(const ApiRequest& request, Selector selector);

struct ListResult {
  std::vector<ObjectPtr> objects;
  ListMetadata metadata;
};
// 410 if the version has left the window. The caller waits for `at_least`.
ApiResult<ListResult> ListObjects(const Store& store, const ResourceType& type, const ListOptions& options);

// labelSelector and fieldSelector of the query, in the namespace of the path. 400 if they cannot be parsed.
ApiResult<Selector> ParseSelector(const ApiRequest& request);

}  // namespace berth::sandbox
