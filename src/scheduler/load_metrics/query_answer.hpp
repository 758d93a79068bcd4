// The answer to an instant query of Prometheus' HTTP API (/api/v1/query), as Prometheus 2 and 3 and those who
// speak its language (Thanos, Mimir, VictoriaMetrics) write it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::load_metrics {

// A label of a series, by name; empty if it has none of that name.
using LabelOf = std::function<std::string_view(std::string_view name)>;

struct AnswerNotes {
  std::vector<std::string> warnings;  // the answer may be partial
  std::size_t histograms = 0;         // samples without a number
};

// Calls sample(labels, value) for each element of a vector, or once without labels for a scalar; values may
// be NaN or infinite. Errors: kInvalid if the server refused the query (its own text), kUnavailable if it is
// in trouble, or if `body` is not an answer at all. `status` is the answer's HTTP status.
Expected<AnswerNotes> ReadAnswer(int status, std::string_view body,
                                 const std::function<void(const LabelOf&, double)>& sample);

// The body of a response with Content-Encoding: gzip. At most `limit` bytes.
Expected<std::string> Inflate(std::string_view gzip, std::size_t limit);

}  // namespace berth::load_metrics
