#include "sandbox/nodes/kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sandbox/nodes/node_pool.hpp"

namespace berth::sandbox {
namespace {

// Positions in Object::fields of a pod.
constexpr std::size_t kNodeName = 0;
constexpr std::size_t kPhase = 5;
// Heartbeats are spread: this often some nodes have their turn.
constexpr std::chrono::milliseconds kBeat{100};

Place PlaceOf(const std::string& pod_key) {
  const auto slash = pod_key.find('/');
  return {Known().pods, pod_key.substr(0, slash), pod_key.substr(slash + 1)};
}

void SetConditions(json::object& status, std::initializer_list<std::pair<std::string_view, bool>> changes,
                   const std::string& time, std::string_view reason = {}) {
  auto& conditions = ArrayAt(status, "conditions");
  for (const auto& [type, value] : changes) {
    json::object condition{
        {"type", type}, {"status", value ? "True" : "False"}, {"lastTransitionTime", time}};
    if (!value && !reason.empty()) condition["reason"] = reason;
    const auto existing = std::ranges::find_if(conditions, [&](const json::value& c) {
      return c.is_object() && FindString(c.get_object(), "type") == type;
    });
    if (existing != conditions.end())
      *existing = std::move(condition);
    else
      conditions.push_back(std::move(condition));
  }
}

json::array ContainerStatuses(const json::object& spec, std::string_view list, const json::object& state,
                              bool ready) {
  json::array statuses;
  const json::array* containers = FindArray(spec, list);
  for (const auto& container : containers != nullptr ? *containers : json::array()) {
    if (!container.is_object()) continue;
    const auto& c = container.get_object();
    statuses.push_back(json::object{{"name", FindString(c, "name")},
                                    {"image", FindString(c, "image")},
                                    {"imageID", FindString(c, "image")},
                                    {"containerID", "simulated://0"},
                                    {"ready", ready},
                                    {"started", ready},
                                    {"restartCount", 0},
                                    {"state", state},
                                    {"lastState", json::object()}});
  }
  return statuses;
}

json::object Terminated(std::string_view started, std::string_view finished) {
  return {{"terminated", json::object{{"exitCode", 0},
                                      {"reason", "Completed"},
                                      {"startedAt", started},
                                      {"finishedAt", finished},
                                      {"containerID", "simulated://0"}}}};
}

}  // namespace

Kubelet::Kubelet(Verbs& verbs, Agenda& agenda, const KubeletOptions& options)
    : verbs_(verbs), agenda_(agenda), options_(options) {
  verbs_.store().Observe(*this);
  if (options_.lease_every > Duration::zero()) agenda_.After(kBeat, [this] { Beat(true); });
}

// --- pods
// -------------------------------------------------------------------------------------------------------

void Kubelet::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().pods) OnPod(change);
  if (&type == &Known().nodes) OnNode(change);
}

void Kubelet::OnPod(const Change& change) {
  const ObjectPtr& pod = change.after;
  if (!pod || pod->fields[kNodeName].empty()) return;
  const bool was_bound = change.before && !change.before->fields[kNodeName].empty();
  const bool was_deleting = change.before && change.before->deleting;
  if (!was_bound && pod->fields[kPhase] == "Pending") {
    agenda_.After(options_.pod_start, [this, key = pod->key, uid = pod->uid] { Start(key, uid); });
  }
  if (pod->deleting && !was_deleting) {
    agenda_.After(options_.pod_stop, [this, key = pod->key, uid = pod->uid] { Finish(key, uid); });
  }
}

void Kubelet::Start(const std::string& key, const std::string& uid) {
  const ObjectPtr pod = verbs_.store().Get(Known().pods, key);
  if (!pod || pod->uid != uid || pod->deleting || pod->fields[kPhase] != "Pending") return;
  const std::string& node_name = pod->fields[kNodeName];
  const ObjectPtr node = verbs_.store().Get(Known().nodes, node_name);
  if (!node) return;
  std::optional<Duration> runs_for;
  verbs_.Rewrite(PlaceOf(key), uid, [&](json::object& document) {
    const std::string now = FormatTime(verbs_.clock().WallNow());
    const std::string ip = NextPodIp(node_name);
    const json::object empty;
    const json::object& spec =
        FindObject(document, "spec") != nullptr ? *FindObject(document, "spec") : empty;
    if (const json::object* annotations = FindObject(document, "metadata.annotations")) {
      const json::value* text = Find(*annotations, kRunFor);
      if (text != nullptr && text->is_string()) runs_for = ParseGoDuration(text->get_string());
    }
    const json::object running{{"running", json::object{{"startedAt", now}}}};
    const json::array containers = ContainerStatuses(spec, "containers", running, true);
    const json::array init = ContainerStatuses(spec, "initContainers", Terminated(now, now), true);
    json::object& status = ObjectAt(document, "status");
    status["phase"] = "Running";
    SetConditions(status,
                  {{"PodReadyToStartContainers", true},
                   {"Initialized", true},
                   {"Ready", true},
                   {"ContainersReady", true}},
                  now);
    const json::object pod_ip{{"ip", ip}};
    status["podIP"] = ip;
    status["podIPs"] = json::array{pod_ip};
    status["startTime"] = now;
    if (!init.empty()) status["initContainerStatuses"] = init;
    status["containerStatuses"] = containers;
  });
  if (runs_for) agenda_.After(*runs_for, [this, key, uid] { Complete(key, uid); });
}

