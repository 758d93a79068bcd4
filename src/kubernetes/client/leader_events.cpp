#include "kubernetes/client/leader_events.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/lease_record.hpp"
#include "observability/log/log.hpp"

namespace berth::client {

LeaderEvent MakeLeaderEvent(const Lease& lease, std::string_view ns, std::string_view name,
                            std::string_view component, std::string_view message, WallTime time) {
  LeaderEvent event{.path = fmt::format("/api/v1/namespaces/{}/events", ns), .body = {}};
  JsonObject root(event.body);
  root.Add("kind", "Event").Add("apiVersion", "v1");
  JsonObject(root.Key("metadata"))
      .Add("name", fmt::format("{}.{:x}", name, time.time_since_epoch().count()))
      .Add("namespace", ns);
  JsonObject(root.Key("involvedObject"))
      .Add("kind", "Lease")
      .Add("namespace", ns)
      .Add("name", name)
      .Add("uid", lease.uid())
      .Add("apiVersion", "coordination.k8s.io/v1")
      .Add("resourceVersion", lease.resource_version());
  root.Add("reason", "LeaderElection").Add("message", message);
  JsonObject(root.Key("source")).Add("component", component);
  root.Add("firstTimestamp", FormatTime(time)).Add("lastTimestamp", FormatTime(time));
  root.AddRaw("count", "1").Add("type", "Normal");
  root.Add("reportingComponent", component).Add("reportingInstance", "");
  root.Close();
  return event;
}

void SendLeaderEvent(Api& api, LeaderEvent event, std::move_only_function<void()> ended) {
  api.Send({.method = "POST", .path = std::move(event.path), .body = std::move(event.body)},
           [ended = std::move(ended)](Reply reply) mutable {
             if (const auto log = log::V(2); log && !reply)
               log.Info("Server rejected event (will not retry!)", {{"err", reply.error().message}});
             ended();
           });
}

}  // namespace berth::client
