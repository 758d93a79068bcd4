#include "scheduler/cycle/mailbox.hpp"

#include <gtest/gtest.h>

namespace berth::cycle {
namespace {

// A replay repeats work in the recorded order, although steps after a success overtake other work.
TEST(Mailbox, TellsStepsAfterASuccessFromOtherWorkOfTheLoop) {
  Mailbox mailbox;
  int executed = 0;
  const OriginScope scope({.kind = Origin::Kind::kLoop});
  mailbox.PostStep(true, [&] { executed = 1; });
  mailbox.Post([&] { executed = 2; });
  mailbox.PostStep(false, [&] { executed = 3; });

  mailbox.TakeWork({.kind = Origin::Kind::kLoop})->work();
  EXPECT_EQ(executed, 2);
  mailbox.TakeWork({.kind = Origin::Kind::kStep})->work();
  EXPECT_EQ(executed, 1);
  mailbox.TakeWork({.kind = Origin::Kind::kLoop})->work();
  EXPECT_EQ(executed, 3);
  EXPECT_FALSE(mailbox.TakeWork({.kind = Origin::Kind::kLoop}).has_value());
}

}  // namespace
}  // namespace berth::cycle