void Kubelet::Complete(const std::string& key, const std::string& uid) {
  const ObjectPtr pod = verbs_.store().Get(Known().pods, key);
  if (!pod || pod->uid != uid || pod->fields[kPhase] != "Running") return;
  verbs_.Rewrite(PlaceOf(key), uid, [&](json::object& document) {
    const std::string now = FormatTime(verbs_.clock().WallNow());
    json::object& status = ObjectAt(document, "status");
    const std::string started(FindString(status, "startTime"));
    status["phase"] = "Succeeded";
    SetConditions(status, {{"Ready", false}, {"ContainersReady", false}}, now, "PodCompleted");
    const json::object spec =
        FindObject(document, "spec") != nullptr ? *FindObject(document, "spec") : json::object();
    status["containerStatuses"] = ContainerStatuses(spec, "containers", Terminated(started, now), false);
  });
}

// The containers have stopped: the deletion is confirmed the way a kubelet does it, with grace period 0.
void Kubelet::Finish(const std::string& key, const std::string& uid) {
  DeleteOptions options;
  options.grace_period_seconds = 0;
  options.uid = uid;
  (void)verbs_.Delete(PlaceOf(key), options);  // gone already, or another pod by now: just as well
}

std::string Kubelet::NextPodIp(const std::string& node) {
  const unsigned number = last_ip_[node]++;
  const std::size_t subnet = std::hash<std::string>()(node) % 65536;
  const ObjectPtr object = verbs_.store().Get(Known().nodes, node);
  const Document document = object->Parse();
  const auto cidr = FindString(document.root(), "spec.podCIDR");  // 10.a.b.0/24
  const auto last_dot = cidr.rfind('.');
  if (last_dot == std::string_view::npos) {
    return fmt::format("10.{}.{}.{}", subnet >> 8, subnet & 255, number % 254 + 1);
  }
  return fmt::format("{}.{}", cidr.substr(0, last_dot), number % 254 + 1);
}

// --- nodes
// ------------------------------------------------------------------------------------------------------

// A node made by hand gets what its kubelet would have reported.
void Kubelet::OnNode(const Change& change) {
  if (change.before || !change.after) return;
  const Document document = change.after->Parse();
  if (FindArray(document.root(), "status.conditions") != nullptr) return;
  agenda_.After(Duration::zero(), [this, name = change.after->name, uid = change.after->uid] {
    verbs_.Rewrite({Known().nodes, "", name}, uid, [&](json::object& node) {
      json::object& status = ObjectAt(node, "status");
      if (!status.contains("conditions")) status["conditions"] = HealthyConditions(verbs_.clock().WallNow());
    });
  });
}

// Every node once per lease interval, evenly spread over it.
void Kubelet::Beat(bool first) {
  const auto& nodes = verbs_.store().All(Known().nodes);
  const auto beats_per_round =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(options_.lease_every / kBeat), 1);
  owed_ += nodes.size();
  const std::size_t share = first ? 0 : owed_ / beats_per_round;
  owed_ %= beats_per_round;
  const std::uint64_t status_rounds =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(options_.status_every / options_.lease_every), 1);
  auto node = nodes.lower_bound(next_beat_);
  for (std::size_t i = 0; i < share && !nodes.empty(); ++i) {
    if (node == nodes.end()) {
      node = nodes.begin();
      ++rounds_;
    }
    const ObjectPtr current = (node++)->second;  // the write replaces it
    RenewLease(*current);
    if (rounds_ % status_rounds == status_rounds - 1) RefreshStatus(*current);
  }
  next_beat_ = node == nodes.end() ? "\x7f" : node->first;
  agenda_.After(kBeat, [this] { Beat(false); });
}

void Kubelet::RenewLease(const Object& node) {
  const Place place{Known().leases, "kube-node-lease", node.name};
  const WallTime now = verbs_.clock().WallNow();
  const ObjectPtr lease = verbs_.store().Get(place.type, place.key());
  if (!lease) {
    Document fresh;
    fresh.root() = NodeLease(node.name, node.uid, now);
    (void)verbs_.Create(place.type, place.ns,
                        std::move(fresh));  // fails only where there is no such namespace
    return;
  }
  verbs_.Rewrite(place, lease->uid, [&](json::object& document) {
    ObjectAt(document, "spec")["renewTime"] = FormatMicroTime(now);
  });
}

void Kubelet::RefreshStatus(const Object& node) {
  verbs_.Rewrite({Known().nodes, "", node.name}, node.uid, [&](json::object& document) {
    const std::string now = FormatTime(verbs_.clock().WallNow());
    for (auto& condition : ArrayAt(ObjectAt(document, "status"), "conditions")) {
      if (condition.is_object()) condition.get_object()["lastHeartbeatTime"] = now;
    }
  });
}

std::optional<Duration> ParseGoDuration(std::string_view text) {
  if (text == "0") return Duration::zero();
  double total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    static constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                                                                     {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    const auto unit = std::ranges::find_if(kUnits, [&](const auto& u) { return text.starts_with(u.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    total += number * unit->second;
    text.remove_prefix(unit->first.size());
  }
  if (total > 1e18) return std::nullopt;
  return Duration(static_cast<std::int64_t>(total));
}

}  // namespace berth::sandbox
