// The column layouts of published traces.
#pragma once

#include <string>
#include <string_view>

#include "tools/simulate/trace_builder.hpp"

namespace berth::simulate {

struct TraceText {
  std::string file;  // for errors
  std::string_view text;
};

// "openb": a GPU cluster of Alibaba (USENIX ATC 2023). Nodes: sn, cpu_milli, memory_mib, gpu, model. Pods:
// cpu_milli, memory_mib, num_gpu, gpu_milli (of each GPU, 1000: a whole one), gpu_spec (permitted models,
// separated by |), creation_time, deletion_time and scheduled_time in seconds; gpu_spec and the times may be
// missing. A pod runs from scheduled_time (if absent: creation_time) to deletion_time.
Expected<void> ReadOpenb(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                         TraceBuilder& builder);

}  // namespace berth::simulate
