#include "scheduler/recording/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/append_format.hpp"
#include "base/check.hpp"
#include "base/json_text.hpp"
#include "observability/log/log.hpp"
#include "scheduler/recording/header.hpp"
#include "scheduler/recording/inputs.hpp"
#include "scheduler/recording/state_text.hpp"

namespace berth::recording {

namespace {

constexpr std::size_t kFrame = 1u << 20;  // bytes of lines after which a frame is written
// Units of work wait for the moment of a snapshot.
constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kHold{5}, kHoldPeriod{250};
constexpr std::string_view kBytesName = "berth_recording_bytes";
constexpr std::string_view kActiveName = "berth_recording_active";
constexpr std::string_view kSnapshotsName = "berth_recording_snapshots_total";
constexpr std::string_view kRemovedName = "berth_recording_removed_segments_total";
constexpr std::string_view kLostName = "berth_recording_lost_lines_total";

void WarnOfNoSnapshots(const Error& error) {
  log::Warning("The recording takes no more snapshots and ends at its size limit",
               {{"reason", error.message}});
}

template <class T>
std::string ErrorJson(const Expected<T>& result) {
  std::string out;
  JsonObject(out)
      .AddNumber("error", static_cast<int>(result.error().code))
      .Add("message", result.error().message);
  return out;
}

// Null: success without a value.
std::shared_ptr<const std::string> ResultJson(const Expected<void>& result) {
  return result ? nullptr : std::make_shared<const std::string>(ErrorJson(result));
}

std::shared_ptr<const std::string> ResultJson(const Expected<std::string>& result) {
  if (!result) return std::make_shared<const std::string>(ErrorJson(result));
  std::string out;
  JsonObject(out).Add("version", *result);
  return std::make_shared<const std::string>(std::move(out));
}

std::shared_ptr<const std::string> ResultJson(const Expected<ports::CreatedClaim>& result) {
  if (!result) return std::make_shared<const std::string>(ErrorJson(result));
  std::string out;
  JsonObject(out).Add("name", result->name).Add("uid", result->uid).Add("version", result->resource_version);
  return std::make_shared<const std::string>(std::move(out));
}

}  // namespace

void AppendAttempt(std::string& out, const record::AttemptRecord& attempt) {
  JsonObject object(out);
  object.Add("pod", attempt.pod).Add("result", record::ResultName(attempt.result));
  object.AddUnlessEmpty("node", attempt.SelectedNode()).AddUnlessEmpty("message", attempt.message);
  if (attempt.nomination) {
    object.Add("nominated", attempt.nomination->node).AddUnlessEmpty("victims", attempt.nomination->victims);
  }
}

// --- the ports ---

class Recorder::LoopClock final : public Clock {
 public:
  LoopClock(Recorder& recorder, const Clock& clock) : recorder_(recorder), clock_(clock) {}
  MonoTime Now() const override {
    const MonoTime now = clock_.Now();
    recorder_.NoteNow(now);
    return now;
  }
  WallTime WallNow() const override {
    const WallTime now = clock_.WallNow();
    recorder_.NoteWall(now);
    return now;
  }
  // Only leases depend on it, whose fence is recorded.
  BootTime BootNow() const override { return clock_.BootNow(); }

 private:
  Recorder& recorder_;
  const Clock& clock_;
};

class Recorder::WatchedFence final : public Fence {
 public:
  WatchedFence(Recorder& recorder, const Fence& fence) : recorder_(recorder), fence_(fence) {}
  bool Open() const override {
    const bool open = fence_.Open();
    recorder_.NoteFence(open);
    return open;
  }

