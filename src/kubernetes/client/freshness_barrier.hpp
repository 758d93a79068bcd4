// Proves that the local view of one kind is at least as new as the moment of the request.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "http/loop.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/backoff.hpp"

namespace berth::api {
class Decoder;
struct VersionList;
}  // namespace berth::api

namespace berth::client {

// Compares resource versions of one resource: decimal numbers of any length that only grow (guaranteed since
// Kubernetes 1.35, true before). Other texts can only be equal.
bool VersionBefore(std::string_view version, std::string_view other);
bool VersionReached(std::string_view version, std::string_view wanted);

// Access to the current view; called on the loop.
struct FreshnessView {
  std::function<const std::string*(std::string_view ns, std::string_view name)> version_of;  // null: unknown
  std::function<void(const std::function<void(const std::string& key, const std::string& version)>&)> each;
  std::function<std::size_t()> size;
  // the last version the watch has delivered; empty: no state yet
  std::function<std::string_view()> last_version;
  std::function<bool(std::string_view key)> unreadable;
  // Requests a new list without a version instead of the current watch.
  std::function<void()> list_again;
};

struct FreshnessBarrierOptions {
  std::string resource;        // for log lines
  std::string path;            // the collection
  std::string field_selector;  // of the view
};

// A new leader must have observed everything that the previous leader wrote, but its view comes from a watch
// that may lag. A read of the collection without resourceVersion is served from a quorum, so its version R is
// not older than any write that completed before. The view is as new as R
//   - once its watch has delivered any event or bookmark of version R or later, because a watch is totally
//     ordered. In a busy cluster this takes milliseconds, and a read of a single object yields R;
//   - or once every object of a full read is in the view in its version or a later one, and the view holds no
//     other object that is older than R. In a quiet cluster the watch delivers nothing, and this is the
//     proof. Only names and versions are requested (PartialObjectMetadataList).
// A view that was newer than R before the read has the versions of another history: the API server's data
// were restored from a backup. Later events do not tell what the view lacks of the new history, so that it is
// listed again. Only that list makes it as new as R.
//
// A read is repeated if it fails, or if it has led to no result after five seconds. `done` is called once, on
// the loop. One thread; a barrier that is destroyed earlier calls nothing.
class FreshnessBarrier {
 public:
  // `how`: "watch" or "list".
  using Done = std::move_only_function<void(std::string_view how)>;

  FreshnessBarrier(http::Loop& loop, Api& api, api::Decoder& decoder, Random& random,
                   FreshnessBarrierOptions options, FreshnessView view, Done done);
  ~FreshnessBarrier();
  FreshnessBarrier(const FreshnessBarrier&) = delete;
  FreshnessBarrier& operator=(const FreshnessBarrier&) = delete;

  void Start();
  // The view received an object in a new version, or its deletion. May call `done` as its last action.
  void OnEvent(std::string_view key, std::string_view version, bool gone);
  // The view received a bookmark, or a complete new state.
  void OnProgress(bool replaced);

 private:
  void Read(bool whole);
  void OnRead(bool whole, Reply reply);
  void Compare(const api::VersionList& list);
  void Again(Duration delay);
  bool EndIfFresh();
  bool Restored() const;
  void End(std::string_view how);

  http::Loop& loop_;
  Api& api_;
  api::Decoder& decoder_;
  Random& random_;
  const FreshnessBarrierOptions options_;
  const FreshnessView view_;
  Done done_;
  Backoff backoff_;
  std::string wanted_{};         // R of the first successful read
  std::string last_at_start_{};  // the view's version before that read; empty: none, or it was replaced
  // Objects that the view must receive, with the required version; a deletion also satisfies the requirement.
  struct RequiredVersion {
    std::string version;
    bool gone = false;
  };
  FlatTextMap<RequiredVersion> awaited_{};
  bool compared_ = false;
  Api::CallId call_ = 0;
  http::Loop::TimerId timer_ = http::Loop::TimerId::kNone;
};

}  // namespace berth::client
