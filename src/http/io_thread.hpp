// The thread that runs all socket operations.
#pragma once

#include <memory>
#include <thread>

#include "http/loop.hpp"

namespace boost::asio {
class io_context;
}

namespace berth::http {

// Runs until it is destroyed. Objects that live on it must be destroyed before; the destructor gives pending
// handlers two seconds to finish. A task that throws ends the process, because no caller could handle the
// exception.
class IoThread final : public Loop {
 public:
  explicit IoThread(const Clock& clock);  // for Now() only: timers run on the system's steady clock
  ~IoThread() override;
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  void Post(Task task) override;
  TimerId After(Duration delay, Task task) override;
  void Cancel(TimerId timer) override;
  bool OnThread() const override;
  std::thread::id id() const;
  MonoTime Now() const override;

  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::http
