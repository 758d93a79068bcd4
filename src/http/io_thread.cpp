#include "http/io_thread.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <thread>

#include "base/fatal_signals.hpp"

namespace berth::http {

namespace asio = boost::asio;

struct IoThread::Impl {
  explicit Impl(const Clock& clock) : clock(clock) {}

  const Clock& clock;
  asio::io_context io{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{io.get_executor()};
  boost::unordered_flat_map<std::uint64_t, std::unique_ptr<asio::steady_timer>> timers;  // io thread only
  std::uint64_t last_timer = 0;                                                          // io thread only
  std::promise<void> ended;
  std::thread thread;
};

IoThread::IoThread(const Clock& clock) : impl_(std::make_unique<Impl>(clock)) {
  impl_->thread = std::thread([impl = impl_.get()] {
    const AlternateStack stack;
    ::pthread_setname_np(::pthread_self(), "berth-io");  // shown by tools that list CPU time per thread
    impl->io.run();
    impl->ended.set_value();
  });
}

IoThread::~IoThread() {
  constexpr std::chrono::seconds kGrace{2};
  auto ended = impl_->ended.get_future();
  Post([impl = impl_.get()] { impl->timers.clear(); });
  impl_->work.reset();
  if (ended.wait_for(kGrace) != std::future_status::ready) impl_->io.stop();
  impl_->thread.join();
}

void IoThread::Post(Task task) { asio::post(impl_->io, std::move(task)); }

Loop::TimerId IoThread::After(Duration delay, Task task) {
  const std::uint64_t id = ++impl_->last_timer;
  auto timer = std::make_unique<asio::steady_timer>(impl_->io, delay);
  timer->async_wait([impl = impl_.get(), id, task = std::move(task)](boost::system::error_code) mutable {
    // The handler of a cancelled timer may already be queued: only the table shows whether the timer is still
    // active.
    if (impl->timers.erase(id) != 0) task();
  });
  impl_->timers.emplace(id, std::move(timer));
  return static_cast<TimerId>(id);
}

void IoThread::Cancel(TimerId timer) { impl_->timers.erase(static_cast<std::uint64_t>(timer)); }

bool IoThread::OnThread() const { return std::this_thread::get_id() == id(); }

std::thread::id IoThread::id() const { return impl_->thread.get_id(); }

MonoTime IoThread::Now() const { return impl_->clock.Now(); }

asio::io_context& IoThread::context() { return impl_->io; }

}  // namespace berth::http
