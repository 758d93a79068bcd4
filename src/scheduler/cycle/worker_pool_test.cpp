#include "scheduler/cycle/worker_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace berth::cycle {
namespace {

TEST(WorkerPool, BlockingWorkDoesNotDelayOtherWork) {
  WorkerPool pool(2, Origin::Kind::kBlocking);
  std::latch first_may_end(1);
  std::latch done(2);
  pool.Post([&] {
    first_may_end.wait();
    done.count_down();
  });
  pool.Post([&] {
    first_may_end.count_down();  // reached only if there is a second thread
    done.count_down();
  });
  done.wait();
}

TEST(WorkerPool, AllWorkIsDoneWithFewerThreads) {
  std::atomic<int> count = 0;
  {
    WorkerPool pool(3, Origin::Kind::kBlocking);
    std::latch done(100);
    for (int i = 0; i < 100; ++i) {
      pool.Post([&] {
        ++count;
        done.count_down();
      });
    }
    done.wait();
  }
  EXPECT_EQ(count, 100);
}

TEST(WorkerPool, TheDestructorWaitsForRunningWorkAndDropsTheRest) {
  std::atomic<bool> ended = false;
  std::atomic<bool> dropped_ran = false;
  std::latch begun(1);
  {
    WorkerPool pool(1, Origin::Kind::kBlocking);
    pool.Post([&] {
      begun.count_down();
      ended = true;
    });
    begun.wait();
    pool.Post([&, token = std::make_shared<int>()] { dropped_ran = token == nullptr; });
  }
  EXPECT_TRUE(ended);
  EXPECT_FALSE(dropped_ran);
}

TEST(WorkerPool, WorkThatIsPostedAfterTheEndIsDropped) {
  bool dropped_ran = false;
  WorkerPool pool(1, Origin::Kind::kBlocking);
  pool.End();
  pool.Post([&] { dropped_ran = true; });
  pool.End();
  EXPECT_FALSE(dropped_ran);
}

}  // namespace
}  // namespace berth::cycle
