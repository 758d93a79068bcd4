// Records what a scheduler's loop does and what it depends on, so that `berth replay` can repeat it.
//
// A recording is a sequence of lines of JSON (segments.hpp). The first one is the header (header.hpp); each
// further one is a step of the loop, in its order:
//   {"start":true}                              the scheduler was constructed
//   {"change":"Pod"}                            an object was created or updated; it is the next line
//   {"change":"Pod","deleted":"shop/web"}
//   {"change":"PodGroup","external":{...}}      what a group of another project has besides (inputs.hpp)
//   {"synced":true}                             all objects that existed at the start were delivered
//   {"run":"write","number":7,"result":null}    work after the result of the 7th write to the API server
//   {"run":"loop"}                              work that the loop posted to itself
//   {"run":"step"}                              the same: a step of a binding cycle after one that succeeded
//   {"run":"command","command":"lead"}
//   {"run":"measurement","result":{...}}        the result of a query for load measurements (inputs.hpp)
//   {"run":"blocking"}                          work of a plugin that blocks: cannot be replayed
//   {"timers":true}  {"work":true}              due timers; one unit of work, usually a decision
//   {"break":"why"}  {"lost":12}                what follows cannot be replayed; so many lines are missing
//   {"snapshot":true,"rows":[...],"free":[...]} ... {"state":{...}}  the objects and the state (below)
//   {"unsaved":true}    instead: the state of a plugin cannot be saved; cached results were dropped as at a
//                       snapshot
// The member "t" of a step is what it read and awaited, in this order: a number is a reading of the monotonic
// clock in nanoseconds since the reading before, {"w":n} the same of the time of day, a boolean the state of
// the lease's fence, {"reply":n,...} the response of an extender to the n-th request; work of binding cycles
// that was done meanwhile is a step of its own. A unit of work has the scheduling attempts that it completed
// as its member "attempts".
//
// A recording keeps its latest part. Each file but the first begins with the header and a snapshot: the
// objects as steps "change", nodes in the order in which sampling visits them, and the state of the scheduler
// (state_text.hpp) with the readings of the clocks and the numbers of writes and of requests to extenders. A
// scheduler that receives them makes the same decisions as the recorded one from then on. The oldest files
// are removed as a whole.
//
// A snapshot is taken between two units of work, when no attempt, binding, eviction or write is in progress,
// so that the state is a small value (cycle::SchedulerState). After a file is full, that moment is awaited;
// after a second, units of work wait for it up to kHold in each kHoldPeriod. The loop's thread copies the
// state of the waiting pods, at most Scheduler::kMaxSavedPods, and those of plugins; the writing thread
// encodes them and the immutable objects. At most one copy exists. The scheduler drops its cached results at
// a snapshot.
//
// The state includes what plugins have besides the objects: the latest measurements, and what each plugin
// saves (framework::SavedStatePlugin). No snapshots, so recording ends at its limit: with plugins that have
// such a state and do not save it (Scheduler::IsSavable), and after a break.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/lease_fence.hpp"
#include "base/result.hpp"
#include "kubernetes/ports/ports.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cycle/loop_journal.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/extenders/transport.hpp"
#include "scheduler/record/record_ring.hpp"
#include "scheduler/recording/known_objects.hpp"
#include "scheduler/recording/segments.hpp"

namespace berth::recording {

struct Header;

struct RecorderLimits {
  std::uint64_t total = 1u << 30;  // compressed bytes of all files
  // Compressed bytes after which the next snapshot begins a file; at most an eighth of `total` counts.
  std::uint64_t full_file = 128u << 20;
  // Lines and objects that wait to be written; what exceeds them is dropped and counted.
  std::size_t waiting_bytes = 32u << 20;
  std::size_t waiting_objects = 1'000'000;
  // Of a line before it is written, if the disk is idle.
  Duration longest_wait = std::chrono::milliseconds(500);
};

// One scheduling attempt, as recordings have it: its pod, result, node, message and victims.
void AppendAttempt(std::string& out, const record::AttemptRecord& attempt);

// The loop never waits for the disk: what it appends waits until another thread (writing_thread.hpp) encodes
// and writes it. Not recorded: environment variables, contents of Secrets and ConfigMaps, and annotations
// other than those that decisions depend on, because the scheduler does not keep them.
class Recorder final : public cycle::LoopJournal {
 public:
  // The directory is created; it must not contain a recording. Errors name it.
  static Expected<std::unique_ptr<Recorder>> Create(const std::filesystem::path& directory,
                                                    const RecorderLimits& limits, const Clock& clock);
  // What is waiting is lost.
  ~Recorder() override;

  // Ends the step of BeginStart: this scheduler was constructed. Called once, before the loop runs and before
  // anything is written. The scheduler must outlive this object's use by the loop.
  void Start(cycle::Scheduler& scheduler, const Header& header);
  void ExportTo(metrics::Registry& metrics);  // must outlive this object

