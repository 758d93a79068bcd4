// The findings of a check of a cluster and its scheduler's configuration, and their output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::migrate {

enum class Level : std::uint8_t {
  kOk,       // checked, no change
  kNote,     // different, no action needed
  kWarning,  // needs attention before the change, or could not be checked
  kBlocker,  // with Berth it would not work
};
std::string_view LevelName(Level level);  // "ok", "note", "warning", "blocker"

enum class Topic : std::uint8_t { kServer, kConfiguration, kExtenders, kWorkloads, kPermissions, kSize };
std::string_view TopicName(Topic topic);  // "server", "configuration", ...

struct Finding {
  Level level = Level::kOk;
  Topic topic = Topic::kServer;
  std::string what;                     // one sentence, without a full stop
  std::string remedy = {};              // recommended action; empty: none
  std::vector<std::string> names = {};  // a few of the affected objects
  std::size_t count = 0;                // number of affected objects; 0: not about objects
  bool unseen = false;                  // the check was incomplete, so there is no overall result without it
};

using Findings = std::vector<Finding>;

// Counts objects of one kind and keeps the names of the first few.
class Tally {
 public:
  void Add(std::string_view name) {
    if (++count_ <= kShown) names_.emplace_back(name);
  }
  std::size_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr std::size_t kShown = 3;
  std::size_t count_ = 0;
  std::vector<std::string> names_;
};

// A finding about objects.
Finding About(const Tally& tally, Level level, Topic topic, std::string what, std::string remedy = {});

struct Verdict {
  std::size_t ok = 0, notes = 0, warnings = 0, blockers = 0;
  bool unseen = false;
  // 0: no obstacle; 2: there is a blocker; 1: no blocker, but the check was incomplete.
  int exit_code() const { return blockers > 0 ? 2 : unseen ? 1 : 0; }
};
Verdict Evaluate(const Findings& findings);

// Text by topic, the most severe findings first in each; ends with a summary line.
std::string ToText(const Findings& findings, std::string_view server);
// One document: {"server":...,"findings":[{"level","topic","what","remedy","names","count"}],"ok":n,...}.
std::string ToJson(const Findings& findings, std::string_view server);

}  // namespace berth::migrate
