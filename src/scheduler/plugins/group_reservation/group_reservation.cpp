#include "scheduler/plugins/group_reservation/group_reservation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/json_fields.hpp"
#include "kubernetes/api/owners.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cluster/withdrawal.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin_state_change.hpp"
#include "scheduler/plugins/args_range.hpp"
#include "scheduler/plugins/encode_later.hpp"

namespace berth::plugins {

using cluster::NodeTable;
using cluster::PodGroups;
using cluster::Row;
using framework::Code;
using framework::GroupPostFilterResult;
using framework::GroupPostFilterServices;
using framework::QueuedGroup;
using framework::Status;

namespace {

constexpr std::int64_t kLongest = 7 * 24 * 3600;
constexpr std::int64_t kMost = 64;
constexpr Duration kCheckInterval = std::chrono::seconds(1);
// The queue retries what may be scheduled within five minutes. A group that is not tried, because its pods
// are gated or deleted, must not keep others from their reservations.
constexpr Duration kLongestBetweenAttempts = std::chrono::minutes(10);
constexpr framework::ClusterEvent kReservationEnd{framework::EventResource::kPluginState, framework::kUpdate,
                                                  "GroupReservationEnd"};

// A node with the pods that must end before the group can use it.
struct Occupied {
  Row row = cluster::kNoRow;
  std::vector<cluster::PlacedPod*> pods;
};

// The nodes with the fewest pods first: they are free soonest if all pods run equally long.
std::vector<Occupied> OccupiedNodes(const NodeTable& nodes, const PodGroups& groups,
                                    const QueuedGroup& group) {
  std::vector<Occupied> occupied;
  nodes.all().ForEach([&](std::size_t row) {
    Occupied node{static_cast<Row>(row), {}};
    for (cluster::PlacedPod* pod : nodes.pods(node.row)) {
      if (pod->pod->spec.priority <= group.priority && !api::ComesBack(pod->pod->metadata) &&
          groups.KeyOf(*pod->pod) != group.key)
        node.pods.push_back(pod);
    }
    if (!node.pods.empty()) occupied.push_back(std::move(node));
  });
  std::ranges::sort(occupied, [&](const Occupied& a, const Occupied& b) {
    if (a.pods.size() != b.pods.size()) return a.pods.size() < b.pods.size();
    return nodes.name(a.row) < nodes.name(b.row);
  });
  return occupied;
}

}  // namespace

GroupReservation::GroupReservation(const GroupReservationArgs& args, const std::string& profile,
                                   framework::Handle& handle)
    : wait_(std::chrono::seconds(args.wait_seconds)),
      duration_(std::chrono::seconds(args.reservation_seconds)),
      most_(static_cast<std::size_t>(args.max_reservations)),
      handle_(handle),
      reason_(handle.reasons.Intern("node(s) were reserved for a pod group")),
      state_(handle.Keep<State>(profile)),
      reserved_rows_(handle.NewBuffer<Reservations::Rows>()) {
  if (!state_->reservations.empty()) check_later_.PostAfter(kCheckInterval);
  if (handle.metrics == nullptr) return;
  state_->reported.Use(handle.metrics->Gauge(
      "berth_group_reservations", "[ALPHA] Pod groups for which GroupReservation reserves nodes."));
  static constexpr std::array<const char*, kEnds> kResults = {"complete", "deleted", "expired"};
  for (std::size_t i = 0; i < kResults.size(); ++i) {
    ended_[i] =
        &handle.metrics->Counter("berth_group_reservations_ended_total",
                                 "[ALPHA] Ended reservations of GroupReservation, by result: complete (the "
                                 "group has its minimum of members on nodes), deleted, expired.",
                                 {{"result", kResults[i]}});
  }
}

GroupPostFilterResult GroupReservation::PodGroupPostFilter(const QueuedGroup& group,
                                                           GroupPostFilterServices& services) {
  // The next plugin may find victims. Its text replaces those of earlier ones, so events report reservations.
  GroupPostFilterResult result{{Code::kUnschedulable, {}, {}}};
  if (!HasWaited(group) || !IsNext(group)) return result;
  const Status decided = Reserve(group, services);
  if (decided.code == Code::kError) result.status = decided;
  return result;
}

bool GroupReservation::HasWaited(const QueuedGroup& group) const {
  // Trees of composite groups get no reservations, nor do further members of a group that has its minimum on
  // nodes: their reservation would end at once.
  if (group.object->composite || state_->reservations.Find(group.key) != nullptr ||
      EndOfWait(group.key) != End::kNone || group.attempt_started - group.first_attempt_ready < wait_)
    return false;
  const auto postponed = state_->postponed.find(group.key);
  return postponed == state_->postponed.end() || postponed->second <= handle_.loop.Now();
}

bool GroupReservation::IsNext(const QueuedGroup& group) {
  const ReservationLine::Group& own =
      state_->line.Put(group.key, group.priority, group.first_attempt_ready, group.attempt_started);
  // While the reservations are the same, nothing more would be found.
  if (state_->reservations.size() >= most_ || own.tried == state_->reservations.version()) return false;
  state_->line.RemoveIf([&](const std::string& key, const ReservationLine::Group& other) {
    return EndOfWait(key) != End::kNone ||
           group.attempt_started - other.last_attempt > kLongestBetweenAttempts;
  });
  return state_->line.IsFirst(group.key);
}

// Each further step frees twice as many nodes: the nodes found are at most about twice as many pods away from
// being free as necessary, after a few searches.
Status GroupReservation::Reserve(const QueuedGroup& group, GroupPostFilterServices& services) {
  const std::vector<Occupied> occupied = OccupiedNodes(handle_.nodes, handle_.groups, group);
  NodeTable::Withdrawal withdrawal(services.table());
  Status status = Status::Unschedulable("");
  std::size_t next = 0;
  for (std::size_t count = std::max<std::size_t>(occupied.size() / 8, 1); next < occupied.size();
       count *= 2) {
    for (; next < std::min(count, occupied.size()); ++next) {
      for (cluster::PlacedPod* pod : occupied[next].pods) withdrawal.Remove(occupied[next].row, *pod);
    }
    status = services.Decide();
    if (status.ok()) Keep(group, services.found());
    if (status.ok() || status.code == Code::kError) return status;
  }
  HandleNoNodes(group);
  return status;
}

// Other reservations may be the reason. Then the group stays the first in the line.
void GroupReservation::HandleNoNodes(const QueuedGroup& group) {
  const std::vector<std::string> others = state_->reservations.GroupsBefore(group.priority);
  if (others.empty()) {
    Postpone(group.key);
    Emit(group, ports::Event::Type::kWarning, "NodesNotReserved",
         fmt::format("{} does not fit even without the pods of its priority and below", group.key));
    return;
  }
  state_->line.MarkTried(group.key, state_->reservations.version());
  Emit(group, ports::Event::Type::kNormal, "NodesNotReserved",
       fmt::format("{} is the next group for which nodes are reserved, when those of {} are open again",
                   group.key, fmt::join(others, ", ")));
}

void GroupReservation::Keep(const QueuedGroup& group, std::span<const GroupPostFilterServices::Found> found) {
  std::vector<Row> rows;
  for (const GroupPostFilterServices::Found& each : found) rows.push_back(each.row);
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  ReservedNodes reserved{
      .key = group.key, .priority = group.priority, .ends = handle_.loop.Now() + duration_, .nodes = {}};
  for (const Row row : rows) reserved.nodes.push_back(handle_.nodes.name_id(row));
  Emit(group, ports::Event::Type::kNormal, "NodesReserved",
       fmt::format("{} node(s) are reserved for {} until {}", rows.size(), group.key,
                   FormatTime(handle_.loop.WallNow() + duration_)));
  state_->line.Remove(group.key);
  state_->reservations.Add(std::move(reserved));
  Report();
  check_later_.PostAfter(kCheckInterval);
}

void GroupReservation::Emit(const QueuedGroup& group, ports::Event::Type type, const char* reason,
                            std::string note) {
  log::Info("Reservation for a pod group", {{"podGroup", group.key}, {"result", reason}, {"note", note}});
  const api::PodPtr& pod = group.leading_pod().info.pod;
  handle_.events.Emit({type, reason, "Scheduling", std::move(note), pod->spec.scheduler_name.str(), pod});
}

void GroupReservation::Filter(const framework::Attempt& attempt, const RowSet&,
                              framework::Rejections& out) const {
  if (state_->reservations.empty()) return;
  const api::Pod& pod = *attempt.pod().pod;
  if (api::IsOfDaemonSet(pod.metadata)) return;
  const auto key = handle_.groups.KeyOf(pod);
  RowSet& closed = out.Reject(reason_, attempt.nodes().rows());
  state_->reservations.AddRowsClosedTo(pod.spec.priority, key ? std::string_view(*key) : std::string_view(),
                                       attempt.nodes(), attempt.Buffer(reserved_rows_), closed);
  if (closed.Empty()) return out.DropLast();
  // Evictions would not open them.
  out.unresolvable() |= closed;
}

// --- the end of reservations ---

GroupReservation::End GroupReservation::EndOf(const ReservedNodes& reserved) const {
  const End end = EndOfWait(reserved.key);
  if (end != End::kNone) return end;
  return reserved.ends <= handle_.loop.Now() ? End::kExpired : End::kNone;
}

GroupReservation::End GroupReservation::EndOfWait(const std::string& key) const {
  const PodGroups::Group* group = handle_.groups.Find(key);
  if (group == nullptr || group->object == nullptr || group->members.empty()) return End::kDeleted;
  return std::cmp_less(group->scheduled, group->object->min_count()) ? End::kNone : End::kComplete;
}

void GroupReservation::CheckEnds() {
  const bool any = state_->reservations.RemoveIf([&](const ReservedNodes& reserved) {
    const End end = EndOf(reserved);
    if (end == End::kNone) return false;
    static constexpr std::array<std::string_view, kEnds> kTexts = {
        "the group has its minimum of members on nodes", "the group or its members were deleted",
        "it has expired"};
    const auto index = static_cast<std::size_t>(end) - 1;
    log::Info("A reservation for a pod group has ended",
              {{"podGroup", reserved.key}, {"reason", kTexts[index]}});
    if (ended_[index] != nullptr) ended_[index]->Add();
    if (end == End::kExpired) Postpone(reserved.key);
    return true;
  });
  if (!any) return;
  Report();
  handle_.scheduler.PublishEvent(kReservationEnd, framework::StateChangeOf(state_.get()));
}

// The group may be complete.
void GroupReservation::PostBind(const framework::Placement&) {
  if (!state_->reservations.empty()) check_now_.Post();
}

// Time passes, and groups are deleted.
void GroupReservation::CheckPeriodically() {
  CheckEnds();
  if (!state_->reservations.empty()) check_later_.PostAfter(kCheckInterval);
}

// Entries of deleted groups and those whose time has passed are removed, so there are at most as many as
// groups.
void GroupReservation::Postpone(const std::string& key) {
  const MonoTime now = handle_.loop.Now();
  state_->line.Remove(key);
  erase_if(state_->postponed, [&](const auto& entry) {
    return entry.second <= now || handle_.groups.Find(entry.first) == nullptr;
  });
  state_->postponed[key] = now + wait_;
}

void GroupReservation::Report() { state_->reported.Set(state_->reservations.size()); }

std::vector<framework::EventRegistration> GroupReservation::EventsToRegister() const {
  return {framework::WhenPluginStateChanges(state_.get())};
}

// --- recordings ---

Expected<framework::StateEncoder> GroupReservation::SaveState() {
  Saved saved{.reservations = state_->reservations.Save(handle_.nodes),
              .line = state_->line.Save(),
              .postponed = {state_->postponed.begin(), state_->postponed.end()},
              .check_later = check_later_.due()};
  std::ranges::sort(saved.postponed);
  return EncodeLater(std::move(saved));
}

Expected<void> GroupReservation::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  BERTH_RETURN_IF_ERROR(state_->reservations.Restore(saved.reservations, handle_.nodes));
  state_->line.Restore(saved.line);
  state_->postponed = {saved.postponed.begin(), saved.postponed.end()};
  if (saved.check_later) check_later_.PostAt(*saved.check_later);
  Report();
  return {};
}

// --- arguments ---

std::vector<std::string> GroupReservationArgs::Validate() const {
  std::vector<std::string> errors;
  CheckRange("waitSeconds", wait_seconds, 1, kLongest, errors);
  CheckRange("reservationSeconds", reservation_seconds, 1, kLongest, errors);
  CheckRange("maxReservations", max_reservations, 1, kMost, errors);
  return errors;
}

framework::PluginOrError GroupReservation::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const GroupReservationArgs args,
            framework::ParseArgs(raw, {}, framework::typed_args::Decode<GroupReservationArgs>,
                                 framework::typed_args::Check<GroupReservationArgs>));
  return std::make_unique<GroupReservation>(args, raw.scheduler_name, handle);
}

config::ArgsCodec GroupReservationArgsCodec() { return framework::TypedArgsCodec<GroupReservationArgs>(); }

}  // namespace berth::plugins
