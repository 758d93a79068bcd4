// The column layouts of published traces.
#pragma once

#include <string>
#include <string_view>

#include "tools/simulate/trace_builder.hpp"

namespace berth::simulate {

class CsvReader;

struct TraceText {
  std::string file;  // for errors
  std::string_view text;
};

// Fails beyond 90 years of simulated time, whose sums would overflow. `unit`: of the column, for the error.
Expected<void> CheckTraceTime(const CsvReader& rows, std::size_t column, double nanoseconds,
                              std::string_view unit, const TraceSource& source);

// "openb": a GPU cluster of Alibaba (USENIX ATC 2023). Nodes: sn, cpu_milli, memory_mib, gpu, model. Pods:
// cpu_milli, memory_mib, num_gpu, gpu_milli (of each GPU, 1000: a whole one), gpu_spec (permitted models,
// separated by |), creation_time, deletion_time and scheduled_time in seconds; gpu_spec and the times may be
// missing. A pod runs from scheduled_time (if absent: creation_time) to deletion_time.
Expected<void> ReadOpenb(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                         TraceBuilder& builder);

// "alibaba2018": cluster-trace-v2018 of Alibaba, files without header. Nodes (machine_meta): machine_id,
// time_stamp, failure_domain_1, failure_domain_2, cpu_num, mem_size, status. Pods (batch_task): task_name,
// instance_num, job_name, task_type, status, start_time, end_time, plan_cpu (100: one core), plan_mem. The
// memory is normalized by the trace; one unit is one GiB here. A task is instance_num pods from start_time to
// end_time; a task without either is left out.
Expected<void> ReadAlibaba2018(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                               TraceBuilder& builder);

// "borg2019": Google's ClusterData 2019, tables exported as CSV. Nodes (machine_events): machine_id, type,
// capacity.cpus, capacity.memory; a machine exists from the start if it is ever added. Pods
// (instance_events): time in microseconds, type, collection_id, instance_index, priority,
// resource_request.cpus, resource_request.memory, ordered by time. The amounts are shares of the largest
// machine, which has 64 cores and 512 GiB here. A pod arrives with SUBMIT or ENABLE and runs from SCHEDULE to
// the next event that ends it; after EVICT it arrives again.
Expected<void> ReadBorg2019(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                            TraceBuilder& builder);

}  // namespace berth::simulate
