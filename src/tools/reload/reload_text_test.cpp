#include "tools/reload/reload_text.hpp"

#include <gtest/gtest.h>

#include "base/yaml.hpp"

namespace berth::reload {
namespace {

TEST(ReloadText, NamesTheResultTheReasonAndTheDecisionsThatDiffer) {
  struct Case {
    const char* name;
    const char* report;
    bool accepted;
    const char* text;
  };
  const Case cases[] = {
      {"applied, on a scheduler that has decided nothing",
       R"({"result":"applied","at":"2026-01-02T03:04:05.000000Z","preview":{"compared":0,"changed":0,
           "changedPods":[]}})",
       true,
       "pod kube-system/berth-0 uses the configuration from now on\n"
       "No decision was compared: this scheduler has none of pods that still exist.\n"},
      {"unchanged", R"({"result":"unchanged"})", true,
       "pod kube-system/berth-0 uses this configuration already\n"},
      {"an invalid file", R"({"result":"invalid","message":"profiles[0]: unknown field \"x\""})", false,
       "pod kube-system/berth-0 did not apply the configuration, because it is invalid: profiles[0]: unknown "
       "field \"x\"\n"},
      {"refused because of the limit",
       R"({"result":"refused",
           "message":"3 of the last 200 decisions would differ, more than --berth-reload-limit (1 %) permits",
           "preview":{"compared":200,"changed":3,"changedPods":[
           {"pod":"shop/web","nodeBefore":"n1","nodeAfter":"n2"},{"pod":"shop/db","nodeBefore":"n1"}],
           "leftOut":["extender http://e"]}})",
       false,
       "pod kube-system/berth-0 did not apply the configuration: 3 of the last 200 decisions would differ, "
       "more than --berth-reload-limit (1 %) permits\n"
       "3 of the last 200 decisions would differ:\n\n"
       "POD        NODE   NODE WITH THIS CONFIGURATION\n"
       "shop/web   n1     n2\n"
       "shop/db    n1     (none fits)\n"
       "and 1 more\n"
       "Not considered: extender http://e\n"},
      {"a preview without a difference",
       R"({"result":"previewed","preview":{"compared":1,"changed":0,"changedPods":[]}})", true,
       "pod kube-system/berth-0 accepts the configuration; it was not applied\n"
       "0 of the last 1 decision would differ.\n"},
      {"a result of a later version", R"({"result":"postponed"})", false,
       "pod kube-system/berth-0 postponed\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const config::Value report = yaml::ParseValue(c.report).value();
    EXPECT_EQ(IsAccepted(report), c.accepted);
    EXPECT_EQ(ReloadText(report, "pod kube-system/berth-0"), c.text);
  }
}

}  // namespace
}  // namespace berth::reload
