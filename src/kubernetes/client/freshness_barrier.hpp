// The proof that a view of one kind is at least as new as the moment at which it was asked for.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "kubernetes/client/api.hpp"
#include "kubernetes/client/backoff.hpp"
#include "http/loop.hpp"

namespace berth::api {
class Decoder;
struct VersionList;
}  // namespace berth::api

namespace berth::client {

// Resource versions of one resource are decimal numbers of any length that only grow (Kubernetes >= 1.35 says
// so, older ones do so). What is no number is only ever equal.
bool VersionBefore(std::string_view version, std::string_view other);
bool VersionReached(std::string_view version, std::string_view wanted);

// What is known so far; asked on the loop.
struct CatchUpView {
  std::function<const std::string*(std::string_view ns, std::string_view name)> version_of;  // null: unknown
  std::function<void(const std::function<void(const std::string& key, const std::string& version)>&)> each;
  std::function<std::size_t()> size;
  std::function<std::string_view()> last_version;  // that the watch has delivered; empty: no state yet
  std::function<bool(std::string_view key)> unreadable;
};

struct CatchUpOptions {
  std::string resource;        // for log lines
  std::string path;            // the collection
  std::string field_selector;  // of the view
};

// Who leads now must know all that the leader before has written, and the view comes by a watch that may lag.
// A read of the collection without resourceVersion is served from a quorum, so that its version R is not
// older than any write that was answered before. The view is as new
//   - once its watch has delivered any event or bookmark of version R or later: the order of one watch is
//   total.
//     In a busy cluster that is a matter of milliseconds, and a read of a single object tells R;
//   - or once every object of a full read is in the view in its version or a later one, and the view holds
//     nothing else that is older than R. In a quiet cluster nothing comes by the watch, and this is the
//     proof. Only names and versions are asked for (PartialObjectMetadataList).
// A read that fails is repeated; one that has not led to an end after five seconds too. The end comes once,
// on the loop. One thread; destroyed before the end, nothing is called.
class FreshnessBarrier {
 public:
  // `how`: "watch" or "list".
  using Done = std::move_only_function<void(std::string_view how)>;

  FreshnessBarrier(http::Loop& loop, Api& api, api::Decoder& decoder, Random& random, CatchUpOptions options,
          CatchUpView view, Done done);
  ~FreshnessBarrier();
  FreshnessBarrier(const FreshnessBarrier&) = delete;
  FreshnessBarrier& operator=(const FreshnessBarrier&) = delete;

  void Start();
  // What the view has heard: an object in a new version, or its end. Calls `done` from within, last.
  void OnEvent(std::string_view key, std::string_view version, bool gone);
  // A bookmark, or a whole new state.
  void OnProgress(bool replaced);

 private:
  void Read(bool whole);
  void OnRead(bool whole, Reply reply);
  void Compare(const api::VersionList& list);
  void Again(Duration delay);
  bool EndIfFresh();
  void End(std::string_view how);

  http::Loop& loop_;
  Api& api_;
  api::Decoder& decoder_;
  Random& random_;
  const CatchUpOptions options_;
  const CatchUpView view_;
  Done done_;
  Backoff backoff_;
  std::string wanted_{};  // R of the first read that was answered
  // Objects that the view has to hear of, and in which version; of one that is not there any more its end
  // will do.
  struct IsAnyRegistered {
    std::string version;
    bool gone = false;
  };
  boost::unordered_flat_map<std::string, IsAnyRegistered> awaited_{};
  bool compared_ = false;
  Api::CallId call_ = 0;
  http::Loop::TimerId timer_ = http::Loop::TimerId::kNone;
};

}  // namespace berth::client
