// The steps of a recording, with its objects.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/recording/header.hpp"
#include "scheduler/recording/latest_objects.hpp"
#include "scheduler/recording/segments.hpp"

namespace berth::replay {

// Holds one step in memory. One thread.
class Steps {
 public:
  // Begins at the first file whose header can be read. Errors name the directory.
  static Expected<Steps> Open(const std::filesystem::path& directory);

  const recording::Header& header() const { return header_; }

  // The next step; null: there is no more. Valid until the next call. A step that cannot be read, or a place
  // where lines are missing, is damage. The first step, also after Resume, is {"start":...} or
  // {"snapshot":...}, which is followed by its objects. Of a later snapshot only {"state":...} is returned.
  struct Step {
    const boost::json::object* body = nullptr;  // owned by the steps
    std::string object;                         // JSON of the object that was created or updated; empty: none
    std::uint64_t line = 0;                     // of the recording, from 1
  };
  const Step* Next();
  // Why the steps ended before the end of the recording; empty: they did not.
  const std::string& damage() const { return damage_; }
  // Continues at the next snapshot, also after damage, and with its header. Returns false if there is none.
  bool Resume();

 private:
  explicit Steps(recording::SegmentReader reader) : reader_(std::move(reader)) {}
  // The next line, also in a file after damage; nullopt: there is no more.
  std::optional<std::string_view> NextReadable();
  // Skips the rest of a snapshot's objects; nullopt: the reader ended before the state.
  std::optional<std::string_view> StateLine();
  const Step* Damaged(std::string reason);

  recording::SegmentReader reader_;
  recording::Header header_;
  std::shared_ptr<boost::json::value> parsed_;  // Step::body is in it
  Step step_;
  std::uint64_t line_ = 0;
  bool beginning_ = true;  // no step of the current beginning was returned
  std::string damage_;
};

// Turns steps {"change":...} into changes of the cluster. One thread.
class Objects {
 public:
  explicit Objects(const api::RetainedFields& retained) : decoder_(retained) {}

  // Fails if the object cannot be decoded, or the kind is not known; the error names the line.
  Expected<ports::ClusterChange> Read(const Steps::Step& step);

  // Calls visit(const std::shared_ptr<const T>&) for the last version of every object, in the order of
  // api::AllKinds, and of a kind sorted by key.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    api::AllKinds::ForEach([&]<class T>() { known_.ForEach<T>(visit); });
  }

 private:
  template <class T>
  Expected<ports::ClusterChange> ReadAs(const Steps::Step& step);

  api::Decoder decoder_;
  recording::LatestObjects known_;
};

}  // namespace berth::replay
