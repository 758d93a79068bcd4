#include "scheduler/load_metrics/poller.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "base/go_duration.hpp"
#include "base/random.hpp"
#include "http/loop.hpp"
#include "observability/log/log.hpp"
#include "scheduler/load_metrics/poller_metrics.hpp"
#include "scheduler/load_metrics/query_answer.hpp"
#include "scheduler/load_metrics/series_catalog.hpp"
#include "scheduler/load_metrics/watcher_answer.hpp"

namespace berth::load_metrics {

namespace {

const std::vector<std::string> kPodLabels = {"namespace", "pod"};
const std::vector<NodePattern> kAsTheyAre;
// After the start, decisions wait a few seconds for the first complete result, so a failed poll is repeated
// earlier than after a poll interval.
constexpr Duration kFirstRetry = std::chrono::seconds(1);
constexpr int kFirstRetries = 10;
// Signals that are polled less often than this are repeated after this time if their poll failed.
constexpr Duration kRetry = std::chrono::minutes(1);

// The data that messages about a signal carry to the scheduler loop; alive as long as a message is in flight.
struct Target {
  Target(SignalId id, const SignalSpec& spec, const std::string& source, metrics::Registry& registry)
      : id(id),
        name(spec.name),
        expression(spec.expression),
        every(spec.every),
        hold(spec.hold),
        max_series(spec.max_series),
        series_labels(spec.subject == Subject::kPod ? kPodLabels : spec.series_labels),
        metrics(registry, source, spec.name) {
    if (spec.subject != Subject::kNode) own_series.emplace(series_labels, kAsTheyAre);
  }
  Target(const Target&) = delete;  // the catalog refers to the labels
  Target& operator=(const Target&) = delete;

  const SignalId id;
  const std::string name;
  const std::string expression;
  const Duration every;
  const Duration hold;
  const std::size_t max_series;  // 0: no limit
  const std::vector<std::string> series_labels;
  // nullopt: its series describe nodes and share the numbering of the others
  std::optional<SeriesCatalog> own_series;
  std::optional<MonoTime> polled_at;
  std::string error;  // of the last response; empty: success
  SignalMetrics metrics;
  log::Once logged{16};
  bool unmatched_logged = false;
};

using Targets = std::vector<std::shared_ptr<Target>>;

// The signals of one source. On the io loop.
class Rounds {
 public:
  Rounds(SourceSettings settings, std::unique_ptr<QueryClient> client, PollerParts& parts, Random& random)
      : settings_(std::move(settings)),
        client_(std::move(client)),
        parts_(parts),
        clock_(parts.measurements.clock()),
        random_(random),
        nodes_(settings_.node_labels, settings_.node_patterns),
        metrics_(parts.metrics, settings_.name) {}

  void Add(SignalId id, const SignalSpec& spec) {
    targets_.push_back(std::make_shared<Target>(id, spec, settings_.name, parts_.metrics));
  }

  void Begin() {
    began_ = parts_.loop.Now();
    Targets due;
    std::ranges::copy_if(targets_, std::back_inserter(due), [this](const auto& target) {
      if (!target->polled_at || (starting() && !target->error.empty())) return true;
      const Duration every = target->error.empty() ? target->every : std::min(target->every, kRetry);
      return began_ - *target->polled_at >= every;
    });
    outstanding_ = due.size();
    if (due.empty()) return Rest();
    polled_ = due;
    client_->BeginRound();
    for (const auto& target : due) target->polled_at = began_;
    if (settings_.protocol == Protocol::kPrometheus) {
      for (const auto& target : due) Request({target});
      return;
    }
    // Whether a response is too old depends on the validity of the signals.
    while (!due.empty()) {
      const auto others = std::ranges::stable_partition(
          due, [hold = due.front()->hold](const auto& target) { return target->hold == hold; });
      Request({due.begin(), others.begin()});
      due.erase(due.begin(), others.begin());
    }
  }

  void Stop() {
    parts_.loop.Cancel(timer_);
    client_.reset();
  }

 private:
  // One request for these signals; more than one only of load-watcher.
  void Request(const Targets& targets) {
    const auto answers = std::make_shared<std::vector<SignalAnswer>>(targets.size());
    client_->Run(
        targets.front()->expression,
        [this, targets, answers](int status, std::string_view body) -> Expected<> {
          return settings_.protocol == Protocol::kLoadWatcher
                     ? ReadWatcher(targets, status, body, *answers)
                     : Read(*targets.front(), status, body, answers->front());
        },
        [this, targets, answers](Expected<> read) {
          for (std::size_t i = 0; i < targets.size(); ++i)
            Answered(targets[i], std::move((*answers)[i]), read);
        });
  }

  void Answered(const std::shared_ptr<Target>& target, SignalAnswer answer, const Expected<>& read) {
    if (!read && read.error().code == ErrorCode::kCancelled) return;
    metrics_.duration.Observe(std::chrono::duration<double>(parts_.loop.Now() - began_).count());
    if (read) {
      metrics_.answered.Add();
      has_answered_ = true;
      target->error.clear();
      Deliver(std::move(answer));
    } else {
      (read.error().code == ErrorCode::kInvalid ? metrics_.refused : metrics_.failed).Add();
      Fail(target, read.error());
    }
    if (--outstanding_ == 0) End();
  }

