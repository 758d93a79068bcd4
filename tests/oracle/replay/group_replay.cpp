// Schedules pod groups on changing clusters with a complete scheduler, with the equivalence cache enabled.
//
//   group_replay FILE.ndjson.zst    a recording: prints differences; exit code 1 if there are any
//   group_replay -                  scenarios on stdin, one per line; prints a list of results for each
//
// A step changes objects, and then the scheduler works until no entry of its queue is active, for at most 12
// cycles. The result of a step are all writes and events, and the state of the queue.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/json_text.hpp"
#include "kubernetes/client/status_patch.hpp"
#include "live_cluster.hpp"
#include "recording.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/cycle/services_proxy.hpp"
#include "step_replay.hpp"
#include "testing/fakes.hpp"

namespace berth::replay {
namespace {

using simdjson::dom::element;

// Of a step: a group with a member whose binding fails is retried at once.
constexpr std::size_t kMostCycles = 12;

cycle::SchedulerOptions OptionsOf(element from) {
  cycle::SchedulerOptions options;
  options.algorithm.tie_break = algorithm::TieBreak::kFirstByName;
  if (Flag(from, "uncached")) options.algorithm.equivalence_cache_bytes = 0;
  return options;
}

// Does one unit of work when it is allowed to. The clock advances before each cycle, because entries with
// equal times would be scheduled in any order.
class OneCycle final : public cycle::ClusterLoop::Handler {
 public:
  OneCycle(cycle::Scheduler& scheduler, ManualClock& clock) : scheduler_(scheduler), clock_(clock) {}
  void Allow() { allowed_ = true; }
  void OnChange(ports::ClusterChange& change) override { scheduler_.OnChange(change); }
  void OnSynced() override { scheduler_.OnSynced(); }
  bool DoWork() override {
    if (!std::exchange(allowed_, false)) return false;
    const queue::QueueSizes sizes = scheduler_.queue().sizes();
    if (sizes.active + sizes.backoff > 0) clock_.Advance(std::chrono::milliseconds(1));
    return scheduler_.DoWork();
  }
  MonoTime NextDue() const override { return scheduler_.NextDue(); }

 private:
  cycle::Scheduler& scheduler_;
  ManualClock& clock_;
  bool allowed_ = false;
};

// Accepts all writes except those of volumes: no controller would bind them. RefuseVolumes() answers them,
// after the writes of devices that began with them, because the failure would stop these. `on_nominated` is
// called for a patch of a nomination and no condition, as each before a binding is; `on_claim` for a change
// of a claim; it returns the new resource version.
class Writer final : public ports::ApiWriter {
 public:
  Writer(std::function<void(const ports::PodStatusPatch&)> on_nominated,
         std::function<std::string(const ports::ClaimChange&)> on_claim)
      : on_nominated_(std::move(on_nominated)), on_claim_(std::move(on_claim)) {}
  void Bind(ports::Binding binding, ports::WriteDone done) override {
    fake.Bind(std::move(binding), std::move(done));
  }
  void PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) override {
    if (ChangesNominationOnly(patch)) on_nominated_(patch);
    fake.PatchPodStatus(std::move(patch), std::move(done));
  }
  void PatchPodGroupStatus(ports::PodGroupStatusPatch patch, ports::WriteDone done) override {
    fake.PatchPodGroupStatus(std::move(patch), std::move(done));
  }
  void DeletePod(ports::PodDeletion deletion, ports::WriteDone done) override {
    fake.DeletePod(std::move(deletion), std::move(done));
  }
  void ClaimVolume(ports::VolumeClaimed, ports::VersionDone done) override {
    refused_.push_back(std::move(done));
  }
  void SelectNode(ports::NodeSelected, ports::VersionDone done) override {
    refused_.push_back(std::move(done));
  }
  void ChangeClaim(ports::ClaimChange change, ports::VersionDone done) override { done(on_claim_(change)); }
  void CreateClaim(ports::NewClaim, ports::ClaimDone done) override { done(Refusal()); }
  void DeleteClaim(ports::ClaimDeletion, ports::WriteDone done) override { done(Refusal()); }

