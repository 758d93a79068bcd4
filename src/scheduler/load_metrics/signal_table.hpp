// Load metrics of nodes: signals, each with a number per node (or per pod, for plugins that learn the usage
// of workloads). Plugins declare the signals they need; the module metricsource polls them in the background
// and delivers the values to the loop. Scheduling never waits for a value: it uses the last known one, or
// none.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/load_metrics/node_directory.hpp"
#include "scheduler/load_metrics/saved_signals.hpp"

namespace berth::load_metrics {

// A signal's place in the table.
enum class SignalId : std::uint32_t {};

// How several series of one node are combined, for example of devices that the query does not sum, or of
// redundant servers.
enum class Merge { kMax, kMean, kSum };

// The kind of object that the series of a signal describe.
enum class Subject {
  kNode,
  kPod,  // identified by the labels namespace and pod; values are not stored here but passed to listeners
  kWorkload,  // identified by SignalSpec::series_labels; values are stored by series (Signal::series)
};

// An additional query that determines for which nodes a signal is valid. A node without a value in its
// result, or with a value outside the limits, has no value of the signal. If the query fails, its last values
// count as long as those of the signal would (SignalSpec::hold). Without values the guard is not applied.
struct SignalGuard {
  std::string name;  // for logs and explanations
  std::string expression;
  std::optional<double> at_most = {};
  std::optional<double> at_least_of_median = {};  // fraction of the median over all nodes
};

// How the measurements of a source are requested.
enum class Protocol : std::uint8_t {
  kPrometheus,   // one PromQL query per signal
  kLoadWatcher,  // GET /watcher of load-watcher (watcher_answer.hpp): one request for all signals
};

// Access to a source that a plugin's arguments describe. It is added to the settings that the file of metric
// sources has for the same name or address.
struct SourceAccess {
  Protocol protocol = Protocol::kPrometheus;
  std::string bearer_token{};         // empty: that of the file
  bool insecure_skip_verify = false;  // false: as in the file
  friend bool operator==(const SourceAccess&, const SourceAccess&) = default;
};

// Specifications that differ only in their names share one signal, which is polled once. "$node" in an
// expression is replaced by the labels with which the source identifies nodes: "sum by ($node) (...)".
struct SignalSpec {
  std::string name;    // for logs, explanations and metrics
  std::string source;  // the server's address, or its name in the file of metric sources
  // PromQL; the result contains all nodes. kLoadWatcher: a quantity of watcher_answer.hpp.
  std::string expression;
  Merge merge = Merge::kMax;
  Duration window{};                        // time range of the expression; zero: an instant value
  Duration hold = std::chrono::minutes(5);  // validity of the last value when polls fail
  std::vector<SignalGuard> guards = {};
  Subject subject = Subject::kNode;
  Duration every{};  // minimum interval between polls; zero: every poll
  SourceAccess access = {};
  // kWorkload: the labels of a series that are kept, and the number of series that are read at most.
  std::vector<std::string> series_labels = {};
  std::size_t max_series = 0;

  bool Same(const SignalSpec& other) const;
};

// How current a signal's values are.
enum class SignalState {
  kWaiting,  // no poll has completed yet
  kFresh,    // the last poll succeeded
  kHeld,     // the last poll failed; the values are of an earlier poll
  kGone,     // no successful poll within `hold`; no node has a value
};
std::string_view NameOf(SignalState state);
inline bool HasValues(SignalState state) {
  return state == SignalState::kFresh || state == SignalState::kHeld;
}

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// Statistics of one poll. The numbers of measured and distrusted nodes change with the results of guards,
// which may arrive later than the signal's.
struct SignalCoverage {
  std::size_t nodes = 0;               // number of nodes
  std::size_t measured = 0;            // of these, nodes with a valid value
  std::size_t distrusted = 0;          // of these, nodes whose value a guard suppresses
  std::size_t merged = 0;              // additional series of nodes that already have one
  std::vector<std::string> unmatched;  // examples of series that match no node, for logs
  std::size_t unmatched_series = 0;
  std::size_t series = 0;          // kWorkload: with a value
  std::size_t dropped_series = 0;  // beyond SignalSpec::max_series
  SignalState before = SignalState::kWaiting, after = SignalState::kWaiting;
};

// The median of the known values (NaN if there are none). Used for nodes without a value, so that they are
// neither preferred nor avoided.
double MedianOf(std::span<const double> values);

// A series of a kWorkload signal.
struct SeriesValue {
  SeriesName name;
  double value = kNoValue;  // finite
};

// The values of one measurement for all nodes.
struct Signal {
  SignalSpec spec;
  SignalState state = SignalState::kWaiting;
  MonoTime polled_at{};             // time of the poll that returned the current values
  std::vector<double> values;       // by row; NaN: unknown. May be shorter than the table
  std::vector<SeriesValue> series;  // kWorkload: of the last result; empty while the state is kGone
  std::string error;                // error of the last poll; empty: it succeeded
  SignalCoverage coverage;          // of the last poll

