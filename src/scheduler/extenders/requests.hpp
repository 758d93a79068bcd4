// Requests to extenders, byte for byte as kube-scheduler encodes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/objects.hpp"

namespace berth::extenders {

// Objects are written with their original text (api::RetainedTexts). An object without it is written as
// null; callers must therefore request the texts (Extenders::texts).

// filter and prioritize: {"Pod":{...},"Nodes":null,"NodeNames":["a","b"]}
std::string NamesRequest(const api::Pod& pod, std::span<const std::string* const> nodes);
// As NamesRequest with whole nodes: {"Pod":{...},"Nodes":{"metadata":{},"items":[{...}]},"NodeNames":null}
std::string NodesRequest(const api::Pod& pod, std::span<const api::Node* const> nodes);

std::string BindRequest(const api::Pod& pod, std::string_view node);

struct Victims {
  std::string_view node;
  std::vector<const api::Pod*> pods;
  std::int64_t violations = 0;
};
// preempt. `victims` must be sorted by node. `whole`: with whole pods, else with UIDs.
std::string PreemptRequest(const api::Pod& pod, std::span<const Victims> victims, bool whole);

}  // namespace berth::extenders
