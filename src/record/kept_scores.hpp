// One plugin's scores by row, as records keep them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace berth::record {

// Either a column of its own, or a version of one that many records share: a base that is written once and a
// log of changes to it, of which a version is the first so many. Cheap to copy. One thread: that of the
// writer.
class KeptScores {
 public:
  KeptScores() = default;
  KeptScores(std::vector<std::uint8_t> own)  // implicit: that is what it is
      : pages_(own.empty() ? nullptr : std::make_shared<Pages>(std::move(own))) {}
  KeptScores(std::initializer_list<std::uint8_t> own) : KeptScores(std::vector<std::uint8_t>(own)) {}

  bool empty() const { return pages_ == nullptr; }
  // Takes a look at each change of the version.
  std::uint8_t operator[](std::size_t row) const {
    for (std::size_t i = changes_; i-- > 0;) {
      if (pages_->changes[i].first == row) return pages_->changes[i].second;
    }
    return pages_->base[row];
  }
  // Roughly its own share of what it takes in memory.
  std::size_t Bytes() const {
    if (pages_ == nullptr) return 0;
    return pages_->shared ? pages_->base.size() / kSharers + sizeof(*pages_) : pages_->base.size();
  }

 private:
  friend class ScoreHistory;
  static constexpr std::size_t kSharers = 64;
  struct Pages {
    explicit Pages(std::vector<std::uint8_t> base) : base(std::move(base)) {}
    const std::vector<std::uint8_t> base;
    std::vector<std::pair<std::uint32_t, std::uint8_t>> changes;
    bool shared = false;
  };
  std::shared_ptr<Pages> pages_;
  std::size_t changes_ = 0;
};

// The column that changes, and its versions. Changing one row costs the same whatever the number of rows.
class ScoreHistory {
 public:
  void Reset(std::vector<std::uint8_t> scores) {
    now_ = std::move(scores);
    last_ = {};
  }
  std::uint8_t operator[](std::size_t row) const { return now_[row]; }
  void Set(std::uint32_t row, std::uint8_t score) {
    if (now_[row] == score) return;
    now_[row] = score;
    if (last_.pages_ == nullptr) return;  // nobody has seen it yet
    if (last_.pages_->changes.size() == kChangesPerBase) {
      last_ = {};
      return;
    }
    last_.pages_->changes.emplace_back(row, score);
    ++last_.changes_;
  }
  // As it stands.
  const KeptScores& Version() {
    if (last_.pages_ == nullptr) {
      last_ = KeptScores(now_);
      last_.pages_->shared = true;
    }
    return last_;
  }

 private:
  // Looking a score up goes through the changes: more would make explanations slow, fewer would copy more.
  static constexpr std::size_t kChangesPerBase = 256;
  std::vector<std::uint8_t> now_;
  KeptScores last_;
};

}  // namespace berth::record
