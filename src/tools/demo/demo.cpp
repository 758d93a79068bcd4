#include "tools/demo/demo.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/child_process.hpp"
#include "base/files.hpp"
#include "base/text_layout.hpp"
#include "tools/demo/command_line.hpp"
#include "tools/demo/observer.hpp"
#include "tools/demo/summary.hpp"
#include "tools/load_generator/api_load.hpp"

namespace berth::demo {
namespace {

using Steady = std::chrono::steady_clock;

// Becomes true at SIGINT or SIGTERM. Child processes get the default action of these signals.
class Interruption {
 public:
  Interruption() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) happened_ = true;
    });
    thread_ = std::jthread([this] { io_.run(); });
  }
  ~Interruption() { io_.stop(); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  const std::atomic<bool>& happened() const { return happened_; }

 private:
  std::atomic<bool> happened_{false};
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_{io_, SIGINT, SIGTERM};
  std::jthread thread_;
};

constexpr std::string_view kSchedulerConfig = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {}, contentType: application/json, qps: 100000, burst: 100000}}
leaderElection: {{leaderElect: false}}
)";

class Demo {
 public:
  // `interrupted` ends the run.
  Demo(const DemoOptions& options, const std::atomic<bool>& interrupted)
      : options_(options), interrupted_(interrupted), terminal_(::isatty(STDOUT_FILENO) == 1) {}
  ~Demo();

  // Runs all phases. The first error ends it; interruption is the error kCancelled.
  Expected<void> Run();

 private:
  Expected<void> StartSandbox();
  Expected<void> StartScheduler();
  Expected<void> Submit();
  Expected<void> AwaitPlacement();
  Expected<void> ShowSummary();
  Expected<void> ShowPreemption();
  Expected<void> KeepRunning();

  Expected<void> CheckChildren();
  void ShowProgress(const Observer::Counts& counts, bool last);
  std::string Log(std::string_view name) const { return folder_ / fmt::format("{}.log", name); }

  const DemoOptions& options_;
  const std::atomic<bool>& interrupted_;
  bool terminal_;
  Workload workload_;
  std::filesystem::path folder_;
  std::string kubeconfig_;
  std::uint16_t port_ = 0;
  std::optional<ChildProcess> sandbox_;
  std::optional<ChildProcess> scheduler_;
  std::unique_ptr<Observer> observer_;
  Steady::time_point last_shown_;
  bool failed_ = true;  // keeps the logs
};

Demo::~Demo() {
  observer_.reset();
  scheduler_.reset();
  sandbox_.reset();
  std::error_code ignored;
  if (!failed_ || interrupted_) std::filesystem::remove_all(folder_, ignored);
}

Expected<void> Demo::Run() {
  BERTH_RETURN_IF_ERROR(StartSandbox());
  BERTH_RETURN_IF_ERROR(StartScheduler());
  BERTH_RETURN_IF_ERROR(Submit());
  BERTH_RETURN_IF_ERROR(AwaitPlacement());
  BERTH_RETURN_IF_ERROR(ShowSummary());
  BERTH_RETURN_IF_ERROR(ShowPreemption());
  if (options_.keep) BERTH_RETURN_IF_ERROR(KeepRunning());
  failed_ = false;
  return {};
}

Expected<void> Demo::StartSandbox() {
  std::string pattern = (std::filesystem::temp_directory_path() / "berth-demo-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot create {}", pattern));
  folder_ = pattern;
  kubeconfig_ = folder_ / "kubeconfig";
  BERTH_TRY(auto child,
            ChildProcess::Start(
                {.arguments = {OwnExecutable(), "sandbox", "--nodes", fmt::to_string(options_.size.nodes),
                               "--gpu-nodes", fmt::to_string(options_.size.gpu_nodes),
                               fmt::format("--gpu-claims={}", options_.gpu_claims), "--zones",
                               fmt::to_string(options_.size.zones), "--seed", fmt::to_string(options_.seed),
                               "--port", fmt::to_string(options_.port), "--kubeconfig", kubeconfig_},
                 .output = OutputToFile{Log("sandbox")}}));
  sandbox_.emplace(std::move(child));
  for (int i = 0; i < 3000 && !std::filesystem::exists(kubeconfig_); ++i) {
    BERTH_RETURN_IF_ERROR(CheckChildren());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  BERTH_TRY(port_, load_generator::PortIn(kubeconfig_));
  fmt::print("A cluster of {} nodes in {} zones ({} of them with GPUs) listens on port {}.\n",
             WithCommas(options_.size.nodes + options_.size.gpu_nodes), options_.size.zones,
             options_.size.gpu_nodes, port_);
  return {};
}

