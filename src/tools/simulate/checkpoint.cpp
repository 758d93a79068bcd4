#include "tools/simulate/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/files.hpp"
#include "base/hex.hpp"
#include "service/auth/sha256.hpp"

namespace berth::simulate {
namespace {

// The number changes with every change of the fields below.
constexpr std::string_view kMagic = "berth-simulate-checkpoint 1\n";
constexpr std::string_view kChecksum = "sha256 ";
constexpr std::size_t kDigits = 64;

// --- the fields of a result, once for reading and writing ---

template <class Archive>
void VisitFields(Archive& archive, SampledValue& value) {
  archive(value.sum, value.most, value.count);
}
template <class Archive>
void VisitFields(Archive& archive, Histogram& value) {
  value.VisitState(archive);
}
template <class Archive>
void VisitFields(Archive& archive, KindResult& value) {
  archive(value.name, value.created, value.bound, value.completed, value.preempted, value.lost, value.stopped,
          value.pending, value.reason, value.time_to_bind, value.zone_skew, value.most_on_node);
}
template <class Archive>
void VisitFields(Archive& archive, Sample& value) {
  archive(value.at, value.active, value.backoff, value.unschedulable, value.gated, value.running,
          value.waiting_groups, value.nodes, value.used, value.fragmented, value.hot_nodes, value.imbalance);
}
template <class Archive>
void VisitFields(Archive& archive, GroupResult& value) {
  archive(value.any, value.created, value.started, value.completed, value.stopped, value.waiting,
          value.longest_wait, value.last_completed, value.time_to_start, value.mean_held, value.mean_idle);
}
template <class Archive>
void VisitFields(Archive& archive, Result& value) {
  archive(value.configuration, value.complete, value.simulated, value.resources, value.attempts,
          value.failed_attempts, value.nodes_failed, value.nodes_added, value.nodes_removed,
          value.time_to_bind, value.kinds, value.groups, value.samples, value.mean_used,
          value.mean_fragmented);
}
template <class Archive>
void VisitFields(Archive& archive, std::pair<std::string, std::string>& value) {
  archive(value.first, value.second);
}

// Values as decimal numbers separated by spaces; texts after their length; floating-point numbers as their
// bits.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(std::string& out) : out_(out) {}
  template <class... T>
  void operator()(T&... values) {
    (Write(values), ...);
  }

 private:
  void Write(std::uint64_t value) { out_ += std::to_string(value) + ' '; }
  void Write(bool value) { Write(std::uint64_t{value}); }
  void Write(double value) { Write(std::bit_cast<std::uint64_t>(value)); }
  void Write(Duration value) { Write(static_cast<std::uint64_t>(value.count())); }
  void Write(std::string& value) {
    Write(value.size());
    out_ += value;
    out_ += '\n';
  }
  template <class T>
  void Write(std::vector<T>& values) {
    Write(values.size());
    for (T& value : values) Write(value);
    out_ += '\n';
  }
  template <class T>
  void Write(T& value) {
    VisitFields(*this, value);
  }

  std::string& out_;
};

// The opposite. After an error all values are empty.
class CheckpointReader {
 public:
  explicit CheckpointReader(std::string_view text) : rest_(text) {}
  template <class... T>
  void operator()(T&... values) {
    (Read(values), ...);
  }
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  void Read(std::uint64_t& value) {
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    Skip(static_cast<std::size_t>(read.ptr - rest_.data()));
    failed_ |= read.ec != std::errc();
    Expect(' ');
    if (failed_) value = 0;
  }
  void Read(bool& value) {
    std::uint64_t number = 0;
    Read(number);
    value = number != 0;
  }
  void Read(double& value) {
    std::uint64_t bits = 0;
    Read(bits);
    value = std::bit_cast<double>(bits);
  }
  void Read(Duration& value) {
    std::uint64_t count = 0;
    Read(count);
    value = Duration(static_cast<std::int64_t>(count));
  }
  void Read(std::string& value) {
    const std::size_t size = ReadSize();
    value = rest_.substr(0, size);
    Skip(size);
    Expect('\n');
  }
  template <class T>
  void Read(std::vector<T>& values) {
    const std::size_t size = ReadSize();
    values.clear();
    for (std::size_t i = 0; i < size && !failed_; ++i) Read(values.emplace_back());
    Expect('\n');
  }
  template <class T>
  void Read(T& value) {
    VisitFields(*this, value);
  }
  // Of a text or list: every element takes at least one byte.
  std::size_t ReadSize() {
    std::uint64_t size = 0;
    Read(size);
    failed_ |= size > rest_.size();
    return failed_ ? 0 : static_cast<std::size_t>(size);
  }
  void Expect(char c) {
    failed_ |= rest_.empty() || rest_.front() != c;
    Skip(1);
  }
  void Skip(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }

