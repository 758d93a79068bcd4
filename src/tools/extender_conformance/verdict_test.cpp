#include "tools/extender_conformance/verdict.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace berth::extender_conformance {
namespace {

const std::vector<std::string> kAsked{"a", "b"};

ReplyOrError ReplyWith(std::string body, int status = 200) {
  return extenders::Reply{status, std::move(body)};
}

struct Row {
  std::string name;
  Finding finding;
  Result result;
  std::string messages;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class AnAnswer : public testing::TestWithParam<Row> {};
TEST_P(AnAnswer, IsEvaluatedAsByKubeScheduler) {
  EXPECT_EQ(ResultName(GetParam().finding.result), ResultName(GetParam().result));
  std::string messages;
  for (const std::string& one : GetParam().finding.messages) messages += one + "\n";
  EXPECT_NE(messages.find(GetParam().messages), std::string::npos) << messages;
  EXPECT_EQ(messages.empty(), GetParam().result == Result::kPass);
}

INSTANTIATE_TEST_SUITE_P(
    Filter, AnAnswer,
    testing::Values(
        Row{"all", CheckFilter(ReplyWith(R"({"NodeNames":["a","b"]})"), kAsked, false), Result::kPass, ""},
        Row{"any case", CheckFilter(ReplyWith(R"({"nodenames":["a","b"]})"), kAsked, false), Result::kPass,
            ""},
        Row{"one with a reason",
            CheckFilter(ReplyWith(R"({"NodeNames":["a"],"FailedNodes":{"b":"hot"}})"), kAsked, false),
            Result::kPass, ""},
        Row{"all rejected", CheckFilter(ReplyWith(R"({"FailedNodes":{"a":"x","b":"x"}})"), kAsked, false),
            Result::kPass, ""},
        Row{"no fields", CheckFilter(ReplyWith("{}"), kAsked, false), Result::kWrong,
            "neither NodeNames nor Nodes"},
        Row{"empty request", CheckFilter(ReplyWith("{}"), {}, false), Result::kPass, ""},
        Row{"node without a reason", CheckFilter(ReplyWith(R"({"NodeNames":["a"]})"), kAsked, false),
            Result::kWarn, "without a reason"},
        Row{"node outside the request",
            CheckFilter(ReplyWith(R"({"NodeNames":["a","b","c"]})"), kAsked, false), Result::kWrong,
            R"("c" passed, but not in the request)"},
        Row{"both",
            CheckFilter(ReplyWith(R"({"NodeNames":["a","b"],"FailedNodes":{"a":"x"}})"), kAsked, false),
            Result::kWarn, "both passed and rejected"},
        Row{"nodes for names",
            CheckFilter(
                ReplyWith(R"({"Nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}})"),
                kAsked, false),
            Result::kWarn, "Nodes where names were sent"},
        Row{"names for nodes", CheckFilter(ReplyWith(R"({"NodeNames":["a","b"]})"), kAsked, true),
            Result::kWrong, "names are ignored"},
        Row{"wrong type", CheckFilter(ReplyWith(R"({"NodeNames":"a"})"), kAsked, false), Result::kWrong,
            "cannot unmarshal string"},
        Row{"status", CheckFilter(ReplyWith("oh no\n", 500), kAsked, false), Result::kWrong,
            "status 500, oh no:"}));

INSTANTIATE_TEST_SUITE_P(
    Prioritize, AnAnswer,
    testing::Values(
        Row{"good", CheckPrioritize(ReplyWith(R"([{"Host":"a","Score":0},{"Host":"b","Score":10}])"), kAsked),
            Result::kPass, ""},
        Row{"float", CheckPrioritize(ReplyWith(R"([{"Host":"a","Score":7.0}])"), kAsked), Result::kWrong,
            "number 7.0"},
        Row{"range",
            CheckPrioritize(ReplyWith(R"([{"Host":"a","Score":-1},{"Host":"b","Score":11}])"), kAsked),
            Result::kWarn, R"("a=-1", "b=11")"},
        Row{"missing", CheckPrioritize(ReplyWith(R"([{"Host":"a","Score":1}])"), kAsked), Result::kWarn,
            R"(no score for "b")"},
        Row{"twice", CheckPrioritize(ReplyWith(R"([{"Host":"a"},{"Host":"a"},{"Host":"b"}])"), kAsked),
            Result::kWarn, "added up"},
        Row{"null", CheckPrioritize(ReplyWith("null"), kAsked), Result::kWarn, "no score for"}));

INSTANTIATE_TEST_SUITE_P(
    Preempt, AnAnswer,
    testing::Values(Row{"same",
                        CheckPreempt(ReplyWith(R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"}]}}})"),
                                     {{"a", {"u"}}}),
                        Result::kPass, ""},
                    Row{"none", CheckPreempt(ReplyWith(R"({"NodeNameToMetaVictims":{}})"), {{"a", {"u"}}}),
                        Result::kPass, ""},
                    Row{"null",
                        CheckPreempt(ReplyWith(R"({"NodeNameToMetaVictims":{"a":null}})"), {{"a", {"u"}}}),
                        Result::kWrong, "crashes kube-scheduler"},
                    Row{"whole", CheckPreempt(ReplyWith(R"({"NodeNameToVictims":{}})"), {{"a", {"u"}}}),
                        Result::kWrong, "is ignored"},
                    Row{"node outside the request",
                        CheckPreempt(ReplyWith(R"({"NodeNameToMetaVictims":{"x":{"Pods":[{"UID":"u"}]}}})"),
                                     {{"a", {"u"}}}),
                        Result::kWrong, "is not in the request"}));

INSTANTIATE_TEST_SUITE_P(
    Others, AnAnswer,
    testing::Values(
        Row{"bound", CheckRefusedBinding(ReplyWith(R"({"Error":""})")), Result::kWrong,
            "there is no such pod"},
        Row{"refused", CheckRefusedBinding(ReplyWith(R"({"Error":"no"})")), Result::kPass, ""},
        Row{"refused by status", CheckRefusedBinding(ReplyWith("", 404)), Result::kWarn, "status 404"},
        Row{"invalid request rejected", CheckInvalidRequest(ReplyWith("", 400)), Result::kPass, ""},
        Row{"invalid request accepted", CheckInvalidRequest(ReplyWith("{}")), Result::kWarn, "truncated"}));

}  // namespace
}  // namespace berth::extender_conformance