  Expected<> Read(Target& target, int status, std::string_view body, SignalAnswer& answer) {
    answer = EmptyAnswer(target, Duration{});
    SeriesCatalog& catalog = target.own_series ? *target.own_series : nodes_;
    catalog.Begin();
    const auto notes = ReadAnswer(status, body, [&](const LabelOf& labels, double value) {
      if (target.max_series > 0 && answer.samples.size() >= target.max_series) {
        ++answer.dropped_series;
      } else {
        catalog.Add(answer, labels, value);
      }
    });
    if (!notes) return std::unexpected(notes.error());
    catalog.End(answer);
    if (!notes->warnings.empty()) {
      metrics_.partial.Add();
      const std::string text = fmt::format("{}", fmt::join(notes->warnings, "; "));
      if (target.logged.First(text)) {
        log::Warning("Metric source returned warnings",
                     {{"source", settings_.name}, {"signal", target.name}, {"warnings", text}});
      }
    }
    return {};
  }

  SignalAnswer EmptyAnswer(const Target& target, Duration age) const {
    return {
        .signal = target.id, .polled_at = began_ - age, .renumbered = false, .fresh = nullptr, .samples = {}};
  }

  Expected<> ReadWatcher(const Targets& targets, int status, std::string_view body,
                         std::vector<SignalAnswer>& answers) {
    BERTH_TRY(const WatcherAnswer document, ReadWatcherAnswer(status, body));
    const Duration age = AgeOf(document);
    if (const Duration hold = targets.front()->hold; age > hold) {
      return berth::Fail(ErrorCode::kUnavailable,
                         fmt::format("the metrics of load-watcher are {} old, and valid for {} (holdFor)",
                                     FormatGoDuration(age), FormatGoDuration(hold)));
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      answers[i] = EmptyAnswer(*targets[i], age);
      nodes_.Begin();
      for (const WatcherNode& node : document.nodes) {
        const auto value = QuantityOf(node, targets[i]->expression);
        if (!value) continue;
        nodes_.Add(
            answers[i],
            [&](std::string_view label) { return label == "node" ? node.name : std::string_view(); }, *value);
      }
      nodes_.End(answers[i]);
    }
    return {};
  }

  // Whole seconds; zero if the clock of load-watcher is ahead, or if there is no clock (in explanations).
  Duration AgeOf(const WatcherAnswer& document) const {
    if (clock_ == nullptr || document.window_end == 0) return {};
    const std::int64_t now =
        std::chrono::floor<std::chrono::seconds>(clock_->WallNow()).time_since_epoch().count();
    constexpr std::int64_t kMost = 1'000'000'000;  // sums with other times must not overflow
    return std::chrono::seconds(now - std::clamp(document.window_end, now - kMost, now));
  }

  void Deliver(SignalAnswer answer) {
    const auto result = std::make_shared<const PollResult>(std::move(answer));
    parts_.post_result(*result, [&measurements = parts_.measurements, result] { measurements.On(*result); });
  }

  // Which nodes a signal measures depends on its guards, too, so it is reported when all queries are
  // answered.
  void ReportCoverage() {
    Targets answered;
    std::ranges::copy_if(polled_, std::back_inserter(answered),
                         [](const auto& target) { return target->error.empty(); });
    parts_.post([&measurements = parts_.measurements, answered = std::move(answered)] {
      for (const auto& target : answered) {
        const SignalCoverage& coverage = measurements.signal(target->id).coverage;
        target->metrics.Show(coverage);
        LogUnmatched(*target, coverage);
      }
    });
  }

  // Logs once, and again after the problem was gone for a while. On the scheduler loop.
  static void LogUnmatched(Target& target, const SignalCoverage& coverage) {
    const bool wrong =
        coverage.unmatched_series > 0 || coverage.measured + coverage.distrusted < coverage.nodes;
    if (wrong && !target.unmatched_logged) {
      log::Warning("Some nodes have no value, or some series match no node",
                   {{"signal", target.name},
                    {"nodes", coverage.nodes},
                    {"measured", coverage.measured},
                    {"distrusted", coverage.distrusted},
                    {"unmatchedSeries", coverage.unmatched_series},
                    {"forExample", fmt::format("{}", fmt::join(coverage.unmatched, " "))}});
    }
    target.unmatched_logged = wrong;
  }

  void Fail(const std::shared_ptr<Target>& target, const Error& error) {
    target->error = error.message;
    const auto result =
        std::make_shared<const PollResult>(FailedPoll{target->id, parts_.loop.Now(), error.message});
    parts_.post_result(*result, [&measurements = parts_.measurements, target, result] {
      const SignalCoverage coverage = measurements.On(*result);
      target->metrics.Show(coverage);
      if (coverage.after == SignalState::kGone && coverage.before != coverage.after) {
        log::Warning("Signal expired; it is not used until new values arrive",
                     {{"signal", target->name}, {"err", std::get<FailedPoll>(*result).error}});
      }
    });
  }