Expected<void> Demo::StartScheduler() {
  const std::string config = folder_ / "scheduler.yaml";
  BERTH_RETURN_IF_ERROR(WriteFileAtomically(config, fmt::format(kSchedulerConfig, kubeconfig_), 0600));
  const auto command =
      options_.scheduler_command.empty()
          // The metrics are not used, and the default port may be taken by another scheduler.
          ? std::vector<std::string>{OwnExecutable(), "scheduler", "--kubeconfig",         kubeconfig_,
                                     "--secure-port", "0",         "--berth-http-address", "127.0.0.1:0"}
          : CommandLine(options_.scheduler_command, {{"kubeconfig", kubeconfig_}, {"config", config}});
  BERTH_TRY(auto child,
            ChildProcess::Start({.arguments = command, .output = OutputToFile{Log("scheduler")}}));
  scheduler_.emplace(std::move(child));
  return {};
}

Expected<void> Demo::Submit() {
  workload_ = MakeWorkload(options_.size, options_.pods, options_.seed);
  const auto create = [&](std::string_view target, const std::string& body) -> Expected<void> {
    BERTH_TRY(const load_generator::Answer answer, load_generator::Call(port_, "POST", target, body));
    if (answer.status != 201)
      return Fail(ErrorCode::kInternal,
                  fmt::format("POST {}: HTTP {}: {}", target, answer.status, answer.body));
    return {};
  };
  BERTH_RETURN_IF_ERROR(
      create("/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", kNamespace)));
  for (const auto& body : workload_.priority_classes)
    BERTH_RETURN_IF_ERROR(create("/apis/scheduling.k8s.io/v1/priorityclasses", body));
  BERTH_TRY(observer_, Observer::Start(port_));
  fmt::print(
      "Creating {} pods: services, stream and batch jobs, training on GPUs, and {} that fit no node.\n",
      WithCommas(workload_.pods.size()), workload_.pods.size() - workload_.fitting());
  std::fflush(stdout);
  std::vector<std::string> bodies;
  for (const auto& pod : workload_.pods) bodies.push_back(pod.body);
  std::atomic<int> refused = 0;
  load_generator::PostOptions options;
  options.stop = &interrupted_;
  BERTH_RETURN_IF_ERROR(load_generator::PostAll(
      port_, fmt::format("/api/v1/namespaces/{}/pods", kNamespace), bodies, options,
      [&](std::size_t, int status) { refused = status == 201 ? refused.load() : status; }));
  if (refused != 0)
    return Fail(ErrorCode::kInternal,
                fmt::format("the API server rejected pods with HTTP {}", refused.load()));
  return {};
}

Expected<void> Demo::CheckChildren() {
  if (interrupted_) return Fail(ErrorCode::kCancelled, "interrupted");
  for (const auto& [name, child] :
       {std::pair<std::string_view, std::optional<ChildProcess>*>{"sandbox", &sandbox_},
        {"scheduler", &scheduler_}}) {
    if (!child->has_value()) continue;
    if (const auto ended = (*child)->Ended()) {
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("the {} ended with {}; the end of its log ({}):\n{}", name, ended->Text(),
                              Log(name), LastLines(Log(name), 8)));
    }
  }
  return {};
}

