#include "scheduler/framework/saved_state.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace berth::framework {
namespace {

std::vector<CopiedState> StatesWith(StateEncoder last) {
  std::vector<CopiedState> states;
  states.push_back({"profile", "First", [] { return std::string("first"); }});
  states.push_back({"profile", "Last", std::move(last)});
  return states;
}

TEST(SavedState, TextsHaveTheOrderOfTheStates) {
  const auto saved = Encode(StatesWith([] { return std::string("text"); }));
  ASSERT_TRUE(saved.has_value());
  ASSERT_EQ(saved->size(), 2U);
  EXPECT_EQ(saved->at(0).text, "first");
  EXPECT_EQ(saved->at(1).plugin, "Last");
  EXPECT_EQ(saved->at(1).text, "text");
}

TEST(SavedState, AnEncoderThatFailsIsAnErrorOfItsPlugin) {
  const auto thrown = Encode(StatesWith([]() -> std::string { throw std::runtime_error("broke"); }));
  ASSERT_FALSE(thrown.has_value());
  EXPECT_EQ(thrown.error().message, "Last: broke");
  const auto longest = Encode(StatesWith([] { return std::string(SavedStatePlugin::kMaxSavedBytes, 'x'); }));
  EXPECT_TRUE(longest.has_value());
  const auto too_long =
      Encode(StatesWith([] { return std::string(SavedStatePlugin::kMaxSavedBytes + 1, 'x'); }));
  ASSERT_FALSE(too_long.has_value());
  EXPECT_EQ(too_long.error().message,
            "Last: its state has 16777217 bytes, and at most 16777216 can be saved");
}

}  // namespace
}  // namespace berth::framework
