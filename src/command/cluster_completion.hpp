// Values of flags and arguments that exist in the cluster, for completion.
#pragma once

#include <string>

#include "command_line/completion.hpp"

namespace berth::command {

// The names of namespaces. The references are read when a value is completed, after the flags before it have
// been parsed; they must outlive the result.
command_line::Completer NamespaceCompleter(const std::string& kubeconfig, const std::string& context);

// "pod/NAME" of the pending pods in `ns`; empty: in the namespace of the context.
command_line::Completer PendingPodCompleter(const std::string& kubeconfig, const std::string& context,
                                            const std::string& ns);

}  // namespace berth::command