  // Whether the source has not yet answered all queries of one round, shortly after the start.
  bool starting() const { return failed_starts_ < kFirstRetries; }

  void End() {
    ReportCoverage();
    const auto failed =
        std::ranges::find_if(targets_, [](const auto& target) { return !target->error.empty(); });
    const bool failing = failed != targets_.end();
    metrics_.up.Set(!failing);
    failed_starts_ = failing ? std::min(failed_starts_ + 1, kFirstRetries) : kFirstRetries;
    if (failing != std::exchange(failing_, failing))
      Report(failing ? fmt::format("{}: {}", (*failed)->name, (*failed)->error) : "");
    ChooseFirst();
    Rest();
  }

  // The client sends a few queries at a time, and all have the same deadline: with a slow source the last
  // ones are not sent in time. So the next round begins behind the queries that had their turn: with the
  // first one that failed after another was answered.
  void ChooseFirst() {
    const auto has_failed = [](const auto& target) { return !target->error.empty(); };
    const auto answered = std::ranges::find_if_not(polled_, has_failed);
    auto first = std::find_if(answered, polled_.end(), has_failed);
    if (answered == polled_.end() && polled_.size() > 1) first = polled_.begin() + 1;
    if (first != polled_.end()) std::ranges::rotate(targets_, std::ranges::find(targets_, *first));
  }

  void Report(const std::string& error) {
    if (failing_) {
      log::Warning(has_answered_ ? "Metric source unavailable; using the last values until they expire"
                                 : "Metric source unavailable; its signals have no values yet",
                   {{"source", settings_.name}, {"err", error}});
    } else {
      log::Info("Metric source available again", {{"source", settings_.name}});
    }
    if (parts_.on_source_change) parts_.on_source_change({settings_.name, failing_, has_answered_, error});
  }

  void Rest() {
    const double share = 0.95 + 0.1 * random_.Unit();
    const auto interval = starting() ? std::min<Duration>(kFirstRetry, settings_.poll_interval)
                                     : std::chrono::duration_cast<Duration>(settings_.poll_interval * share);
    const Duration rest = began_ + interval - parts_.loop.Now();
    timer_ = parts_.loop.After(std::max(rest, Duration{}), [this] { Begin(); });
  }

  const SourceSettings settings_;
  std::unique_ptr<QueryClient> client_;
  PollerParts& parts_;
  const Clock* const clock_;
  Random& random_;
  SeriesCatalog nodes_;
  SourceMetrics metrics_;
  Targets targets_;        // in the order of their queries in the next round
  Targets polled_;         // in the current round, in the order of their queries
  int failed_starts_ = 0;  // rounds before the first without a failure
  http::Loop::TimerId timer_ = http::Loop::TimerId::kNone;
  MonoTime began_{};
  std::size_t outstanding_ = 0;
  bool failing_ = false;
  bool has_answered_ = false;  // at least one query, ever
};

}  // namespace

struct Poller::Impl {
  explicit Impl(PollerParts parts) : parts(std::move(parts)), random(this->parts.seed) {}

  PollerParts parts;
  Random random;
  std::deque<Rounds> sources;
};

Expected<std::unique_ptr<Poller>> Poller::Start(const std::vector<SourceSettings>& sources,
                                                PollerParts parts) {
  auto impl = std::make_unique<Impl>(std::move(parts));
  struct Known {
    std::string source;
    SourceAccess access;
    Rounds* rounds = nullptr;
  };
  std::vector<Known> known;
  for (std::size_t i = 0; i < impl->parts.measurements.size(); ++i) {
    const auto id = static_cast<SignalId>(i);
    const SignalSpec& spec = impl->parts.measurements.signal(id).spec;
    auto found = std::ranges::find_if(
        known, [&](const Known& k) { return k.source == spec.source && k.access == spec.access; });
    if (found == known.end()) {
      auto settings = FindSource(sources, spec.source);
      if (!settings) return std::unexpected(std::move(settings).error().In(spec.name));
      ApplyAccess(spec.access, *settings);
      auto client = QueryClient::Open(*settings, impl->parts.access);
      if (!client) return std::unexpected(std::move(client).error().In(settings->name));
      Rounds& rounds =
          impl->sources.emplace_back(std::move(*settings), std::move(*client), impl->parts, impl->random);
      known.emplace_back(spec.source, spec.access, &rounds);
      found = known.end() - 1;
    }
    found->rounds->Add(id, spec);
  }
  impl->parts.loop.Post([&sources = impl->sources] {
    for (Rounds& rounds : sources) rounds.Begin();
  });
  return std::unique_ptr<Poller>(new Poller(std::move(impl)));
}

Poller::Poller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Poller::~Poller() {
  impl_->parts.loop.Sync([this] {
    for (Rounds& rounds : impl_->sources) rounds.Stop();
  });
}

}  // namespace berth::load_metrics