  double At(cluster::Row row) const { return row < values.size() ? values[row] : kNoValue; }
};

// Identifying labels of series that occur for the first time. Producer and consumer share the chunk. Series
// are numbered consecutively over all chunks of a source, in order of delivery.
using SeriesChunk = std::shared_ptr<const std::vector<SeriesName>>;

// The result of one poll of one signal.
struct SignalAnswer {
  SignalId signal{};
  MonoTime polled_at{};
  // the source restarts the numbering of its series at 0
  bool renumbered = false;
  SeriesChunk fresh;  // null: no new series
  // series number and value; NaN and infinities: no value
  std::vector<std::pair<std::uint32_t, double>> samples;
  std::size_t dropped_series = 0;  // beyond SignalSpec::max_series
};
// The result of a poll that returned these series.
SignalAnswer AnswerOf(SignalId signal, MonoTime polled_at, std::vector<SeriesValue> series);
// A poll without a result.
struct FailedPoll {
  SignalId signal{};
  MonoTime at{};
  std::string error;
};
using PollResult = std::variant<SignalAnswer, FailedPoll>;
using AnswerListener = std::function<void(const SignalAnswer&)>;

// One per engine (framework::Handle::signals). Scheduler loop only.
class SignalTable final : private cluster::PodObserver {
 public:
  explicit SignalTable(cluster::NodeTable& nodes);
  ~SignalTable() override;
  SignalTable(const SignalTable&) = delete;
  SignalTable& operator=(const SignalTable&) = delete;

  // --- for plugins ---
  // To be called while plugins are built.
  SignalId Declare(const SignalSpec& spec);
  const Signal& signal(SignalId id) const { return entries_[static_cast<std::size_t>(id)].signal; }
  // The signals that were declared since the last call, guards and shared signals included; may contain
  // duplicates.
  std::vector<SignalId> TakeDeclared() { return std::exchange(declared_, {}); }
  // Whether the signal determines for which nodes others are valid.
  bool IsGuard(SignalId id) const { return !entries_[static_cast<std::size_t>(id)].guarded.empty(); }
  // Whether a signal of this specification was declared, whatever its name.
  bool Has(const SignalSpec& spec) const;
  // Listeners that are added from now on belong to `owner`: they are removed when it is destroyed.
  void SetListenerOwner(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }
  // Calls the owner's listeners for signals that have values already, as a poll would do. Listeners of pod
  // signals receive the names of all series, without values.
  void DeliverKnownValues(const std::shared_ptr<const void>& owner);
  // Adds a listener that is called after the values of the signal have changed.
  void Listen(SignalId id, std::function<void()> listener);
  // Adds a listener that receives every poll result of a pod signal. The series numbers of this signal are
  // independent of other signals.
  void ListenToPods(SignalId id, AnswerListener listener);
  // Null if there is no running clock: in explanations.
  const Clock* clock() const { return clock_; }

  // --- for the metric source ---
  void SetClock(const Clock& clock) { clock_ = &clock; }
  std::size_t size() const { return entries_.size(); }
  // Whether every signal, guards included, was polled at least once, with or without success.
  bool AllPolled() const;
  // Stores the result of a successful poll.
  SignalCoverage Take(const SignalAnswer& answer);
  // Records a failed poll.
  SignalCoverage Failed(SignalId id, MonoTime now, std::string why);
  // Take or Failed.
  SignalCoverage On(const PollResult& result);

  // --- for recordings ---
  // All that values depend on besides later results. Drops the known addresses of nodes, as a table which
  // starts in this state has none.
  SavedSignals Save();
  // Requires the same declarations, and the rows and nodes of the time of Save. Listeners are not called:
  // their owners restore what they derived. Errors name the member; then the table must not be used.
  Expected<void> Restore(const SavedSignals& saved);

 private:
  template <class Listener>
  struct Owned {
    std::weak_ptr<const void> owner;
    Listener call;
  };
  // Calls the listeners whose owner exists, and removes the others.
  template <class Listener, class... Args>
  static void Notify(std::vector<Owned<Listener>>& listeners, const Args&... args) {
    std::erase_if(listeners, [](const auto& listener) { return listener.owner.expired(); });
    for (const auto& listener : listeners) listener.call(args...);
  }
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
    std::vector<SignalId> guarded;  // signals that use this signal as a guard
    std::vector<Owned<std::function<void()>>> listeners;
    std::vector<Owned<AnswerListener>> pod_listeners;
    std::vector<SeriesChunk> pod_chunks;   // kPod: the names of all series
    std::vector<SeriesName> series_names;  // kWorkload: by series number
  };
  struct Source {
    std::string name;
    SourceAccess access;
    std::vector<SeriesChunk> chunks;
    std::vector<cluster::Row> row_of;  // by series number
    std::uint64_t resolved_by = 0;
  };

  void OnPodAdded(cluster::Row, const cluster::PlacedPod&) override {}
  void OnPodRemoved(cluster::Row, const cluster::PlacedPod&) override {}
  void OnNodeAdded(cluster::Row row) override;
  void OnNodeRemoved(cluster::Row row) override;

  void TakeNodes(Entry& entry, const SignalAnswer& answer);
  void TakeSeries(Entry& entry, const SignalAnswer& answer);
  Entry& EntryOf(SignalId id) { return entries_[static_cast<std::size_t>(id)]; }
  std::size_t SourceOf(const SignalSpec& spec);
  void Resolve(Source& source, const SignalAnswer& answer);
  void Fill(Entry& entry, const Source& source, const SignalAnswer& answer, SignalCoverage& coverage) const;
  void Show(Entry& entry);
  void CountNodes(Entry& entry) const;
  void ShowWithGuarded(Entry& entry);
  bool Trusted(const Entry& entry, cluster::Row row) const;
  static SavedSignals::Signal SaveEntry(const Entry& entry);
  Expected<void> RestoreEntry(const SavedSignals::Signal& saved, Entry& entry) const;
  void SetValues(Entry& entry) const;

  cluster::NodeTable& nodes_;
  NodeDirectory directory_;
  const Clock* clock_ = nullptr;
  std::vector<Entry> entries_;
  std::vector<Source> sources_;
  std::vector<SignalId> declared_;
  const std::shared_ptr<const void> self_ = std::make_shared<const char>();
  std::weak_ptr<const void> owner_ = self_;  // of new listeners
};

}  // namespace berth::load_metrics