  // Returns whether there were any.
  bool RefuseVolumes() {
    std::vector<ports::VersionDone> refused = std::exchange(refused_, {});
    for (ports::VersionDone& done : refused) done(Refusal());
    return !refused.empty();
  }

  testing::FakeApiWriter fake;

 private:
  static bool ChangesNominationOnly(const ports::PodStatusPatch& patch) {
    if (!patch.nomination || patch.nomination->empty()) return false;
    const std::string body = client::StatusPatchBody(patch, WallTime{});
    return !body.empty() && !body.contains(R"("conditions")");
  }
  static std::unexpected<Error> Refusal() { return Fail(ErrorCode::kInternal, "the test refuses the write"); }

  const std::function<void(const ports::PodStatusPatch&)> on_nominated_;
  const std::function<std::string(const ports::ClaimChange&)> on_claim_;
  std::vector<ports::VersionDone> refused_;
};

class Scenario {
 public:
  explicit Scenario(element from)
      : cluster_(Text(from, "config"), Text(from, "gates"), R"({"apiVersion":"v1","kind":"List","items":[]})",
                 {writer_, events_, loop_, services_}),
        scheduler_(OptionsOf(from),
                   {loop_, services_, cluster_.engine().handle(), cluster_.engine().cache(),
                    cluster_.engine().profiles(), clock_, metrics_, cluster_.engine().shared_extenders(),
                    fence_, tracer_, [](std::size_t) { return true; }}) {
    loop_.sink().OnSynced();
    Settle();
  }

  // Returns the result of the step.
  std::string Run(element step) {
    std::int64_t milliseconds = 0;
    if (step["advance"].get(milliseconds) == simdjson::SUCCESS)
      clock_.Advance(std::chrono::milliseconds(milliseconds));
    if (Flag(step, "deliver")) Deliver();
    simdjson::dom::array changes;
    if (step["changes"].get(changes) == simdjson::SUCCESS) {
      for (const element change : changes) Change(change);
    }
    Settle();
    return Result();
  }

 private:
  // The written state of an object, until the watch delivers it.
  struct Written {
    std::string node;
    std::vector<std::string> patches;  // bodies
    bool deleted = false;              // first the pod is terminating, and the next delivery removes it
  };

  void Settle() {
    bool worked = true;
    for (std::size_t cycles = 0; worked && cycles < kMostCycles; ++cycles) {
      // A cycle begins when the bindings of the last one have ended.
      EndCycle();
      handler_.Allow();
      worked = loop_.RunOnce(handler_);
    }
    EndCycle();
  }

  // Its bindings and evictions end, and then the watch delivers the claims that it has written. A claim that
  // is as before the cycle is no result.
  void EndCycle() {
    do {
      RunLoop();
    } while (writer_.RefuseVolumes());
    for (const auto& [key, after] : std::exchange(written_claims_, {})) {
      const auto before = cluster_.Find<api::ResourceClaim>(key);
      if (std::string text = TextOf(*after); text != TextOf(*before)) claims_[key] = std::move(text);
      loop_.sink().On(
          std::get<ports::Change<api::ResourceClaim>>(cluster_.Update<api::ResourceClaim>(after)));
    }
    RunLoop();
  }
  void RunLoop() {
    while (loop_.RunOnce(handler_)) {
    }
  }

  // The watch delivers it at once: before a binding that it announces ends.
  void DeliverNomination(const ports::PodStatusPatch& patch) {
    const api::PodPtr before = cluster_.Find<api::Pod>(patch.ns + "/" + patch.name);
    if (before == nullptr) return;
    auto after = std::make_shared<api::Pod>(*before);
    after->status.nominated_node_name = *patch.nomination;
    after->metadata.resource_version = NextVersion();
    loop_.sink().On(std::get<ports::Change<api::Pod>>(cluster_.Update<api::Pod>(after)));
  }

