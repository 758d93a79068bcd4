// The process metrics of Prometheus' client libraries, and build information.
#pragma once

namespace berth::metrics {
class Registry;
}

namespace berth::service {

// process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes, process_open_fds,
// process_max_fds, process_start_time_seconds, read from /proc on each scrape; and kubernetes_build_info of
// the release that Berth replaces, with berth_build_info. There are no go_* metrics, since there is no Go
// runtime.
void AddProcessMetrics(metrics::Registry& registry);

// The start time of this process in seconds since 1970, with the kernel's resolution of a hundredth of a
// second.
double ProcessStart();

}  // namespace berth::service
