// `berth extender`: serves Berth's plugins as an extender of another kube-scheduler. `berth extender check`:
// tests an extender against kube-scheduler's expectations.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

int RunExtenderCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