  // Applies the change. Returns the new version.
  std::string ChangeClaim(const ports::ClaimChange& change) {
    const std::string key = change.ns + "/" + change.name;
    std::shared_ptr<const api::ResourceClaim>& written = written_claims_[key];
    if (written == nullptr) written = cluster_.Find<api::ResourceClaim>(key);
    if (written == nullptr) throw std::runtime_error("no claim " + key);
    const auto after = std::make_shared<api::ResourceClaim>(*written);
    std::visit([&](const auto& kind) { ApplyTo(*after, kind); }, change.change);
    after->metadata.resource_version = NextVersion();
    written = after;
    return after->metadata.resource_version;
  }
  static void ApplyTo(api::ResourceClaim& claim, const ports::ClaimChange::SetFinalizers& change) {
    claim.finalizers = change.finalizers;
  }
  static void ApplyTo(api::ResourceClaim& claim, const ports::ClaimChange::Reserve& change) {
    if (change.allocation != nullptr) claim.allocation = *change.allocation;
    // As if the scheduler had seen all earlier writes.
    for (const auto& consumer : change.consumers) {
      if (std::ranges::find(claim.reserved_for, consumer) == claim.reserved_for.end())
        claim.reserved_for.push_back(consumer);
    }
  }
  static void ApplyTo(api::ResourceClaim& claim, const ports::ClaimChange::Deallocate&) {
    claim.allocation = {};
    claim.reserved_for.clear();
    claim.device_statuses.clear();
  }
  static void ApplyTo(api::ResourceClaim& claim, const ports::ClaimChange::Release& change) {
    std::erase_if(claim.reserved_for,
                  [&](const auto& consumer) { return consumer.uid == change.consumer_uid; });
  }

  // The devices and the consumers.
  static std::string TextOf(const api::ResourceClaim& claim) {
    if (!claim.allocation) return "not allocated";
    std::vector<std::string> devices, consumers;
    for (const auto& device : claim.allocation->devices)
      devices.push_back(
          fmt::format("{}={}/{}/{}", device.request, device.driver, device.pool, device.device));
    for (const auto& consumer : claim.reserved_for)
      consumers.push_back(
          fmt::format("{} {}/{} {}", consumer.api_group, consumer.resource, consumer.name, consumer.uid));
    std::ranges::sort(consumers);
    return fmt::format("{} for {}", fmt::join(devices, ", "), fmt::join(consumers, ", "));
  }

  // No two changes have the same time.
  void Apply(ports::ClusterChange change) {
    clock_.Advance(std::chrono::milliseconds(1));
    scheduler_.OnChange(change);
  }

  void Change(element from) {
    element object;
    std::optional<std::string> json;
    if (from["object"].get(object) == simdjson::SUCCESS) json = simdjson::minify(object);
    const std::string kind = Text(from, "kind");
    const std::string key = Text(from, "key");
    if (kind == "Pod") pods_.erase(key);
    if (kind == "PodGroup") groups_.erase(key);
    if (kind == "Pod" && IsOutdated(cluster_.Find<api::Pod>(key).get(), json)) return;
    Apply(cluster_.Replace(kind, key, json));
  }

  // Returns whether a change does not apply: the scheduler has evicted the pod that it deletes, or bound the
  // one that it updates.
  static bool IsOutdated(const api::Pod* current, const std::optional<std::string>& json) {
    if (!json) return current == nullptr;
    if (current == nullptr || current->spec.node_name.empty()) return false;
    simdjson::dom::parser parser;
    std::string_view node;
    return parser.parse(*json)["spec"]["nodeName"].get(node) != simdjson::SUCCESS || node.empty();
  }

