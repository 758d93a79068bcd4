// What an extender answers (k8s.io/kube-scheduler/extender/v1), in Go's own spelling.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/extender_server/evaluator.hpp"
#include "tools/extender_server/questions.hpp"

namespace berth::extender_server {

// In the form of the question: names for names, and the very nodes that were sent for nodes.
std::string FilterAnswer(const NodesQuestion& question, const FilterVerdict& verdict);
std::string PrioritizeAnswer(const NodesQuestion& question, std::span<const std::int64_t> scores);
// Always with UIDs, whatever was sent.
std::string PreemptAnswer(const PreemptQuestion& question, std::span<const std::size_t> kept);
// An empty text: bound.
std::string BindAnswer(std::string_view error);

}  // namespace berth::extender_server