// Waits until every pod that fits is bound and every other pod has a message, or until nothing changes any
// more.
Expected<void> Demo::AwaitPlacement() {
  constexpr std::chrono::seconds kStallTimeout{60};
  // Pods that should fit may stay unbound if the cluster is too small. Then the wait ends when all pods have
  // messages and none was bound for this time.
  constexpr std::chrono::seconds kSettleTime{10};
  auto progress = Steady::now();
  std::uint64_t changes = 0;
  std::size_t bound = 0;
  for (;;) {
    BERTH_RETURN_IF_ERROR(CheckChildren());
    const auto counts = observer_->counts();
    const auto now = Steady::now();
    if (counts.changes != changes && counts.bound + counts.explained != bound) progress = now;
    changes = counts.changes;
    bound = counts.bound + counts.explained;
    const bool all_explained = counts.seen == workload_.pods.size() && bound == counts.seen;
    const bool done = all_explained && (counts.bound >= workload_.fitting() || now - progress > kSettleTime);
    ShowProgress(counts, done);
    if (done) return {};
    if (now - progress > kStallTimeout) {
      return Fail(
          ErrorCode::kTimeout,
          fmt::format(
              "no progress for {} seconds: {} of {} pods are bound; the end of the scheduler's log ({}):\n{}",
              kStallTimeout.count(), counts.bound, workload_.pods.size(), Log("scheduler"),
              LastLines(Log("scheduler"), 8)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Demo::ShowProgress(const Observer::Counts& counts, bool last) {
  const auto now = Steady::now();
  if (!last &&
      now - last_shown_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1000)))
    return;
  last_shown_ = now;
  const double took = std::chrono::duration<double>(counts.last_bound - counts.first_created).count();
  const double speed = counts.bound > 0 && took > 0 ? static_cast<double>(counts.bound) / took : 0;
  const std::string line =
      fmt::format("  {} of {} pods bound, {} explained, {} pods per second", WithCommas(counts.bound),
                  WithCommas(workload_.pods.size()), WithCommas(counts.explained),
                  WithCommas(static_cast<std::size_t>(speed)));
  if (terminal_)
    fmt::print("\r{:<76}{}", line, last ? "\n" : "");
  else
    fmt::print("{}\n", line);
  std::fflush(stdout);
}

Expected<void> Demo::ShowSummary() {
  BERTH_TRY(const auto use, NodeUse(port_));
  const auto counts = observer_->counts();
  BERTH_TRY(const std::string topology, TopologySummary(port_, observer_->Pods()));
  fmt::print("{}{}", Summary(counts, observer_->Pods(), use), topology);
  std::fflush(stdout);
  if (counts.bound < workload_.fitting()) {
    return Fail(ErrorCode::kInternal,
                fmt::format("{} pods that should fit were not bound", workload_.fitting() - counts.bound));
  }
  return {};
}

// The last phase: a pod that fits no node until others are evicted.
Expected<void> Demo::ShowPreemption() {
  constexpr std::chrono::seconds kStallTimeout{30};
  BERTH_TRY(const std::int64_t free, MostFreeMilliCpu(port_));
  const std::int64_t wanted = free + 100;
  BERTH_TRY(const load_generator::Answer answer,
            load_generator::Call(port_, "POST", fmt::format("/api/v1/namespaces/{}/pods", kNamespace),
                                 MakePreemptor(wanted)));
  if (answer.status != 201)
    return Fail(ErrorCode::kInternal,
                fmt::format("the API server rejected a pod with HTTP {}", answer.status));
  const auto start = Steady::now();
  for (;;) {
    BERTH_RETURN_IF_ERROR(CheckChildren());
    const auto pods = observer_->Pods();
    const auto preemptor = std::ranges::find(pods, kPreemptor, &ObservedPod::kind);
    const bool placed = preemptor != pods.end() && !preemptor->node.empty();
    // In an almost empty cluster there is no pod to evict.
    const bool no_victims = preemptor != pods.end() && preemptor->message.contains("preemption: 0/");
    if (placed || no_victims || Steady::now() - start > kStallTimeout) {
      fmt::print("{}", PreemptionSummary(pods, wanted));
      std::fflush(stdout);
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Expected<void> Demo::KeepRunning() {
  fmt::print(
      "\nThe cluster keeps running. To inspect it:\n  export KUBECONFIG={}\n  kubectl -n {} get pods -o "
      "wide\n  kubectl get nodes\n  kubectl -n {} describe pod never-too-big-00000\nPress Ctrl-C to stop "
      "it.\n",
      kubeconfig_, kNamespace, kNamespace);
  std::fflush(stdout);
  for (;;) {
    auto running = CheckChildren();
    if (!running && interrupted_) return {};
    BERTH_RETURN_IF_ERROR(running);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  const Interruption interruption;
  Demo demo(options, interruption.happened());
  const auto done = demo.Run();
  if (done) return 0;
  if (done.error().code == ErrorCode::kCancelled) {
    fmt::print("\nStopped.\n");
    return 130;
  }
  fmt::print(stderr, "\nberth demo: {}\n", done.error().message);
  return 1;
}

}  // namespace berth::demo
