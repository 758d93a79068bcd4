#include "scheduler/plugin_host/load_check.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/child_process.hpp"
#include "scheduler/plugin_host/shared_object.hpp"

namespace berth::plugin_host {
namespace {

// The lines that the child writes: one before each step, and finally the result.
constexpr char kStep = 's';
constexpr char kGood = 'g';
constexpr char kBad = 'b';

void WriteLine(int to, char kind, std::string_view text) {
  std::string line(1, kind);
  for (const char c : text) line += c == '\n' ? ' ' : c;
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const auto written = ::write(to, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Runs in the child.
void LoadAndReport(const std::string& path, int report) {
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM}) std::signal(signal, SIG_DFL);
  try {
    const auto object =
        OpenSharedObject(path, [report](const char* step) { WriteLine(report, kStep, step); });
    WriteLine(report, object ? kGood : kBad, object ? "" : object.error().message);
  } catch (const std::exception& thrown) {
    WriteLine(report, kBad, fmt::format("threw an exception: {}", thrown.what()));
  } catch (...) {
    WriteLine(report, kBad, "threw an exception");
  }
}

struct Report {
  std::string step = "before it was loaded";  // the last step that was started
  bool good = false;
  std::string bad;  // the error; empty: none
};

Report ParseReport(std::string_view text) {
  Report report;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kStep)) report.step = line.substr(1);
    if (line.starts_with(kGood)) report.good = true;
    if (line.starts_with(kBad)) report.bad = line.substr(1);
  }
  return report;
}

Expected<void> Verdict(const ChildResult& result, Duration allowed) {
  const Report report = ParseReport(result.output);
  if (!report.bad.empty()) return Invalid(report.bad);
  if (result.end != ChildResult::End::kExited) {
    return Invalid(fmt::format("hung {}: not finished after {:g} s", report.step,
                               std::chrono::duration<double>(allowed).count()));
  }
  if (const int signal = result.status.signal; signal != 0)
    return Invalid(fmt::format("crashed {}: signal {} ({})", report.step, signal, ::strsignal(signal)));
  if (!report.good)
    return Invalid(fmt::format("ended the process {}: {}", report.step, result.status.Text()));
  return {};
}

}  // namespace

Expected<void> LoadInChildProcess(const std::string& path, Duration allowed) {
  auto child = ChildProcess::Fork([&path](int report) { LoadAndReport(path, report); });
  if (!child) return std::unexpected(std::move(child).error().In("cannot start a child process to load it"));
  return Verdict(child->Wait({.timeout = allowed}, {}), allowed);
}

}  // namespace berth::plugin_host
