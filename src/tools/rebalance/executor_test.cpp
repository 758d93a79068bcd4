#include "tools/rebalance/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/lease_fence.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "testing/builders.hpp"
#include "tools/rebalance/api_evictor.hpp"
#include "tools/rebalance/report.hpp"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Events final : public ports::EventSink {
 public:
  void Emit(ports::Event event) override { emitted.push_back(event.reason + ": " + event.note); }
  std::vector<std::string> emitted;
};

class FakeEvictor final : public Evictor {
 public:
  void Evict(const api::PodPtr& pod, std::move_only_function<void(EvictionOutcome)> done) override {
    evicted.push_back(pod->metadata.name);
    const EvictionOutcome outcome = outcomes.empty() ? EvictionOutcome{} : outcomes.front();
    if (!outcomes.empty()) outcomes.pop_front();
    done(outcome);
  }
  std::vector<std::string> evicted;
  std::deque<EvictionOutcome> outcomes;
};

class Executing : public ::testing::Test {
 protected:
  static std::vector<Move> Moves(const std::vector<std::string>& names) {
    std::vector<Move> moves;
    for (const std::string& name : names) {
      Move move;
      move.pod = testing::MakePod(name).Uid("u-" + name).Share();
      move.workload = "default/ReplicaSet/" + name;
      move.from = "hot";
      move.to = "cool";
      move.reason = "it is better";
      moves.push_back(std::move(move));
    }
    return moves;
  }
  std::vector<EvictionOutcome> Execute(Evictor& evictor, std::vector<Move> moves) {
    Executor executor({.evictor = evictor,
                       .events = events_,
                       .history = history_,
                       .metrics = metrics_,
                       .clock = clock_,
                       .post = [](auto work) { work(); }});
    std::vector<EvictionOutcome> result;
    executor.Execute(std::move(moves), [&](auto outcomes) { result = std::move(outcomes); });
    EXPECT_FALSE(executor.busy());
    return result;
  }
  static std::vector<EvictionResult> Results(const std::vector<EvictionOutcome>& outcomes) {
    std::vector<EvictionResult> results;
    for (const EvictionOutcome& outcome : outcomes) results.push_back(outcome.result);
    return results;
  }

  ManualClock clock_;
  metrics::Registry metrics_;
  MoveHistory history_;
  Events events_;
  FakeEvictor evictor_;
};

TEST_F(Executing, ADryRunSendsNothingAndRecordsNoMove) {
  DryRunEvictor dry_run;
  EXPECT_THAT(Results(Execute(dry_run, Moves({"a", "b"}))),
              ElementsAre(EvictionResult::kDryRun, EvictionResult::kDryRun));
  EXPECT_THAT(events_.emitted, IsEmpty());
  EXPECT_EQ(history_.LastOf("default/ReplicaSet/a"), std::nullopt);
  EXPECT_THAT(metrics_.Expose(), HasSubstr(R"(berth_rebalance_evictions_total{result="dry-run"} 2)"));
}

TEST_F(Executing, PodsAreEvictedInOrderWithEventsAndHistory) {
  EXPECT_THAT(Results(Execute(evictor_, Moves({"a", "b"}))),
              ElementsAre(EvictionResult::kEvicted, EvictionResult::kEvicted));
  EXPECT_THAT(evictor_.evicted, ElementsAre("a", "b"));
  EXPECT_THAT(events_.emitted,
              ElementsAre("Rebalanced: Evicted: it is better", "Rebalanced: Evicted: it is better"));
  EXPECT_EQ(history_.LastOf("default/ReplicaSet/a"), clock_.WallNow());
  EXPECT_EQ(history_.Left("default/ReplicaSet/a", "hot"), clock_.WallNow());
}

TEST_F(Executing, ARefusedEvictionIsDelayedLongerEachTimeAndOthersContinue) {
  const std::string workload = "default/ReplicaSet/a";
  evictor_.outcomes = {{EvictionResult::kRefused, "budget"}, {EvictionResult::kEvicted, ""}};
  const auto outcomes = Execute(evictor_, Moves({"a", "b"}));
  EXPECT_THAT(Results(outcomes), ElementsAre(EvictionResult::kRefused, EvictionResult::kEvicted));
  EXPECT_EQ(outcomes[0].error, "budget (next attempt in 1m)");
  EXPECT_EQ(history_.RefusedUntil(workload), clock_.WallNow() + std::chrono::minutes(1));
  EXPECT_EQ(history_.LastOf(workload), std::nullopt);
  evictor_.outcomes = {{EvictionResult::kRefused, "budget"}};
  Execute(evictor_, Moves({"a"}));
  EXPECT_EQ(history_.RefusedUntil(workload), clock_.WallNow() + std::chrono::minutes(2));
  Execute(evictor_, Moves({"a"}));
  EXPECT_EQ(history_.RefusedUntil(workload), std::nullopt);
}

