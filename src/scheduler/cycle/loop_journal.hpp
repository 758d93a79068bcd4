// What a ClusterLoop does, in its order: for recordings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kubernetes/ports/ports.hpp"

namespace berth::cycle {

// Where work that was posted to a loop comes from.
struct Origin {
  enum class Kind : std::uint8_t {
    // Another thread, which reads the scheduler's state and changes nothing that a decision reads; also what
    // such work posts.
    kOutside,
    kLoop,         // work that the loop's thread was doing
    kStep,         // the same, posted as a step of a binding cycle after one that succeeded
    kWrite,        // the result of a write to the API server
    kCommand,      // a command to the scheduler
    kBlocking,     // a plugin on a thread that may block
    kMeasurement,  // the result of a query for load measurements
  };
  Kind kind = Kind::kOutside;
  std::uint64_t number = 0;  // kWrite: of the write
  std::shared_ptr<const std::string> detail =
      {};  // kWrite: the result as JSON, null: success; kCommand: its text; kMeasurement: the result as JSON
};

// During its lifetime, work that this thread posts has the origin. Scopes nest.
class OriginScope {
 public:
  explicit OriginScope(Origin origin);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

  static const Origin& Current();

 private:
  Origin before_;
};

// Each Begin is followed by End when the loop has done what it announced. Work of a binding cycle may be done
// within a unit of work. The loop's thread.
class LoopJournal {
 public:
  virtual ~LoopJournal() = default;
  virtual void BeginChange(const ports::ClusterChange& change) = 0;
  virtual void BeginSynced() = 0;
  virtual void BeginWork(const Origin& origin) = 0;
  virtual void BeginTimers() = 0;
  // Called between steps, before a unit of work. Returns false if that must wait; messages do not.
  virtual bool MayWork() { return true; }
  virtual void BeginUnitOfWork() = 0;
  virtual void End() = 0;
  // What follows cannot be repeated from what was announced so far. `why`: a text for users.
  virtual void Break(std::string_view why) = 0;

  // A journal that ignores everything.
  static LoopJournal& None();
};

}  // namespace berth::cycle