  std::string_view rest_;
  bool failed_ = false;
};

std::string Differences(const RunIdentity& stored, const RunIdentity& current) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : current) {
    const auto found = std::ranges::find(stored, name, &RunIdentity::value_type::first);
    if (found == stored.end()) {
      texts.push_back(fmt::format("{}: {} is new", name, value));
    } else if (found->second != value) {
      texts.push_back(fmt::format("{}: {} in the file, {} now", name, found->second, value));
    }
  }
  for (const auto& [name, value] : stored) {
    if (std::ranges::find(current, name, &RunIdentity::value_type::first) == current.end())
      texts.push_back(fmt::format("{}: {} is only in the file", name, value));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

std::string WriteCheckpoint(const RunIdentity& identity, const std::vector<Result>& results) {
  std::string text(kMagic);
  RunIdentity parts = identity;
  std::vector<Result> values = results;
  CheckpointWriter writer(text);
  writer(parts, values);
  const std::string checksum = Hex(service::Sha256(text));
  return text.append(kChecksum).append(checksum).append("\n");
}

Expected<std::vector<Result>> ReadCheckpoint(std::string_view text, const RunIdentity& identity) {
  if (!text.starts_with(kMagic)) {
    return Invalid(fmt::format("expected a checkpoint of this version (\"{}\"), got \"{}\"",
                               kMagic.substr(0, kMagic.size() - 1),
                               text.substr(0, std::min(text.find('\n'), kMagic.size() + 10))));
  }
  const std::size_t end = kChecksum.size() + kDigits + 1;
  const std::string_view content = text.substr(0, text.size() - std::min(end, text.size() - kMagic.size()));
  if (text.substr(content.size()) != fmt::format("{}{}\n", kChecksum, Hex(service::Sha256(content))))
    return Invalid("the file is damaged or truncated (its checksum is wrong)");
  RunIdentity stored;
  std::vector<Result> results;
  CheckpointReader reader(content.substr(kMagic.size()));
  reader(stored, results);
  if (!reader.complete()) return Invalid("the file is damaged");
  if (stored != identity)
    return Invalid(fmt::format("the file is of another comparison: {}", Differences(stored, identity)));
  return results;
}

Expected<Checkpoint> Checkpoint::Create(std::string path, RunIdentity identity) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0)
    return Invalid(
        fmt::format("--checkpoint: {} exists; add --resume to continue, or remove the file", path));
  Checkpoint checkpoint(std::move(path), std::move(identity));
  BERTH_RETURN_IF_ERROR(checkpoint.Store());
  return checkpoint;
}

Expected<Checkpoint> Checkpoint::Resume(std::string path, RunIdentity identity) {
  Checkpoint checkpoint(std::move(path), std::move(identity));
  const std::string context = "--resume: " + checkpoint.path_;
  auto text = ReadWholeFile(checkpoint.path_);
  if (!text) return std::unexpected(std::move(text).error().In("--resume"));
  auto results = ReadCheckpoint(*text, checkpoint.identity_);
  if (!results) return std::unexpected(std::move(results).error().In(context));
  checkpoint.results_ = *std::move(results);
  return checkpoint;
}

Expected<void> Checkpoint::Add(const Result& result) {
  results_.push_back(result);
  return Store();
}

Expected<void> Checkpoint::Store() const {
  auto stored = WriteFileAtomically(path_, WriteCheckpoint(identity_, results_), 0644);
  if (!stored) return std::unexpected(std::move(stored).error().In("--checkpoint"));
  return {};
}

}  // namespace berth::simulate
