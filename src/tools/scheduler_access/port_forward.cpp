#include "tools/scheduler_access/port_forward.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/trim.hpp"

namespace berth::scheduler_access {
namespace {

constexpr std::chrono::milliseconds kPoll{10};
constexpr std::string_view kListens = "Forwarding from 127.0.0.1:";

Expected<std::filesystem::path> MakeFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "berth-forward-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot create {}", pattern));
  return std::filesystem::path(pattern);
}

std::vector<std::string> CommandLine(const ForwardTarget& target) {
  std::vector<std::string> words = {"kubectl"};
  if (!target.kubeconfig.empty()) words.push_back("--kubeconfig=" + target.kubeconfig);
  if (!target.context.empty()) words.push_back("--context=" + target.context);
  words.insert(words.end(), {"--namespace=" + target.ns, "port-forward", "--address=127.0.0.1",
                             "pod/" + target.pod, fmt::format(":{}", target.port)});
  return words;
}

// From kubectl's first line; nullopt if it has not printed it yet.
std::optional<std::uint16_t> PortIn(std::string_view output) {
  const std::size_t at = output.find(kListens);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = output.substr(at + kListens.size());
  if (rest.find('\n') == std::string_view::npos) return std::nullopt;  // the line is not complete
  std::uint16_t port = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), port).ec != std::errc()) return std::nullopt;
  return port;
}

}  // namespace

Expected<PortForward> PortForward::Start(const ForwardTarget& target, const Clock& clock, Duration timeout) {
  BERTH_TRY(std::filesystem::path folder, MakeFolder());
  const std::string log = folder / "kubectl.log";
  auto child = ChildProcess::Start({.arguments = CommandLine(target), .output = OutputToFile{log}});
  if (!child) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return std::unexpected(std::move(child).error());
  }
  PortForward forward(std::move(folder), std::move(*child));
  const std::string what = fmt::format("kubectl port-forward to pod {}/{}", target.ns, target.pod);
  for (const MonoTime deadline = clock.Now() + timeout;;) {
    const bool ended =
        forward.child_.Ended().has_value();  // before its output is read, so that this is complete
    const std::string output = ReadWholeFile(log).value_or("");
    if (const auto port = PortIn(output)) {
      forward.port_ = *port;
      return forward;
    }
    if (ended) return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", what, Trimmed(output, " \n")));
    if (clock.Now() > deadline)
      return Fail(ErrorCode::kTimeout, fmt::format("{}: no connection within {} s: {}", what,
                                                   std::chrono::floor<std::chrono::seconds>(timeout).count(),
                                                   Trimmed(output, " \n")));
    std::this_thread::sleep_for(kPoll);
  }
}

PortForward::PortForward(std::filesystem::path folder, ChildProcess child)
    : folder_(std::move(folder)), child_(std::move(child)) {}

PortForward::~PortForward() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace berth::scheduler_access