 private:
  Recorder& recorder_;
  const Fence& fence_;
};

// Numbers the writes. What their callbacks post to the loop has the number and the result as its origin.
class Recorder::WatchedWriter final : public ports::ApiWriter {
 public:
  WatchedWriter(Recorder& recorder, ports::ApiWriter& writer) : recorder_(recorder), writer_(writer) {}
  void Bind(ports::Binding binding, ports::WriteDone done) override {
    writer_.Bind(std::move(binding), Numbered(std::move(done)));
  }
  void PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) override {
    writer_.PatchPodStatus(std::move(patch), Numbered(std::move(done)));
  }
  void DeletePod(ports::PodDeletion deletion, ports::WriteDone done) override {
    writer_.DeletePod(std::move(deletion), Numbered(std::move(done)));
  }
  void ClaimVolume(ports::VolumeClaimed write, ports::VersionDone done) override {
    writer_.ClaimVolume(std::move(write), Numbered(std::move(done)));
  }
  void SelectNode(ports::NodeSelected write, ports::VersionDone done) override {
    writer_.SelectNode(std::move(write), Numbered(std::move(done)));
  }
  void ChangeClaim(ports::ClaimChange change, ports::VersionDone done) override {
    writer_.ChangeClaim(std::move(change), Numbered(std::move(done)));
  }
  void CreateClaim(ports::NewClaim claim, ports::ClaimDone done) override {
    writer_.CreateClaim(std::move(claim), Numbered(std::move(done)));
  }
  void DeleteClaim(ports::ClaimDeletion deletion, ports::WriteDone done) override {
    writer_.DeleteClaim(std::move(deletion), Numbered(std::move(done)));
  }
  void PatchPodGroupStatus(ports::PodGroupStatusPatch patch, ports::WriteDone done) override {
    writer_.PatchPodGroupStatus(std::move(patch), Numbered(std::move(done)));
  }

 private:
  template <class Done>
  Done Numbered(Done done) {
    const std::uint64_t number = recorder_.writes_.fetch_add(1, std::memory_order_relaxed) + 1;
    return [&recorder = recorder_, number, done = std::move(done)](auto result) mutable {
      const cycle::OriginScope origin(
          {.kind = cycle::Origin::Kind::kWrite, .number = number, .detail = ResultJson(result)});
      done(std::move(result));
      recorder.results_.fetch_add(1, std::memory_order_release);
    };
  }

  Recorder& recorder_;
  ports::ApiWriter& writer_;
};

class Recorder::WatchedTransport final : public extenders::Transport {
 public:
  WatchedTransport(Recorder& recorder, std::unique_ptr<Transport> transport)
      : recorder_(recorder), transport_(std::move(transport)) {}
  CallId Send(extenders::TransportRequest request, Done done) override {
    const std::uint64_t number = recorder_.calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    return transport_->Send(std::move(request), [&recorder = recorder_, number, done = std::move(done)](
                                                    Expected<extenders::Reply> reply) mutable {
      recorder.NoteReply(number, reply);
      done(std::move(reply));
    });
  }
  void Cancel(CallId call) override { transport_->Cancel(call); }

 private:
  Recorder& recorder_;
  const std::unique_ptr<Transport> transport_;
};

const Clock& Recorder::clock() const { return *clock_; }

std::unique_ptr<Fence> Recorder::Watch(const Fence& fence) {
  return std::make_unique<WatchedFence>(*this, fence);
}

std::unique_ptr<ports::ApiWriter> Recorder::Watch(ports::ApiWriter& writer) {
  return std::make_unique<WatchedWriter>(*this, writer);
}

extenders::TransportMaker Recorder::Watch(extenders::TransportMaker make) {
  return [this, make = std::move(make)](
             const config::ExtenderConfig& config) -> Expected<std::unique_ptr<extenders::Transport>> {
    BERTH_TRY(auto transport, make(config));
    return std::make_unique<WatchedTransport>(*this, std::move(transport));
  };
}

// --- the steps ---

Expected<std::unique_ptr<Recorder>> Recorder::Create(const std::filesystem::path& directory,
                                                     const RecorderLimits& limits, const Clock& clock) {
  BERTH_TRY(auto writer, SegmentWriter::Create(directory));
  return std::unique_ptr<Recorder>(new Recorder(std::move(writer), limits, clock));
}

Recorder::Recorder(std::unique_ptr<SegmentWriter> writer, const RecorderLimits& limits, const Clock& clock)
    : limits_(limits), clock_(std::make_unique<LoopClock>(*this, clock)), writer_(std::move(writer)) {}

Recorder::~Recorder() {
  if (metrics_ != nullptr) {
    for (const std::string_view name : {kBytesName, kActiveName, kLostName, kSnapshotsName, kRemovedName})
      metrics_->RemoveCallback(name, {});
  }
}

void Recorder::Start(cycle::Scheduler& scheduler, const Header& header) {
  scheduler_ = &scheduler;
  saves_ = scheduler.IsSavable();
  header_ = WriteHeader(header);
  Append(header_, nullptr);
  End();
}

