// Reserves nodes for pod groups that have waited too long. Off by default.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/plugins/group_reservation/group_reservation_args.hpp"
#include "scheduler/plugins/group_reservation/reservation_line.hpp"
#include "scheduler/plugins/group_reservation/reservations.hpp"
#include "scheduler/plugins/loop_task.hpp"

namespace berth::plugins {

// The part of a gauge that counts the elements of one list: taken back when the list ends.
class SizeShare {
 public:
  SizeShare() = default;
  ~SizeShare() { Set(0); }
  SizeShare(const SizeShare&) = delete;
  SizeShare& operator=(const SizeShare&) = delete;

  // The gauge must outlive this object.
  void Use(metrics::Gauge& gauge) { gauge_ = &gauge; }
  void Set(std::size_t size) {
    if (gauge_ != nullptr) gauge_->Add(static_cast<std::int64_t>(size) - static_cast<std::int64_t>(size_));
    size_ = size;
  }

 private:
  metrics::Gauge* gauge_ = nullptr;  // null: no metrics are collected
  std::size_t size_ = 0;
};

// A group needs many nodes at the same time; pods that need one take every node as it becomes free. When a
// group has waited for waitSeconds, PodGroupPostFilter selects nodes on which it fits once pods of the same
// or lower priority there have ended, first those with the fewest such pods. Pods of DaemonSets and static
// pods do not end. Filter closes these nodes to other pods of the same or lower priority, except those of
// DaemonSets; nothing is evicted. The reservation ends when
// the group has its minimum of members on nodes, when it is deleted, or after reservationSeconds. Groups get
// reservations one after the other (ReservationLine). One that needs nodes which are reserved for others gets
// its nodes when those reservations have ended, and none behind it gets any before. Waiting times begin again
// when the scheduler restarts. A reload of the configuration keeps the reservations while the profile has the
// plugin; changed arguments apply to later ones.
class GroupReservation final : public framework::FilterPlugin,
                               public framework::PodGroupPostFilterPlugin,
                               public framework::PostBindPlugin,
                               public framework::SavedStatePlugin {
 public:
  // `profile`: the schedulerName.
  GroupReservation(const GroupReservationArgs& args, const std::string& profile, framework::Handle& handle);
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);

  std::string_view Name() const override { return "GroupReservation"; }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  // At most five searches for the whole group, once per waiting time and once after a reservation has ended.
  framework::GroupPostFilterResult PodGroupPostFilter(const framework::QueuedGroup& group,
                                                      framework::GroupPostFilterServices& services) override;
  void PostBind(const framework::Placement& placement) override;
  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;
  std::size_t SavedTimers() const override { return check_later_.due() ? 1 : 0; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // Shared with the instance that a reload replaces, and its identity in kPluginState events.
  struct State {
    Reservations reservations;
    ReservationLine line;
    TextMap<MonoTime> postponed;  // groups that get no reservation before this time
    SizeShare reported;
  };
  struct Saved {
    Reservations::Saved reservations;
    std::vector<ReservationLine::Saved> line;
    std::vector<std::pair<std::string, MonoTime>> postponed;
    std::optional<MonoTime> check_later;  // when it is due
    static void VisitFields(auto& self, auto&& visit) {
      visit("reservations", self.reservations);
      visit("line", self.line);
      visit("postponedTo", self.postponed);
      visit("checkLater", self.check_later);
    }
  };
  enum class End : std::uint8_t { kNone, kComplete, kDeleted, kExpired };
  static constexpr std::size_t kEnds = 3;

  bool HasWaited(const framework::QueuedGroup& group) const;
  bool IsNext(const framework::QueuedGroup& group);
  framework::Status Reserve(const framework::QueuedGroup& group,
                            framework::GroupPostFilterServices& services);
  void HandleNoNodes(const framework::QueuedGroup& group);
  void Keep(const framework::QueuedGroup& group,
            std::span<const framework::GroupPostFilterServices::Found> found);
  // For users: of the member that is scheduled first, and a line in the log.
  void Emit(const framework::QueuedGroup& group, ports::Event::Type type, const char* reason,
            std::string note);
  void Postpone(const std::string& key);
  void Report();
  End EndOf(const ReservedNodes& reservation) const;
  // kNone, kComplete or kDeleted.
  End EndOfWait(const std::string& key) const;
  void CheckEnds();
  void CheckPeriodically();

  const Duration wait_;
  const Duration duration_;
  const std::size_t most_;
  framework::Handle& handle_;
  const framework::ReasonId reason_;
  const std::shared_ptr<State> state_;
  const framework::BufferKey<Reservations::Rows> reserved_rows_;
  LoopTask check_now_{handle_.loop, [this] { CheckEnds(); }};
  LoopTask check_later_{handle_.loop, [this] { CheckPeriodically(); }};
  // Null: no metrics are collected.
  std::array<metrics::Counter*, kEnds> ended_{};
};

config::ArgsCodec GroupReservationArgsCodec();

}  // namespace berth::plugins
