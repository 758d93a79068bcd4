// Forms of the results of one workload with one or more configurations.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/simulate/result.hpp"

namespace berth::simulate {

struct ReportHead {
  std::string workload;  // name of the file
  std::uint64_t seed = 1;
  Duration duration{};
};

// The names of configuration files in reports, in their order: the last part of the path, or the whole path
// if another file has the same last part. An empty path is "default".
std::vector<std::string> ConfigNames(const std::vector<std::string>& files);

// Configurations side by side. Ends with a newline.
std::string ReportText(const ReportHead& head, std::span<const Result> results);
// One JSON object with a newline. Durations are in seconds.
std::string ReportJson(const ReportHead& head, std::span<const Result> results);
// One self-contained page: no scripts, no requests.
std::string ReportHtml(const ReportHead& head, std::span<const Result> results);

// "0", "350us", "5.2ms", "12.3s", "4m10s", "3h20m", "12d".
std::string ShowDuration(Duration duration);
// "37.5%"
std::string ShowShare(double share);

}  // namespace berth::simulate