  // Writes what is waiting. Blocks on the disk. After an error of the disk, or at the limit, recording ends:
  // one warning, and further calls have no effect. Any thread, but one at a time; called "the writing thread"
  // below.
  void WriteWaiting();
  // `call` is called by the loop's thread, with no lock held, after each line while a quarter of
  // RecorderLimits::waiting_bytes waits. Set while the loop does not run.
  void OnMuchWaiting(std::function<void()> call) { on_much_waiting_ = std::move(call); }

  const RecorderLimits& limits() const { return limits_; }

  // --- the ports of the loop, with these recorded; all must outlive this object ---
  const Clock& clock() const;
  std::unique_ptr<Fence> Watch(const Fence& fence);
  std::unique_ptr<ports::ApiWriter> Watch(ports::ApiWriter& writer);
  extenders::TransportMaker Watch(extenders::TransportMaker make);

  // --- the loop's thread ---
  void BeginStart();  // before the scheduler is constructed; Start after it
  void BeginChange(const ports::ClusterChange& change) override;
  void BeginSynced() override;
  void BeginWork(const cycle::Origin& origin) override;
  void BeginTimers() override;
  bool MayWork() override;
  void BeginUnitOfWork() override;
  void End() override;
  void Break(std::string_view why) override;

 private:
  class LoopClock;
  class WatchedFence;
  class WatchedWriter;
  class WatchedTransport;
  enum class SnapshotStage : std::uint8_t {
    kNone,
    kWanted,  // set by the writing thread when a file is full
    kTaken,   // set by the loop's thread; the writing thread ends this stage when it has written the snapshot
    kImpossible,  // set by the writing thread: the state of a plugin cannot be encoded
  };
  struct Snapshot {
    cycle::SchedulerCopy copy;
    std::vector<api::NodePtr> nodes;
    MonoTime now{};
    WallTime wall{};
    std::uint64_t writes = 0;
    std::uint64_t calls = 0;  // of extenders
  };
  // A change, whose object is inserted at a place unless it was deleted; or a snapshot at a place.
  struct Item {
    std::size_t place = 0;  // kDropped: of a change whose line was dropped
    std::variant<ports::ClusterChange, Snapshot> content;
  };
  static constexpr std::size_t kDropped = SIZE_MAX;
  struct Chunk {
    std::string lines;
    std::vector<Item> items;
  };

  Recorder(std::unique_ptr<SegmentWriter> writer, const RecorderLimits& limits, const Clock& clock);
  // Whether the calling thread is the loop's, within a step.
  bool InStep() const { return step_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  void Begin(std::string_view head);
  void NoteNow(MonoTime now);
  void NoteWall(WallTime now);
  void NoteFence(bool open);
  void NoteReply(std::uint64_t call, const Expected<extenders::Reply>& reply);  // any thread
  void AddReplies();
  void AddAttempts();
  void Append(std::string_view line, ports::ClusterChange* change);
  void AppendSnapshot(Snapshot snapshot);
  bool CanSave() const;
  bool Holds(MonoTime now);

  void Write(Chunk& chunk);
  // Returns false if the state of a plugin cannot be encoded.
  bool WriteSnapshot(Snapshot& snapshot);
  void WriteFrame(std::string& frame);
  void KeepLimits();
  void GiveUp(std::string_view why);

  const RecorderLimits limits_;
  const std::unique_ptr<LoopClock> clock_;
  std::atomic<std::thread::id> step_thread_{};  // of the step in progress
  cycle::Scheduler* scheduler_ = nullptr;       // null: until Start
  metrics::Registry* metrics_ = nullptr;        // null: until ExportTo

  // --- the loop's thread ---
  std::string line_;      // the step in progress
  int depth_ = 0;         // of steps in progress
  bool is_work_ = false;  // the outermost step is a unit of work
  ports::ClusterChange change_;
  bool has_change_ = false;
  MonoTime last_now_{};
  WallTime last_wall_{};
  std::uint64_t last_attempt_ = 0;  // number of the next attempt in the ring
  bool saves_ = false;              // snapshots are possible
  std::optional<MonoTime> full_since_;
  MonoTime hold_until_{}, next_hold_{};

  std::atomic<std::uint64_t> writes_{0}, calls_{0}, results_{0};  // results_: of writes
  std::mutex replies_mutex_;
  std::string replies_;  // elements that AddReplies moves to the step
  std::atomic<bool> has_replies_{false};

  std::function<void()> on_much_waiting_ = [] {};
  std::mutex mutex_;
  Chunk waiting_;
  std::uint64_t missing_ = 0;  // lines dropped after waiting_
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> bytes_{0}, snapshots_{0}, removed_{0};
  std::atomic<SnapshotStage> snapshot_{SnapshotStage::kNone};
  std::atomic<bool> on_{true};

  // --- the writing thread ---
  std::unique_ptr<SegmentWriter> writer_;
  KnownObjects known_;
  std::string header_;
};

}  // namespace berth::recording
