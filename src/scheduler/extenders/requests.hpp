// What extenders are asked, byte for byte as kube-scheduler writes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/objects.hpp"

namespace berth::extenders {

// Objects are written with the text that came with them (api::Decoder::KeepTexts); one without it reads null,
// which callers prevent by asking for the texts.

// filter and prioritize: {"Pod":{...},"Nodes":null,"NodeNames":["a","b"]}
std::string NamesRequest(const api::Pod& pod, std::span<const std::string* const> nodes);
// The same with whole nodes: {"Pod":{...},"Nodes":{"metadata":{},"items":[{...}]},"NodeNames":null}
std::string NodesRequest(const api::Pod& pod, std::span<const api::Node* const> nodes);

std::string BindRequest(const api::Pod& pod, std::string_view node);

struct Victims {
  std::string_view node;
  std::vector<const api::Pod*> pods;
  std::int64_t violations = 0;
};
// preempt. `victims` are sorted by node. `whole`: with pods, else with their UIDs.
std::string PreemptRequest(const api::Pod& pod, std::span<const Victims> victims, bool whole);

}  // namespace berth::extenders