  // The watch delivers the objects that were written.
  void Deliver() {
    for (const auto& [key, written] : std::exchange(pods_, {})) {
      const api::PodPtr before = cluster_.Find<api::Pod>(key);
      if (before == nullptr) continue;
      if (written.deleted && before->metadata.deleting()) {
        Apply(cluster_.Replace("Pod", key, std::nullopt));
        continue;
      }
      auto after = std::make_shared<api::Pod>(*before);
      for (const std::string& body : written.patches) Merge(body, *after);
      if (written.deleted) {
        after->metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
        pods_[key].deleted = true;
      }
      if (!written.node.empty()) after->spec.node_name = written.node;
      after->metadata.resource_version = NextVersion();
      Apply(cluster_.Update<api::Pod>(after));
    }
    for (const auto& [key, bodies] : std::exchange(groups_, {})) {
      const api::PodGroupPtr before = cluster_.Find<api::PodGroup>(key);
      if (before == nullptr) continue;
      auto after = std::make_shared<api::PodGroup>(*before);
      for (const std::string& body : bodies) Merge(body, *after);
      after->metadata.resource_version = NextVersion();
      Apply(cluster_.Update<api::PodGroup>(after));
    }
  }

  // As the API server: a patch contains only what differs from the version that the scheduler has seen. What
  // an earlier patch has changed meanwhile stays.
  static void Merge(const std::string& body, api::Pod& pod) {
    simdjson::dom::parser parser;
    const element status = parser.parse(body)["status"];
    std::vector<api::PodCondition> conditions = pod.status.conditions;
    MergeConditions(status, conditions);
    pod.status.conditions = std::move(conditions);
    MergeText(status, "nominatedNodeName",
              [&](std::string text) { pod.status.nominated_node_name = std::move(text); });
  }

  static void Merge(const std::string& body, api::PodGroup& group) {
    simdjson::dom::parser parser;
    MergeConditions(parser.parse(body)["status"], group.conditions);
  }

  template <class Condition>
  static void MergeConditions(element status, std::vector<Condition>& conditions) {
    simdjson::dom::array changed;
    if (status["conditions"].get(changed) != simdjson::SUCCESS) return;
    for (const element from : changed) {
      const std::string type = Text(from, "type");
      auto condition = std::ranges::find(conditions, type, &Condition::type);
      if (condition == conditions.end()) {
        conditions.emplace_back().type = type;
        condition = std::prev(conditions.end());
      }
      MergeCondition(from, *condition);
    }
  }

  template <class Condition>
  static void MergeCondition(element from, Condition& into) {
    MergeText(from, "status", [&](std::string text) { into.status = std::move(text); });
    MergeText(from, "reason", [&](std::string text) { into.reason = std::move(text); });
    MergeText(from, "message", [&](std::string text) { into.message = std::move(text); });
    std::int64_t generation = 0;
    if (from["observedGeneration"].get(generation) == simdjson::SUCCESS)
      into.observed_generation = generation;
  }

  // Null removes a member.
  template <class Set>
  static void MergeText(element from, std::string_view key, Set&& set) {
    element member;
    if (from[key].get(member) == simdjson::SUCCESS) set(member.is_null() ? "" : Text(from, key));
  }

  std::string NextVersion() { return std::to_string(2'000'000 + ++deliveries_); }

  // Everything that the scheduler has written since the last step, and the places of all pods that are not
  // bound.
  std::string Result() {
    std::string out;
    JsonObject result(out);
    std::vector<std::string> bound;
    for (const ports::Binding& binding : std::exchange(api_.bindings, {})) {
      const std::string key = binding.ns + "/" + binding.name;
      bound.push_back(fmt::format("{} {}", key, binding.node));
      pods_[key].node = binding.node;
    }
    std::ranges::sort(bound);
    result.AddUnlessEmpty("bound", bound);
    std::vector<std::string> deleted;
    for (const ports::PodDeletion& deletion : std::exchange(api_.deletions, {})) {
      deleted.push_back(deletion.ns + "/" + deletion.name);
      pods_[deleted.back()].deleted = true;
    }
    std::ranges::sort(deleted);
    result.AddUnlessEmpty("deleted", deleted);
    AddPatches(result);
    AddEvents(result);
    AddClaims(result);
    std::vector<std::string> waiting;
    services_.ForEachWaitingPod([&](framework::WaitingPod& pod) {
      waiting.push_back(fmt::format("{} {}", pod.pod().key, pod.node()));
    });
    std::ranges::sort(waiting);
    result.AddUnlessEmpty("waiting", waiting);
    AddQueue(result);
    result.Close();
    return out;
  }

