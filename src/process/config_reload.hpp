// Reloads the configuration of a running scheduler: a changed file, or SIGHUP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "command_line/flag_set.hpp"
#include "config/scheduler_config.hpp"
#include "observability/metrics/registry.hpp"
#include "process/reload_report.hpp"
#include "process/scheduler_flags.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// The fields that differ and that a running scheduler cannot change, as "leaderElection.leaseDuration".
std::vector<std::string> FieldsThatNeedARestart(const config::SchedulerConfig& before,
                                                const config::SchedulerConfig& after);

// A reload reads and validates the file as the start does, on a thread of its own; builds the new profiles on
// an empty cluster first; evaluates the last decisions with them (evaluation::ConfigPreview), and refuses a
// change of more decisions than --berth-reload-limit permits; builds the profiles on the present cluster; and
// replaces the old ones between two decisions. It takes effect as a whole or not at all: the configuration in
// use is always that of one file. Leaders and standbys reload.
class ConfigReload {
 public:
  // Everything must outlive this object, and the engine everything that changes its objects.
  struct Parts {
    const SchedulerFlags& flags;
    const command_line::FlagSet& table;
    const config::SchedulerConfig& started_with;
    const runtime::Registry& plugins;
    cycle::ClusterLoop& loop;
    cycle::Scheduler& scheduler;
    assembly::Engine& engine;
    const Clock& clock;
    metrics::Registry& metrics;
    assembly::ExtenderAccess extenders;
    // Called on the loop's thread with the configuration that is in use from now on.
    std::function<void(const config::SchedulerConfig&)> on_replaced;
  };
  // Starts watching if --berth-config-reload is set.
  explicit ConfigReload(Parts parts);
  ~ConfigReload();  // as Cancel
  ConfigReload(const ConfigReload&) = delete;
  ConfigReload& operator=(const ConfigReload&) = delete;

  // Ends the reload in progress, and waits for the threads of this object. What they have posted to the loop
  // may remain there, with the TakeReport of the request. Later requests have no effect. Not while the loop
  // runs on another thread.
  void Cancel();

  // --- any thread ---

  // Returns a function for any thread: reads the file again soon, also if no change was noticed. It has no
  // effect after the end of this object.
  std::function<void()> Requester() const;

  enum class Action : std::uint8_t {
    kReload,
    kPreview,   // all but the replacement
    kRollBack,  // uses the file again that was in use before, without a preview and without a limit
  };
  // Called on one of the threads of this object or of the loop; must not block. If the loop ends or Cancel is
  // called first, it is destroyed without a call.
  using TakeReport = std::move_only_function<void(const ReloadReport&)>;
  // Returns false, and ignores the request, if another one is in progress.
  bool Request(Action action, TakeReport take);

  // The content of /configz: the configuration in use. With a watched file, or after the first reload, also
  // the hash of its file and the time of the last successful reload.
  std::string Configz() const;
  // The schema Configuration of the API.
  std::string StateJson() const;

 private:
  struct State;

  const std::shared_ptr<State> state_;
  std::thread watcher_;
};

}  // namespace berth::process
