// Parses the response to an instant query of Prometheus' HTTP API (/api/v1/query), as written by Prometheus 2
// and 3 and compatible servers (Thanos, Mimir, VictoriaMetrics).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::load_metrics {

// Returns a label of a series by name; empty if the series has no such label.
using LabelOf = std::function<std::string_view(std::string_view name)>;

struct AnswerNotes {
  std::vector<std::string> warnings;  // the result may be partial; the first 10, each cut to 1 KiB
  std::size_t histograms = 0;         // histogram samples, which are ignored
};

// Calls sample(labels, value) for each element of a vector, or once without labels for a scalar; values may
// be NaN or infinite. Errors: kInvalid if the server rejected the query (with its text, cut to 1 KiB),
// kUnavailable if the server failed or `body` is not a response of this API. `status` is the HTTP status.
Expected<AnswerNotes> ReadAnswer(int status, std::string_view body,
                                 const std::function<void(const LabelOf&, double)>& sample);

}  // namespace berth::load_metrics
