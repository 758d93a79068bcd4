// State of plugins that does not follow from the objects of the cluster: measurements, histories, timers. A
// recording saves it in its snapshots, and a replay restores it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

// Of one plugin.
struct SavedState {
  std::string profile;  // schedulerName
  std::string plugin;
  std::string text;  // of StateEncoder

  static void VisitFields(auto& self, auto&& visit) {
    visit("profile", self.profile);
    visit("plugin", self.plugin);
    visit("text", self.text);
  }
};

// Returns the text of a copied state: UTF-8, usually JSON. Owns the copy. Called at most once, on any thread,
// possibly after the plugin was destroyed: it must not use the plugin.
using StateEncoder = std::move_only_function<std::string()>;

// Of one plugin, before it is encoded.
struct CopiedState {
  std::string profile;
  std::string plugin;
  StateEncoder encode;
};
// Any thread. Errors name the plugin; a text that is too long is one.
Expected<std::vector<SavedState>> Encode(std::vector<CopiedState> states);

// For plugins whose StateIsDerived returns false. A recording can take snapshots if every plugin either
// derives its state or implements this interface; otherwise it ends at its size limit.
//
// Only what influences decisions is saved. Nodes have the same rows (cluster::Row) when the state is
// restored; pods have their UIDs; ids of interned names differ.
class SavedStatePlugin : public virtual Plugin {
 public:
  // A longer text counts as an error.
  static constexpr std::size_t kMaxSavedBytes = 16U << 20;

  // Copies the state. Called between two units of work, when no attempt and no binding is in progress; must
  // take a few milliseconds at most, so what is slow belongs to the encoder. Equal states have equal texts,
  // because a replay compares them. An error says why the state cannot be saved; then the recording takes no
  // more snapshots.
  virtual Expected<StateEncoder> SaveState() = 0;
  // Called once, after the plugin has received the objects of the time of SaveState, at that time, and after
  // the queue was restored. Replaces the state. The text comes from a file and may have been changed: errors
  // name what is wrong. After an error the plugin is destroyed without further calls.
  virtual Expected<void> RestoreState(std::string_view text) = 0;
  // The number of waiting timers (LoopExecutor::PostAfter) that the state contains, and that RestoreState
  // sets again (LoopExecutor::PostAt). Other timers delay the snapshot.
  virtual std::size_t SavedTimers() const { return 0; }
};

}  // namespace berth::framework
