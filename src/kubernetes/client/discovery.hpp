// Discovers the resources of an API server.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "http/loop.hpp"
#include "kubernetes/client/backoff.hpp"
#include "kubernetes/client/resources.hpp"

namespace berth {
class Random;
}
namespace berth::api {
class Decoder;
}

namespace berth::client {

class Api;

// Requests one group version at a time and shares the result among the resources of the group. Resources that
// the server does not have are requested again every five minutes, since an upgrade may add them, and every
// 30 seconds if a plugin reads them. A failed
// request (server unavailable or failing) is repeated with growing delays and never counts as absence. Lives
// on the loop.
//
// Discovery is needed although a list would return 404 as well: the server checks authorization first, so a
// resource that does not exist is "forbidden" to a client without rights to it.
class Discovery {
 public:
  // The path of the resource in the best version; nullopt: the server has no version of it.
  using Found = std::function<void(std::optional<std::string> path)>;

  Discovery(http::Loop& loop, Api& api, api::Decoder& decoder, Random& random);
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // Calls `found` when the result is known and whenever it changes, from absent to a path or from one path to
  // another.
  void Follow(const Resource& resource, Found found);
  // The known result for this group may be outdated: requests it again soon.
  void Recheck(std::string_view group);

 private:
  struct Subscription {
    const Resource* resource;
    Found found;
    bool notified = false;
    std::optional<std::string> path{};
  };
  struct Group {
    std::string name;
    std::vector<Subscription> subscriptions{};
    std::map<std::string, std::vector<std::string>> known{};  // by version, in the current round
    std::vector<std::string> pending_versions{};              // versions still to be requested
    std::uint64_t call = 0;
    http::Loop::TimerId timer = http::Loop::TimerId::kNone;
    Backoff backoff;
    bool going = false;
    bool rechecks = false;  // `timer` is that of Recheck
  };

  void Begin(Group& group);
  void RequestNext(Group& group);
  void Conclude(Group& group);
  void Again(Group& group, Duration delay);

  http::Loop& loop_;
  Api& api_;
  api::Decoder& decoder_;
  Random& random_;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;
  // Work that this object has posted from the loop may come after its destruction by another thread.
  const std::shared_ptr<const char> alive_ = std::make_shared<const char>();
};

}  // namespace berth::client