void Recorder::ExportTo(metrics::Registry& metrics) {
  metrics_ = &metrics;
  metrics.CallbackGauge(kBytesName, "[ALPHA] Size of the recording, compressed.", {},
                        [this] { return static_cast<double>(bytes_.load(std::memory_order_relaxed)); });
  metrics.CallbackGauge(kActiveName,
                        "[ALPHA] 1 while the scheduler records; 0 after the size limit or an error.", {},
                        [this] { return on_.load(std::memory_order_relaxed) ? 1.0 : 0.0; });
  metrics.CallbackCounter(kSnapshotsName,
                          "[ALPHA] Snapshots in the recording. A replay can begin at each of them.", {},
                          [this] { return static_cast<double>(snapshots_.load(std::memory_order_relaxed)); });
  metrics.CallbackCounter(
      kRemovedName, "[ALPHA] Oldest files of the recording that were removed to keep its size limit.", {},
      [this] { return static_cast<double>(removed_.load(std::memory_order_relaxed)); });
  metrics.CallbackCounter(kLostName,
                          "[ALPHA] Lines that are missing in the recording because the disk was too slow. A "
                          "replay continues at the next snapshot.",
                          {}, [this] { return static_cast<double>(lost_.load(std::memory_order_relaxed)); });
}

void Recorder::BeginStart() { Begin(R"({"start":true)"); }

void Recorder::BeginChange(const ports::ClusterChange& change) {
  std::visit(
      [&]<class T>(const ports::Change<T>& content) {
        std::string head = "{";
        if (content.after == nullptr) {
          head += fmt::format(R"("change":"{}","deleted":)", T::kKind);
          AppendJsonString(head, content.before->metadata.Key());
        } else {
          AppendChangeHead(head, change);
        }
        change_ = content;
        has_change_ = true;
        Begin(head);
      },
      change);
}

void Recorder::BeginSynced() { Begin(R"({"synced":true)"); }
void Recorder::BeginTimers() { Begin(R"({"timers":true)"); }

void Recorder::BeginUnitOfWork() {
  Begin(R"({"work":true)");
  is_work_ = true;
}

void Recorder::BeginWork(const cycle::Origin& origin) {
  using Kind = cycle::Origin::Kind;
  if (depth_ > 0) AddReplies();
  switch (origin.kind) {
    case Kind::kWrite:
      return Begin(fmt::format(R"({{"run":"write","number":{},"result":{})", origin.number,
                               origin.detail ? *origin.detail : "null"));
    case Kind::kCommand: {
      std::string head = R"({"run":"command","command":)";
      AppendJsonString(head, *origin.detail);
      return Begin(head);
    }
    case Kind::kMeasurement:
      return Begin(fmt::format(R"({{"run":"measurement","result":{})", *origin.detail));
    case Kind::kBlocking:
      saves_ = false;
      return Begin(R"({"run":"blocking")");
    case Kind::kStep:
      return Begin(R"({"run":"step")");
    case Kind::kLoop:
    case Kind::kOutside:
      return Begin(R"({"run":"loop")");
  }
}

// A reply that arrives late is part of the next step; nothing awaits it any more.
void Recorder::End() {
  BERTH_CHECK(depth_ > 0, depth_);
  if (depth_ == 1) AddReplies();
  if (line_.back() == ',') line_.pop_back();
  line_ += ']';
  if (depth_ == 1 && is_work_) AddAttempts();
  line_ += '}';
  if (--depth_ > 0) {
    line_ += ',';
    return;
  }
  step_thread_.store({}, std::memory_order_relaxed);
  is_work_ = false;
  Append(line_, has_change_ ? &change_ : nullptr);
  has_change_ = false;
}

// The header has the former configuration.
void Recorder::Break(std::string_view why) {
  saves_ = false;
  std::string line = R"({"break":)";
  AppendJsonString(line, why);
  line += '}';
  Append(line, nullptr);
}

