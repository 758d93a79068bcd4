// What Prometheus' client libraries tell about a process, and who we are.
#pragma once

namespace berth::metrics {
class Registry;
}

namespace berth::service {

// process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes, process_open_fds,
// process_max_fds, process_start_time_seconds, read from /proc when somebody looks; and
// kubernetes_build_info of the release that we stand in for. There are no go_* metrics: they would be a lie.
void AddProcessMetrics(metrics::Registry& registry);

// When this process began, in seconds since 1970; as the kernel says, whose clock ticks a hundred times a
// second.
double ProcessStart();

}  // namespace berth::service
