// `berth extender`: Berth's plugins for somebody else's kube-scheduler; `berth extender check`: is an
// extender one that kube-scheduler understands?
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

int RunExtenderCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