void Recorder::Begin(std::string_view head) {
  if (depth_++ == 0) {
    line_.clear();
    step_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  line_ += head;
  line_ += R"(,"t":[)";
}

void Recorder::NoteNow(MonoTime now) {
  if (!InStep()) return;
  AppendFormat(line_, "{},", (now - last_now_).count());
  last_now_ = now;
}

void Recorder::NoteWall(WallTime now) {
  if (!InStep()) return;
  AppendFormat(line_, R"({{"w":{}}},)", (now - last_wall_).count());
  last_wall_ = now;
}

void Recorder::NoteFence(bool open) {
  if (InStep()) line_ += open ? "true," : "false,";
}

void Recorder::NoteReply(std::uint64_t call, const Expected<extenders::Reply>& reply) {
  std::string element = fmt::format(R"({{"reply":{})", call);
  if (reply) {
    element += fmt::format(R"(,"status":{},"body":)", reply->status);
    AppendJsonString(element, reply->body);
    if (!reply->cut_short.empty()) {
      element += R"(,"cutShort":)";
      AppendJsonString(element, reply->cut_short);
    }
    element += "},";
  } else {
    element += R"(,"result":)" + ErrorJson(reply) + "},";
  }
  const std::scoped_lock lock(replies_mutex_);
  if (replies_.size() > limits_.waiting_bytes) return;
  replies_ += element;
  has_replies_.store(true, std::memory_order_release);
}

void Recorder::AddReplies() {
  if (!has_replies_.load(std::memory_order_acquire)) return;
  const std::scoped_lock lock(replies_mutex_);
  line_ += replies_;
  replies_.clear();
  has_replies_.store(false, std::memory_order_relaxed);
}

void Recorder::AddAttempts() {
  if (scheduler_ == nullptr || scheduler_->records().end() == last_attempt_) return;
  const record::RecordRing& ring = scheduler_->records();
  std::vector<std::string> attempts;
  ring.ForEachBefore(ring.end(), ring.end() - last_attempt_,
                     [&](const record::AttemptRecord& attempt, WallTime) {
                       AppendAttempt(attempts.emplace_back(), attempt);
                     });
  last_attempt_ = ring.end();
  line_ += R"(,"attempts":[)";
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
    if (attempt != attempts.rbegin()) line_ += ',';
    line_ += *attempt;
  }
  line_ += ']';
}

void Recorder::Append(std::string_view line, ports::ClusterChange* change) {
  if (!on_.load(std::memory_order_relaxed)) return;
  bool much = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool fits =
        waiting_.lines.size() <= limits_.waiting_bytes && waiting_.items.size() <= limits_.waiting_objects;
    if (fits) {
      waiting_.lines += line;
      waiting_.lines += '\n';
    } else {
      ++missing_;
      lost_.fetch_add(1, std::memory_order_relaxed);
    }
    // Later snapshots need also the objects whose lines are dropped.
    if (change != nullptr && waiting_.items.size() <= 2 * limits_.waiting_objects) {
      waiting_.items.push_back({fits ? waiting_.lines.size() : kDropped, std::move(*change)});
    } else if (change != nullptr) {
      saves_ = false;
    }
    much = waiting_.lines.size() > limits_.waiting_bytes / 4;
  }
  if (much) on_much_waiting_();
}

// --- snapshots: the loop's thread ---

bool Recorder::MayWork() {
  if (snapshot_.load(std::memory_order_relaxed) != SnapshotStage::kWanted) return true;
  if (!saves_ || !on_.load(std::memory_order_relaxed)) return true;
  if (!CanSave()) return !Holds(clock_->Now());
  full_since_.reset();
  auto copy = scheduler_->Save();
  if (!copy) {
    saves_ = false;
    WarnOfNoSnapshots(copy.error());
    return true;
  }
  snapshot_.store(SnapshotStage::kTaken, std::memory_order_relaxed);
  AppendSnapshot({.copy = *std::move(copy),
                  .nodes = scheduler_->NodesInOrder(),
                  .now = last_now_,
                  .wall = last_wall_,
                  .writes = writes_.load(std::memory_order_relaxed),
                  .calls = calls_.load(std::memory_order_relaxed)});
  return true;
}

// The results of writes are counted after they were posted.
bool Recorder::CanSave() const {
  return results_.load(std::memory_order_acquire) == writes_.load(std::memory_order_relaxed) &&
         scheduler_->CanSave();
}

bool Recorder::Holds(MonoTime now) {
  if (!full_since_) {
    full_since_ = now;
    next_hold_ = now + kPatience;
  }
  if (now >= next_hold_) {
    hold_until_ = now + kHold;
    next_hold_ = now + kHoldPeriod;
  }
  return now < hold_until_;
}

void Recorder::AppendSnapshot(Snapshot snapshot) {
  const std::scoped_lock lock(mutex_);
  // What follows missing lines begins after the line that counts them.
  if (missing_ > 0) waiting_.lines += fmt::format("{{\"lost\":{}}}\n", std::exchange(missing_, 0));
  waiting_.items.push_back({waiting_.lines.size(), std::move(snapshot)});
}

