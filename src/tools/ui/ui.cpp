#include "tools/ui/ui.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <future>
#include <memory>

#include "base/clock.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "process/signals.hpp"
#include "service/page/page.hpp"
#include "tools/ui/local_access.hpp"
#include "tools/ui/local_server.hpp"
#include "tools/ui/scheduler_requests.hpp"

namespace berth::ui {

Expected<int> RunUi(const UiOptions& options) {
  if (!service::HasPage())
    return Fail(ErrorCode::kUnavailable, "this program was built without the page (BERTH_UI=OFF)");
  process::Signals signals;
  const SystemClock clock;
  const client::SystemEnvironment environment;
  http::IoThread io(clock);
  BERTH_TRY(const auto requests, SchedulerRequests::Start(options.access, {io, environment, clock}));
  const std::string key = NewKey();
  BERTH_TRY(const auto server, LocalServer::Listen(io, *requests, key, options.port));
  fmt::print(
      "Reads {}. Open this address, which works for you only, until this command ends:\n\n    "
      "http://127.0.0.1:{}/ui/#key={}\n\n",
      requests->where(), server->port(), key);
  std::fflush(stdout);
  // Shared: the thread of the signals may still use the promise when its future is ready.
  const auto stopped = std::make_shared<std::promise<void>>();
  signals.OnFirst([stopped] { stopped->set_value(); });
  stopped->get_future().wait();
  return 0;
}

}  // namespace berth::ui
