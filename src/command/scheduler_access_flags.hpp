// The flags of the commands that read the running scheduler.
#pragma once

#include "base/result.hpp"
#include "command_line/flag_set.hpp"
#include "tools/scheduler_access/access_options.hpp"

namespace berth::command {

// --kubeconfig and --context.
void AddClusterFlags(command_line::FlagSet& flags, std::string& kubeconfig, std::string& context);

// --server, --lease and the flags of the scheduler's certificate, in a section of their own.
void AddSchedulerAccessFlags(command_line::FlagSet& flags, scheduler_access::AccessOptions& options);

}  // namespace berth::command