TEST_F(Executing, AFailureThatIsNotThePodsEndsTheRound) {
  for (const EvictionResult result : {EvictionResult::kFailed, EvictionResult::kUnknown}) {
    evictor_.evicted.clear();
    evictor_.outcomes = {{EvictionResult::kGone, "gone"}, {result, "forbidden"}};
    EXPECT_THAT(Results(Execute(evictor_, Moves({"a", "b", "c"}))),
                ElementsAre(EvictionResult::kGone, result));
    EXPECT_THAT(evictor_.evicted, ElementsAre("a", "b"));
  }
  // The lost response may be that of an eviction.
  EXPECT_NE(history_.LastOf("default/ReplicaSet/b"), std::nullopt);
  EXPECT_EQ(history_.LastOf("default/ReplicaSet/a"), std::nullopt);
}

TEST(ApiEvicting, SendsAnEvictionWithThePodsUidWhileTheFenceIsOpen) {
  ManualClock clock;
  http::FakeLoop loop;
  client::FakeApi api;
  LeaseFence fence = LeaseFence::AlwaysOpen(clock);
  ApiEvictor evictor(loop, api, fence);
  struct Row {
    client::Reply reply;
    EvictionResult result;
  };
  std::vector<Row> rows;
  rows.push_back({client::Reply(""), EvictionResult::kEvicted});
  rows.push_back({client::Refused(429, "TooManyRequests"), EvictionResult::kRefused});
  rows.push_back({client::Refused(404, "NotFound"), EvictionResult::kGone});
  rows.push_back({client::Refused(409, "Conflict"), EvictionResult::kGone});
  rows.push_back({client::Refused(403, "Forbidden"), EvictionResult::kFailed});
  rows.push_back({client::AnswerLost(), EvictionResult::kUnknown});
  rows.push_back({client::NotReached(), EvictionResult::kFailed});
  for (Row& row : rows) {
    EvictionOutcome outcome;
    evictor.Evict(testing::MakePod("web").Uid("u-1").Share(), [&](auto result) { outcome = result; });
    loop.Run();
    ASSERT_THAT(api.open, SizeIs(1));
    EXPECT_EQ(api.sent.back(), "POST /api/v1/namespaces/default/pods/web/eviction");
    EXPECT_EQ(
        api.open.front().request.body,
        R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web","namespace":"default"},)"
        R"("deleteOptions":{"preconditions":{"uid":"u-1"}}})");
    EXPECT_EQ(api.open.front().request.refused(), std::nullopt);
    EXPECT_TRUE(api.open.front().request.single_attempt);
    api.Answer(std::move(row.reply));
    EXPECT_EQ(outcome.result, row.result) << NameOf(row.result);
  }
  evictor.Evict(testing::MakePod("web").Share(), [](auto) {});
  loop.Run();
  fence.Close();
  EXPECT_EQ(api.open.front().request.refused(), "not the leader any more");
}

TEST(Reports, TheTextBeginsWithASummaryAndExplainsEachMove) {
  Plan plan;
  plan.nodes = 3;
  plan.overloaded.push_back({"hot", "cpu", 95, 93, 90, ""});
  Move move;
  move.pod = testing::MakePod("web").Share();
  move.from = "hot";
  move.to = "cool";
  move.signal = "cpu";
  move.reason = "it is better";
  plan.moves.push_back(move);
  plan.Reject({"default/db", "hot", Rejection::kBudget, "no room"});
  const std::vector<EvictionOutcome> outcomes{{EvictionResult::kDryRun, ""}};
  EXPECT_THAT(PlanText(plan, outcomes),
              ::testing::StartsWith("1 of 3 nodes overloaded, 1 moves (dry run: nothing is evicted), 1 pods "
                                    "considered and left.\n"));
  EXPECT_THAT(PlanText(plan, outcomes), HasSubstr("1. default/web from hot to cool: proposed (dry run)"));
  EXPECT_THAT(PlanText(plan, outcomes), HasSubstr("default/db on hot: budget: no room"));
  EXPECT_THAT(PlanJson(plan, outcomes), HasSubstr(R"("result":"dry-run")"));
  plan.stopped = "the signal cpu is unavailable: connection refused";
  EXPECT_EQ(Summary(plan, {}), "No pod is moved: the signal cpu is unavailable: connection refused.");
}

}  // namespace
}  // namespace berth::rebalance
