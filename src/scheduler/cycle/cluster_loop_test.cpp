// The threads that run the iterations of a loop.
#include "scheduler/cycle/cluster_loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using namespace std::chrono_literals;
using berth::testing::MakePod;

// Executes a script per change, and then as many units of work as the script has added.
class ScriptedHandler final : public ClusterLoop::Handler {
 public:
  // `on_partner`: whether the thread is the partner.
  using Script = std::function<void(bool on_partner)>;

  void SetScript(Script script) {
    const std::scoped_lock lock(mutex_);
    script_ = std::move(script);
  }
  void OnChange(ports::ClusterChange&) override {
    {
      const std::scoped_lock lock(mutex_);
      if (script_) script_(OnPartner());
    }
    changed_by.store(std::this_thread::get_id());
    changed_by.notify_all();
  }
  void OnSynced() override {}
  bool DoWork() override {
    if (!OnPartner() && wake_wanted) {
      wake_wanted = false;
      due = MonoTime::max();
      woken.store(true);
      woken.notify_all();
    }
    if (units == 0) return false;
    if (OnPartner()) ++done_by_partner;
    if (--units == 0) {
      finished_by.store(std::this_thread::get_id());
      finished_by.notify_all();
    }
    return true;
  }
  MonoTime NextDue() const override { return due; }
  bool MayWait() const override { return may_wait; }

  // The thread that handles the next change; `send` sends it.
  std::thread::id ThreadOfNext(const std::function<void()>& send) {
    changed_by.store({});
    send();
    changed_by.wait({});
    return changed_by.load();
  }

  const std::thread::id partner = std::this_thread::get_id();
  std::atomic<bool> may_wait{false};
  std::atomic<std::thread::id> changed_by{}, finished_by{};
  std::atomic<bool> woken{false};
  // --- in a script only ---
  MonoTime due = MonoTime::max();
  bool wake_wanted = false;  // the next DoWork on the thread of Run sets `woken`
  int units = 0;
  int done_by_partner = 0;

 private:
  bool OnPartner() const { return std::this_thread::get_id() == partner; }

  std::mutex mutex_;
  Script script_;
};

// The test's thread is the partner.
class SharedLoop : public ::testing::Test {
 protected:
  SharedLoop() {
    // The threads wait by the real clock, for which all times of this one have passed.
    clock_.Advance(-clock_.Now().time_since_epoch());
    loop_.emplace(clock_);
    loop_->ShareWith({[this] { return std::this_thread::get_id() == handler_.partner; },
                      [this](auto work) { posted_.push_back(std::move(work)); }});
  }
  ~SharedLoop() override { End(); }
  void Run() {
    runner_ = std::thread([this] { loop_->Run(handler_); });
  }
  void End() {
    if (!runner_.joinable()) return;
    loop_->Stop();
    RunPosted();
    runner_.join();
  }
  void RunPosted() {
    while (!posted_.empty()) {
      auto work = std::move(posted_.front());
      posted_.pop_front();
      work();
    }
  }
  void Send() {
    loop_->sink().On(ports::Change<api::Pod>{nullptr, MakePod("p").Share()});
    RunPosted();
  }
  std::thread::id ThreadOfNext() {
    return handler_.ThreadOfNext([this] { Send(); });
  }
  // The thread of Run may still be busy with what came before. Fails by a timeout of the test program.
  void SendUntilHandledHere() {
    while (ThreadOfNext() != handler_.partner) {
    }
  }

  ManualClock clock_;
  ScriptedHandler handler_;
  std::deque<std::move_only_function<void()>> posted_;
  std::optional<ClusterLoop> loop_;
  std::thread runner_;
};

TEST_F(SharedLoop, ThePartnerHandlesItsOwnMessages) {
  Run();
  SendUntilHandledHere();
}

TEST_F(SharedLoop, MessagesOfOtherThreadsAreHandledByRun) {
  Run();
  const auto send = [this] {
    std::thread([this] { loop_->sink().On(ports::Change<api::Pod>{nullptr, MakePod("p").Share()}); }).join();
  };
  EXPECT_EQ(handler_.ThreadOfNext(send), runner_.get_id());
  EXPECT_TRUE(posted_.empty());
}

TEST_F(SharedLoop, AHandlerThatMayWaitIsCalledByRunOnly) {
  handler_.may_wait = true;
  Run();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ThreadOfNext(), runner_.get_id());
}

TEST_F(SharedLoop, MessagesBeforeRunAreKept) {
  const auto send_and_run = [this] {
    Send();
    EXPECT_EQ(handler_.changed_by.load(), std::thread::id());
    Run();
  };
  const std::thread::id thread = handler_.ThreadOfNext(send_and_run);
  EXPECT_EQ(thread, runner_.get_id());
}

TEST_F(SharedLoop, MuchWorkIsLeftToRun) {
  Run();
  handler_.SetScript([this](bool on_partner) {
    if (on_partner) handler_.units = 100;
  });
  SendUntilHandledHere();
  handler_.finished_by.wait({});
  EXPECT_EQ(handler_.finished_by.load(), runner_.get_id());
  End();
  EXPECT_GT(handler_.done_by_partner, 0);
  EXPECT_LT(handler_.done_by_partner, 10);
}

TEST_F(SharedLoop, ManyMessagesAreLeftToRun) {
  Run();
  SendUntilHandledHere();
  const auto send_many = [this] {
    for (int i = 0; i < 100; ++i) loop_->sink().On(ports::Change<api::Pod>{nullptr, MakePod("p").Share()});
  };
  EXPECT_EQ(handler_.ThreadOfNext(send_many), runner_.get_id()) << "before the partner has time for them";
  RunPosted();
  SendUntilHandledHere();
}

TEST_F(SharedLoop, AnEarlierDueTimeWakesRun) {
  Run();
  handler_.SetScript([this](bool on_partner) {
    handler_.wake_wanted = on_partner;
    handler_.due = on_partner ? clock_.Now() : MonoTime::max();
  });
  SendUntilHandledHere();
  handler_.woken.wait(false);
}

TEST_F(SharedLoop, AfterALongIterationThePartnerPauses) {
  Run();
  SendUntilHandledHere();
  handler_.SetScript([this](bool on_partner) {
    if (on_partner) clock_.Advance(10ms);
  });
  SendUntilHandledHere();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ThreadOfNext(), runner_.get_id());
  handler_.SetScript([this](bool on_partner) {
    if (!on_partner) clock_.Advance(100ms);
  });
  SendUntilHandledHere();
}

TEST_F(SharedLoop, StopEndsRunAlsoFromThePartner) {
  Run();
  SendUntilHandledHere();
  loop_->Stop();
  RunPosted();
  runner_.join();
}

TEST_F(SharedLoop, StopEndsRunAlsoWithinAnIterationOfThePartner) {
  Run();
  handler_.SetScript([this](bool on_partner) {
    if (on_partner) loop_->Stop();
  });
  SendUntilHandledHere();
  RunPosted();
  runner_.join();
}

TEST_F(SharedLoop, WhatWasPostedMayOutliveTheLoop) {
  Run();
  SendUntilHandledHere();
  loop_->sink().On(ports::Change<api::Pod>{nullptr, MakePod("p").Share()});
  auto left = std::move(posted_);
  posted_.clear();
  std::thread([this] { loop_->Stop(); }).join();
  runner_.join();
  loop_.reset();
  for (auto& work : left) work();
}

}  // namespace
}  // namespace berth::cycle
