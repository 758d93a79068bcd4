// Which resources an API server has.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/client/backoff.hpp"
#include "kubernetes/client/resources.hpp"
#include "http/loop.hpp"

namespace berth {
class Random;
}
namespace berth::api {
class Decoder;
}

namespace berth::client {

class Api;

// Asks for one group version at a time and shares the answer among the resources of the group. What the
// server does not have is asked for again every five minutes, since an upgrade may bring it; what it would
// not say (it is away, or in trouble) is asked for with growing delays, and never taken for an absence. Lives
// on the loop.
//
// Discovery is needed although a list would answer 404 as well: authorization comes first, so that a resource
// that does not exist is "forbidden" to whoever was never given a right to it.
class Discovery {
 public:
  // The path of the resource in the best version; nothing: the server has it in none.
  using Found = std::function<void(std::optional<std::string> path)>;

  Discovery(http::Loop& loop, Api& api, api::Decoder& decoder, Random& random);
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // Calls `found` when the answer is known and again whenever it changes, from absent to a path or from one
  // path to another.
  void Follow(const Resource& resource, Found found);
  // What was said of this group does not hold any more: ask again, soon.
  void Doubt(std::string_view group);

 private:
  struct Wish {
    const Resource* resource;
    Found found;
    bool told = false;
    std::optional<std::string> path{};
  };
  struct Group {
    std::string name;
    std::vector<Wish> wishes{};
    std::map<std::string, std::vector<std::string>> known{};  // by version, in the round that is under way
    std::vector<std::string> asking{};                        // versions still to ask
    std::uint64_t call = 0;
    http::Loop::TimerId timer = http::Loop::TimerId::kNone;
    Backoff backoff;
    bool going = false;
  };

  void Begin(Group& group);
  void AskNext(Group& group);
  void Conclude(Group& group);
  void Again(Group& group, Duration delay);

  http::Loop& loop_;
  Api& api_;
  api::Decoder& decoder_;
  Random& random_;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;
};

}  // namespace berth::client
