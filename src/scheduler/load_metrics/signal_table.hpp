// What is measured about the nodes: signals, a number per node each (or per pod, for those who want to learn
// what workloads use). Plugins name the signals they want; somebody outside the loop (module metricsource)
// asks for them in the background and hands in the answers. No decision waits for a measurement: what it
// finds here is what was last known, or nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/load_metrics/node_directory.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::load_metrics {

enum class SignalId : std::uint32_t {};

// When several series speak of one node: devices that were not added up, or a pair of servers that both
// answer.
enum class Merge { kMax, kMean, kSum };

// Whom the series of a signal speak of.
enum class Subject {
  kNode,
  kPod,  // by the labels namespace and pod; nothing is kept of it here, listeners get the answers
};

// Another query that says for which nodes a signal can be believed: a node without an answer to it, or beyond
// its limits, has no value. If the query is refused or no node at all has an answer, the guard is not in
// force.
struct SignalGuard {
  std::string name;  // for people
  std::string expression;
  std::optional<double> at_most = {};
  std::optional<double> at_least_of_median = {};  // share of the median over all nodes
};

// Specifications that differ in nothing but their names are one signal, asked for once. "$node" in an
// expression stands for the labels by which the source tells nodes apart: "sum by ($node) (...)".
struct SignalSpec {
  std::string name;        // for people and metrics
  std::string source;      // the server's address, or a name that the metric sources' file gives it
  std::string expression;  // PromQL; the answer holds all nodes
  Merge merge = Merge::kMax;
  Duration window{};                        // that the expression looks back over; zero: a moment
  Duration hold = std::chrono::minutes(5);  // how long the last answer counts when no newer one comes
  std::vector<SignalGuard> guards = {};
  Subject subject = Subject::kNode;
  Duration every{};  // asked no more often than that; zero: with every poll

  bool Same(const SignalSpec& other) const;
};

enum class SignalState {
  kWaiting,  // no answer has come yet
  kFresh,    // the last poll was answered
  kHeld,     // it was not; the values are of an earlier one
  kGone,     // for longer than `hold`, or never: no node has a value
};
std::string_view NameOf(SignalState state);

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// What became of an answer.
struct SignalCoverage {
  std::size_t nodes = 0;               // there are
  std::size_t measured = 0;            // of them, with a value that is shown
  std::size_t distrusted = 0;          // of them, with a value that a guard withholds
  std::size_t merged = 0;              // series beyond the first of their node
  std::vector<std::string> unmatched;  // some of the series that belong to no node, for people
  std::size_t unmatched_series = 0;
  SignalState before = SignalState::kWaiting, after = SignalState::kWaiting;
};

// The middle one of the values that are known (NaN if none is): what is said of a node that is not measured,
// so that it neither wins nor starves.
double MedianOf(std::span<const double> values);

struct Signal {
  SignalSpec spec;
  SignalState state = SignalState::kWaiting;
  MonoTime asked{};            // when the values that are shown were asked for
  std::vector<double> values;  // by row; NaN: not known. May be shorter than the table
  std::string error;           // why the last poll failed; empty: it did not
  SignalCoverage coverage;     // of the last poll

  double At(cluster::Row row) const { return row < values.size() ? values[row] : kNoValue; }
};

// Series that were met for the first time, by what their labels say of the node. Shared by who asks and who
// keeps: numbers of series count through the chunks of a source in the order of their delivery.
using SeriesChunk = std::shared_ptr<const std::vector<SeriesName>>;

// The answer to one poll of one signal.
struct SignalAnswer {
  SignalId signal{};
  MonoTime asked{};
  bool renumbered = false;                                // the source counts its series from 0 again
  SeriesChunk fresh;                                      // null: none
  std::vector<std::pair<std::uint32_t, double>> samples;  // series and value; NaN and infinities: no value
};
using AnswerListener = std::function<void(const SignalAnswer&)>;

// One per engine: Handle::Shared<SignalTable>(). One thread, the scheduler loop's.
class SignalTable final : private cluster::PodObserver {
 public:
  explicit SignalTable(framework::Handle& handle);
  ~SignalTable() override;
  SignalTable(const SignalTable&) = delete;
  SignalTable& operator=(const SignalTable&) = delete;

  // --- plugins
  // While plugins are built.
  SignalId Declare(const SignalSpec& spec);
  const Signal& signal(SignalId id) const { return entries_[static_cast<std::size_t>(id)].signal; }
  // Called after the signal's values have changed.
  void Listen(SignalId id, std::function<void()> listener);
  // Told of every answer to a signal of pods. Its series are numbered for it alone.
  void ListenToPods(SignalId id, AnswerListener listener);
  // Null where time stands still: in explanations.
  const Clock* clock() const { return clock_; }

  // --- who measures
  void SetClock(const Clock& clock) { clock_ = &clock; }
  std::size_t size() const { return entries_.size(); }
  SignalCoverage Take(const SignalAnswer& answer);
  // The poll was not answered.
  SignalCoverage Failed(SignalId id, MonoTime now, std::string why);

 private:
  struct GuardUse {
    SignalId signal{};
    SignalGuard guard;
  };
  struct Entry {
    Signal signal;
    std::size_t source = 0;
    std::vector<double> raw;  // before guards
    double median = kNoValue;
    bool ever_answered = false;
    std::vector<GuardUse> guards;
    std::vector<SignalId> guarded;  // whose guard it is
    std::vector<std::function<void()>> listeners;
    std::vector<AnswerListener> pod_listeners;
  };
  struct Source {
    std::string name;
    std::vector<SeriesChunk> chunks;
    std::vector<cluster::Row> row_of;  // by number of the series
    std::uint64_t resolved_by = 0;
  };

  void PodAppears(cluster::Row, const cluster::PlacedPod&, bool) override {}
  void PodLeaves(cluster::Row, const cluster::PlacedPod&, bool) override {}
  void NodeAppears(cluster::Row row) override;
  void NodeLeaves(cluster::Row row) override;

  void TakeNodes(Entry& entry, const SignalAnswer& answer, SignalCoverage& coverage);
  Entry& EntryOf(SignalId id) { return entries_[static_cast<std::size_t>(id)]; }
  std::size_t SourceOf(const std::string& name);
  void Resolve(Source& source, const SignalAnswer& answer);
  void Fill(Entry& entry, const Source& source, const SignalAnswer& answer, SignalCoverage& coverage) const;
  void Show(Entry& entry);
  void ShowWithGuarded(Entry& entry);
  bool Trusted(const Entry& entry, cluster::Row row) const;

  cluster::NodeTable& nodes_;
  NodeDirectory directory_;
  const Clock* clock_ = nullptr;
  std::vector<Entry> entries_;
  std::vector<Source> sources_;
};

}  // namespace berth::load_metrics
