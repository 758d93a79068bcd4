#include "service/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/version.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::service {
namespace {

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Field 0 of /proc/self/statm is the virtual size, field 1 the resident size; both in pages.
double Memory(int field) {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  for (int i = 0; i <= field; ++i) statm >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double OpenFiles() {
  std::error_code ignored;
  double count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", ignored);
       it != std::filesystem::end(it); ++it) {
    ++count;
  }
  return count - 1;  // without the descriptor of this directory listing
}

double Limit(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return static_cast<double>(limit.rlim_cur);
}

// /proc/self/net/netstat has pairs of lines, names and values: "IpExt: InNoRoutes ... InOctets OutOctets ..."
double NetworkBytes(std::string_view counter) {
  std::ifstream netstat("/proc/self/net/netstat");
  std::string names;
  std::string numbers;
  while (std::getline(netstat, names) && std::getline(netstat, numbers)) {
    if (!names.starts_with("IpExt:")) continue;
    std::istringstream name(names);
    std::istringstream number(numbers);
    std::string n;
    std::string value;
    while (name >> n && number >> value) {
      if (n == counter) return std::strtod(value.c_str(), nullptr);
    }
  }
  return 0;
}

double ReadProcessStart() {
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  // The name in parentheses may contain any character; the start time is the 20th field after it.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  std::ifstream system("/proc/stat");
  std::string word;
  double booted = 0;
  while (system >> word) {
    if (word == "btime") system >> booted;
  }
  return booted + std::strtod(field.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double ProcessStart() {
  static const double start = ReadProcessStart();
  return start;
}

void AddProcessMetrics(metrics::Registry& registry) {
  registry.CallbackCounter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
                           {}, CpuSeconds);
  registry.CallbackGauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", {},
                         [] { return Memory(0); });
  registry.CallbackGauge("process_resident_memory_bytes", "Resident memory size in bytes.", {},
                         [] { return Memory(1); });
  registry.CallbackGauge("process_open_fds", "Number of open file descriptors.", {}, OpenFiles);
  registry.CallbackGauge("process_max_fds", "Maximum number of open file descriptors.", {},
                         [] { return Limit(RLIMIT_NOFILE); });
  registry.CallbackGauge("process_virtual_memory_max_bytes",
                         "Maximum amount of virtual memory available in bytes.", {},
                         [] { return Limit(RLIMIT_AS); });
  registry.CallbackCounter("process_network_receive_bytes_total",
                           "Number of bytes received by the process over the network.", {},
                           [] { return NetworkBytes("InOctets"); });
  registry.CallbackCounter("process_network_transmit_bytes_total",
                           "Number of bytes sent by the process over the network.", {},
                           [] { return NetworkBytes("OutOctets"); });
  registry.CallbackGauge("process_start_time_seconds",
                         "Start time of the process since unix epoch in seconds.", {}, &ProcessStart);
  registry
      .Gauge("kubernetes_build_info",
             "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, "
             "git tree "
             "state, build date, Go version, and compiler from which Kubernetes was built, and platform on "
             "which it is "
             "running.",
             {{"build_date", ""},
              {"compiler", "g++"},
              {"git_commit", ""},
              {"git_tree_state", ""},
              {"git_version", "v1.37.1"},
              {"go_version", ""},
              {"major", "1"},
              {"minor", "37"},
              {"platform", "linux/amd64"}})
      .Set(1);
  registry
      .Gauge("berth_build_info",
             "[ALPHA] A metric with a constant '1' value labeled by the version of Berth and the compiler "
             "that built it.",
             {{"compiler", "g++ " __VERSION__}, {"version", std::string(BerthVersion())}})
      .Set(1);
}

}  // namespace berth::service