  void AddPatches(JsonObject& result) {
    std::map<std::string, std::string> bodies;  // a list by kind and key
    const auto add = [&](const std::string& key, const std::string& body) {
      if (body.empty()) return false;
      std::string& list = bodies[key];
      list += list.empty() ? "[" : ",";
      list += body;
      return true;
    };
    for (const ports::PodStatusPatch& patch : std::exchange(api_.patches, {})) {
      const std::string key = patch.ns + "/" + patch.name;
      const std::string body = client::StatusPatchBody(patch, WallTime{});
      if (add("Pod " + key, body)) pods_[key].patches.push_back(body);
    }
    for (const ports::PodGroupStatusPatch& patch : std::exchange(api_.group_patches, {})) {
      const std::string key = patch.current->metadata.Key();
      const std::string body = client::StatusPatchBody(patch, WallTime{});
      if (add("PodGroup " + key, body)) groups_[key].push_back(body);
    }
    AddMap(result, "patches", bodies);
  }

  void AddEvents(JsonObject& result) {
    std::map<std::string, std::string> notes;
    for (const ports::Event& event : std::exchange(events_.events, {})) {
      if (event.reason == "OvercommittedNode") continue;  // Berth's own
      std::string& list = notes[event.regarding->metadata.Key()];
      list += list.empty() ? "[" : ",";
      AppendJsonString(list,
                       fmt::format("{} {} {}: {}", event.controller, event.reason, event.action, event.note));
    }
    AddMap(result, "events", notes);
  }

  void AddClaims(JsonObject& result) {
    if (claims_.empty()) return;
    JsonObject claims(result.Key("claims"));
    for (const auto& [key, text] : std::exchange(claims_, {})) claims.Add(key, text);
  }

  void AddQueue(JsonObject& result) {
    std::map<std::string, std::string> places;
    scheduler_.queue().ForEach(
        [&](const framework::QueuedPod& pod, std::string_view place) { places[pod.info.key] = place; });
    if (places.empty()) return;
    JsonObject queue(result.Key("queue"));
    for (const auto& [key, place] : places) queue.Add(key, place);
  }

  static void AddMap(JsonObject& result, std::string_view key,
                     const std::map<std::string, std::string>& lists) {
    if (lists.empty()) return;
    JsonObject object(result.Key(key));
    for (const auto& [name, list] : lists) object.AddRaw(name, list + "]");
  }

  ManualClock clock_;
  const LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  tracing::NoTracer tracer_;
  metrics::Registry metrics_;
  Writer writer_{[this](const ports::PodStatusPatch& patch) { DeliverNomination(patch); },
                 [this](const ports::ClaimChange& change) { return ChangeClaim(change); }};
  testing::FakeApiWriter& api_ = writer_.fake;
  testing::FakeEventSink events_;
  cycle::ClusterLoop loop_{clock_};
  cycle::ServicesProxy services_;
  LiveCluster cluster_;
  cycle::Scheduler scheduler_;
  OneCycle handler_{scheduler_, clock_};
  std::map<std::string, Written> pods_;                     // by key
  std::map<std::string, std::vector<std::string>> groups_;  // bodies of patches, by key
  std::map<std::string, std::string> claims_;               // texts of those that were written, by key
  // Claims that this cycle has written, by key.
  std::map<std::string, std::shared_ptr<const api::ResourceClaim>> written_claims_;
  int deliveries_ = 0;
};

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  return berth::replay::StepReplay<berth::replay::Scenario>({"group_replay", "scenarios", "steps", "result"})
      .Main(argc, argv);
}