// --- the writing thread ---

void Recorder::WriteWaiting() {
  Chunk chunk;
  {
    const std::scoped_lock lock(mutex_);
    if (missing_ > 0) waiting_.lines += fmt::format("{{\"lost\":{}}}\n", std::exchange(missing_, 0));
    std::swap(chunk, waiting_);
  }
  if (on_.load(std::memory_order_relaxed)) Write(chunk);
  // Not in GiveUp, which is called while the objects are written.
  if (!on_.load(std::memory_order_relaxed)) known_ = {};
}

void Recorder::Write(Chunk& chunk) {
  std::string frame;
  std::size_t at = 0;
  const auto copy_until = [&](std::size_t end) {
    while (at < end) {
      const std::size_t newline = chunk.lines.find('\n', std::min(at + kFrame, end - 1));
      frame.append(chunk.lines, at, newline + 1 - at);
      at = newline + 1;
      if (frame.size() > kFrame && at < end) WriteFrame(frame);
    }
  };
  for (Item& item : chunk.items) {
    if (item.place != kDropped) copy_until(item.place);
    if (auto* snapshot = std::get_if<Snapshot>(&item.content)) {
      WriteFrame(frame);
      const bool written = WriteSnapshot(*snapshot);
      snapshot_.store(written ? SnapshotStage::kNone : SnapshotStage::kImpossible, std::memory_order_relaxed);
      continue;
    }
    const auto& change = std::get<ports::ClusterChange>(item.content);
    known_.Apply(change);
    const bool exists = std::visit([](const auto& content) { return content.after != nullptr; }, change);
    if (!exists || item.place == kDropped) continue;
    AppendObject(frame, change);
    if (frame.size() > kFrame) WriteFrame(frame);
  }
  copy_until(chunk.lines.size());
  WriteFrame(frame);
  KeepLimits();
}

bool Recorder::WriteSnapshot(Snapshot& snapshot) {
  const Expected<cycle::SchedulerState> state = cycle::Encode(std::move(snapshot.copy));
  if (!state) {
    WarnOfNoSnapshots(state.error());
    std::string step = "{\"unsaved\":true}\n";
    WriteFrame(step);
    return false;
  }
  writer_->EndFile();
  std::string frame = header_ + "\n";
  known_.AppendRows(frame, snapshot.nodes);
  known_.AppendTo(frame, snapshot.nodes, [&] {
    if (frame.size() > kFrame) WriteFrame(frame);
  });
  frame += R"({"state":)";
  AppendState(frame, *state);
  frame +=
      fmt::format(R"(,"now":{},"wall":{},"writes":{},"calls":{}}})", snapshot.now.time_since_epoch().count(),
                  snapshot.wall.time_since_epoch().count(), snapshot.writes, snapshot.calls);
  frame += '\n';
  WriteFrame(frame);
  snapshots_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Recorder::WriteFrame(std::string& frame) {
  if (frame.empty() || !on_.load(std::memory_order_relaxed)) return;
  if (frame.size() > kMaxFrame) return GiveUp("an input is larger than a recording can hold");
  const Expected<void> written = writer_->Append(frame);
  frame.clear();
  bytes_.store(writer_->bytes(), std::memory_order_relaxed);
  if (!written) return GiveUp(written.error().message);
  if (writer_->last_file_bytes() >= std::min(limits_.total, kMaxFile))
    GiveUp("the size limit of the recording is reached without a snapshot");
}

// Not within a snapshot: until it is complete, the files before it are needed.
void Recorder::KeepLimits() {
  if (!on_.load(std::memory_order_relaxed)) return;
  writer_->RemoveOldest(limits_.total);
  bytes_.store(writer_->bytes(), std::memory_order_relaxed);
  removed_.store(writer_->removed(), std::memory_order_relaxed);
  if (snapshot_.load(std::memory_order_relaxed) == SnapshotStage::kNone &&
      writer_->last_file_bytes() >= std::min(limits_.total / 8, limits_.full_file))
    snapshot_.store(SnapshotStage::kWanted, std::memory_order_relaxed);
}

void Recorder::GiveUp(std::string_view why) {
  on_.store(false, std::memory_order_relaxed);
  log::Warning("Recording ended", {{"reason", why}, {"bytes", writer_->bytes()}});
}

}  // namespace berth::recording
