#include "kubernetes/client/discovery.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/api.hpp"
#include "observability/log/log.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAbsentRetryInterval = 5min;
// Resources that a plugin of the configuration reads, because their definition may be installed at any time.
constexpr Duration kOnRequestRetryInterval = 30s;
constexpr BackoffOptions kGroupBackoff{
    .initial = 800ms, .factor = 2, .jitter = 1, .cap = 30s, .reset_after = 2min};

}  // namespace

Discovery::Discovery(http::Loop& loop, Api& api, api::Decoder& decoder, Random& random)
    : loop_(loop), api_(api), decoder_(decoder), random_(random) {}

Discovery::~Discovery() {
  for (const auto& [name, group] : groups_) {
    loop_.Cancel(group->timer);
    if (group->call != 0) api_.Cancel(group->call);
  }
}

void Discovery::Follow(const Resource& resource, Found found) {
  auto& group = groups_[std::string(resource.group)];
  if (group == nullptr) {
    group.reset(new Group{.name = std::string(resource.group), .backoff = Backoff(kGroupBackoff)});
    // Posted, so that all resources of the group are registered before the request.
    loop_.Post([this, alive = std::weak_ptr(alive_), name = group->name] {
      if (alive.expired()) return;
      if (const auto it = groups_.find(name); it != groups_.end()) Begin(*it->second);
    });
  }
  group->subscriptions.push_back({&resource, std::move(found)});
}

void Discovery::Recheck(std::string_view name) {
  const auto it = groups_.find(name);
  if (it == groups_.end() || it->second->going || it->second->rechecks) return;
  it->second->rechecks = true;  // further absent resources of the group must not postpone it
  Again(*it->second, it->second->backoff.Next(loop_.Now(), random_));
}

void Discovery::Begin(Group& group) {
  loop_.Cancel(std::exchange(group.timer, http::Loop::TimerId::kNone));
  group.going = true;
  group.rechecks = false;
  group.known.clear();
  group.pending_versions.clear();
  for (const Subscription& subscription : group.subscriptions) {
    for (const std::string_view version : subscription.resource->versions) {
      if (version.empty()) continue;
      if (std::ranges::find(group.pending_versions, version) != group.pending_versions.end()) continue;
      group.pending_versions.emplace_back(version);
    }
  }
  RequestNext(group);
}

void Discovery::RequestNext(Group& group) {
  const bool all_found = std::ranges::all_of(group.subscriptions, [&](const Subscription& subscription) {
    return std::ranges::any_of(group.known, [&](const auto& version) {
      return std::ranges::find(version.second, subscription.resource->plural) != version.second.end();
    });
  });
  if (group.pending_versions.empty() || all_found) return Conclude(group);
  const std::string version = group.pending_versions.front();
  group.call =
      api_.Send({.path = Resource::GroupPath(group.name, version)}, [this, &group, version](Reply reply) {
        group.call = 0;
        if (!reply && reply.error().code != ErrorCode::kNotFound) {
          // An unreachable server is reported once for all resources (outage_log.hpp).
          if (!reply.error().not_sent() || log::V(2)) {
            log::Warning("Failed to discover the API server's resources",
                         {{"group", group.name}, {"version", version}, {"err", reply.error().message}});
          }
          return Again(group, group.backoff.Next(loop_.Now(), random_));
        }
        if (reply) {
          auto names = decoder_.ResourceNames(*reply);
          if (!names) {
            log::Warning("Failed to parse the API server's list of resources",
                         {{"group", group.name}, {"version", version}, {"err", names.error().message}});
            return Again(group, group.backoff.Next(loop_.Now(), random_));
          }
          group.known[version] = std::move(*names);
        }
        group.pending_versions.erase(group.pending_versions.begin());
        RequestNext(group);
      });
}

void Discovery::Conclude(Group& group) {
  group.going = false;
  std::optional<Duration> retry;
  for (Subscription& subscription : group.subscriptions) {
    std::optional<std::string> path;
    for (const std::string_view version : subscription.resource->versions) {
      const auto known = group.known.find(std::string(version));
      if (known == group.known.end() ||
          std::ranges::find(known->second, subscription.resource->plural) == known->second.end()) {
        continue;
      }
      path = Resource::GroupPath(group.name, version) + "/" + std::string(subscription.resource->plural);
      break;
    }
    if (!path) retry = subscription.resource->on_request ? kOnRequestRetryInterval : kAbsentRetryInterval;
    // A response without the resource may come from a server in the middle of an upgrade; a known path is
    // kept.
    if (subscription.notified && (path == subscription.path || !path)) continue;
    if (!path) {
      log::Info("The API server does not have this resource; checking again later",
                {{"group", group.name}, {"resource", subscription.resource->plural}});
    }
    subscription.notified = true;
    subscription.path = path;
    subscription.found(path);
  }
  if (retry) Again(group, *retry);
}

void Discovery::Again(Group& group, Duration delay) {
  loop_.Cancel(group.timer);
  group.going = false;
  group.timer = loop_.After(delay, [this, &group] {
    group.timer = http::Loop::TimerId::kNone;
    Begin(group);
  });
}

}  // namespace berth::client
