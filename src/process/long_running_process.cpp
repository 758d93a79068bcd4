#include "process/long_running_process.hpp"

#include <utility>

#include "kubernetes/client/exec_plugin.hpp"
#include "observability/log/log.hpp"
#include "process/api_connections.hpp"
#include "process/freed_memory.hpp"
#include "process/measuring.hpp"
#include "service/process_metrics.hpp"

namespace berth::process {

LongRunningProcess::LongRunningProcess(metrics::RegistryOptions metrics_options)
    : metrics_(std::move(metrics_options)) {
  client::AddExecPluginMetrics(metrics_);
  service::AddProcessMetrics(metrics_);
}

Expected<int> LongRunningProcess::Execute(std::vector<std::string> notes) {
  BERTH_RETURN_IF_ERROR(Assemble(notes));
  for (const std::string& note : notes) log::Warning(note);
  ReturnFreedMemory();
  if (auto hangup = OnHangup()) signals_.OnHangup(std::move(hangup));
  signals_.OnFirst([this] {
    stopping_.store(true, std::memory_order_relaxed);
    forced_end_.Within(kMaxStop);
    Stop();
  });
  auto code = Run();
  BeginEnd();
  return code;
}

// Not after a failed start: no lease is held, and the caller has not reported the error yet.
void LongRunningProcess::BeginEnd() {
  signals_.Disarm();
  forced_end_.Within(kMaxEnd);
}

std::unique_ptr<client::ClusterSource> LongRunningProcess::SourceOf(
    client::Api& api, ports::ClusterSink& sink, const config::ClientConnection& wanted,
    const std::unique_ptr<Measuring>& measuring, client::ClusterSourceOptions options) {
  options.encoding = EncodingBy(wanted);
  options.on_complete = [&measuring] {
    if (measuring) measuring->OnNodesSynced();
  };
  return std::make_unique<client::ClusterSource>(io_, api, metrics_, sink, std::move(options));
}

}  // namespace berth::process
