// Incremental counters equal a full recount after any sequence of changes.
#include "scheduler/cluster/pod_counters.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/cluster/withdrawal.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"
#include "testing/cluster.hpp"
#include "testing/repetitions.hpp"

namespace berth::cluster {
namespace {

using berth::testing::MakeNode;

// A cluster with random changes, and its expected contents.
class Changing {
 public:
  explicit Changing(std::uint64_t seed, std::size_t bytes_max = PodCounters::kBytesMax)
      : random_(seed), counters_(table_, objects_, bytes_max) {
    for (int i = 0; i < 90; ++i) AddNode(i);
  }

  void Change() {
    switch (random_.Below(10)) {
      case 0:
        return RemoveNodeAndPods();
      case 1:
        return ChangeNamespace();
      case 2:
      case 3:
      case 4:
        return RemovePod();
      default:
        return AddPod();
    }
  }

  PodQueryPtr RandomQuery() {
    PodQuery query;
    for (std::size_t i = 1 + random_.Below(2); i > 0; --i) query.all_of.push_back(Clause());
    query.skip_terminating = OneIn(2);
    return InternQuery(std::move(query), words_);
  }
  PodLabelsPtr Incoming() {
    api::Pod pod = Pod();
    return LabelsOf(pod, words_);
  }

  // The expected counts.
  std::map<Row, int> Recount(const PodQuery& query) const {
    std::map<Row, int> counts;
    for (const auto& [row, placed] : placed_)
      counts[row] += counters_.Selects(query, *placed->use().labels) ? 1 : 0;
    std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
    return counts;
  }
  using Carried = std::map<std::tuple<const AffinityTerm*, std::int64_t, Row>, int>;
  Carried RecountCarried(TermRole role, const PodLabels& incoming) const {
    Carried counts;
    const auto add = [&](const AffinityTermPtr& term, std::int64_t weight, Row row) {
      if (counters_.SelectsIncoming(term->clause(), incoming)) ++counts[{term.get(), weight, row}];
    };
    for (const auto& [row, placed] : placed_) {
      if (placed->use().affinity == nullptr) continue;
      const PodAffinityTerms& terms = *placed->use().affinity;
      if (role == TermRole::kRequired)
        for (const auto& term : terms.required) add(term, 0, row);
      if (role == TermRole::kRequiredAnti)
        for (const auto& term : terms.required_anti) add(term, 0, row);
      if (role == TermRole::kPreferred)
        for (const auto& [term, weight] : terms.preferred) add(term, weight, row);
    }
    return counts;
  }
  static std::map<Row, int> AsMap(const RowCounts& rows) {
    std::map<Row, int> counts;
    rows.ForEach([&](std::uint32_t row, int count) { counts[row] = count; });
    return counts;
  }
  Carried CarriedFor(TermRole role, const PodLabels& incoming) const {
    Carried counts;
    counters_.ForEachCarried(role, incoming, [&](const CarriedTerm& carried) {
      carried.rows.ForEach(
          [&](std::uint32_t row, int count) { counts[{carried.term.get(), carried.weight, row}] += count; });
    });
    return counts;
  }

  // Calls check() while some pods are withdrawn, after some of them are back, and at the end.
  template <class Check>
  void Withdraw(Check&& check) {
    {
      NodeTable::Withdrawal withdrawal(table_);
      std::vector<std::pair<Row, std::unique_ptr<PlacedPod>>> kept;
      std::vector<std::pair<std::size_t, std::pair<Row, std::unique_ptr<PlacedPod>>>> gone;
      for (auto& entry : placed_) {
        if (OneIn(3)) {
          const std::size_t index = withdrawal.Remove(entry.first, *entry.second);
          gone.emplace_back(index, std::move(entry));
        } else {
          kept.push_back(std::move(entry));
        }
      }
      placed_ = std::move(kept);
      check();
      for (auto& [index, entry] : gone) {
        const bool back = OneIn(2);
        if (back) withdrawal.PutBack(index);
        if (back && OneIn(3)) withdrawal.RemoveAgain(index);
      }
      for (auto& [index, entry] : gone) placed_.push_back(std::move(entry));
    }
    check();
  }

  PodCounters& counters() { return counters_; }
  std::size_t pods() const { return placed_.size(); }

 private:
  bool OneIn(std::size_t n) { return random_.Below(n) == 0; }
  std::string Of(std::initializer_list<const char*> words) {
    return *(words.begin() + random_.Below(words.size()));
  }
  std::string Namespace() { return Of({"default", "team-a", "team-b", "nowhere"}); }

  api::LabelSelector Selector() {
    api::LabelSelector selector;
    if (OneIn(2)) selector.match_labels.Set("app", Of({"web", "db", "cache"}));
    if (OneIn(3)) selector.match_expressions.push_back({"tier", Of({"Exists", "DoesNotExist"}), {}});
    if (OneIn(3))
      selector.match_expressions.push_back({"app", Of({"In", "NotIn"}), {"web", Of({"db", "web"})}});
    return selector;
  }
  PodClause Clause() {
    PodClause clause;
    const api::LabelSelector labels = Selector();
    clause.labels = OneIn(12) ? api::ParsedSelector::Nothing() : *api::ParseLabelSelector(&labels);
    if (!OneIn(4)) clause.namespaces = {Namespace()};
    const api::LabelSelector spaces = NamespaceSelector();
    if (OneIn(2)) clause.namespace_selector = *api::ParseLabelSelector(&spaces);
    return clause;
  }
  api::LabelSelector NamespaceSelector() {
    api::LabelSelector selector;
    if (OneIn(3)) selector.match_labels.Set("env", Of({"dev", "prod"}));
    if (OneIn(3)) selector.match_expressions.push_back({"env", Of({"DoesNotExist", "Exists"}), {}});
    return selector;
  }
  api::PodAffinityTerm Term() {
    api::PodAffinityTerm term;
    if (!OneIn(10)) term.label_selector = Selector();
    if (OneIn(3)) term.namespaces = {Namespace()};
    if (OneIn(3)) term.namespace_selector = NamespaceSelector();
    term.topology_key = Of({"zone", "host"});
    return term;
  }
  api::Pod Pod() {
    api::Pod pod;
    pod.metadata.name = pod.metadata.uid = "p" + std::to_string(++made_);
    pod.metadata.ns = Namespace();
    if (!OneIn(5)) pod.metadata.labels.Set("app", Of({"web", "db", "cache"}));
    if (OneIn(2)) pod.metadata.labels.Set("tier", Of({"front", "back"}));
    if (OneIn(3)) pod.metadata.labels.Set("own", pod.metadata.name);
    if (OneIn(6)) pod.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
    if (OneIn(3)) pod.spec.pod_affinity.emplace().required.push_back(Term());
    if (OneIn(3)) pod.spec.pod_anti_affinity.emplace().required.push_back(Term());
    if (OneIn(3)) pod.spec.pod_anti_affinity.emplace().preferred.push_back({7, Term()});
    return pod;
  }

  void AddNode(int i) { rows_.push_back(table_.Add(MakeNode("n" + std::to_string(i)).Share())); }
  void AddPod() {
    const Row row = rows_[random_.Below(rows_.size())];
    auto placed = std::make_unique<PlacedPod>();
    auto pod = std::make_shared<const api::Pod>(Pod());
    placed->takes = UseOf(*pod, words_);
    placed->pod = std::move(pod);
    table_.AddPod(row, *placed);
    // An overlay adds another pod temporarily, which must not change anything.
    NodeTable::Overlay overlay(table_);
    overlay.Remove(row, *placed);
    placed_.emplace_back(row, std::move(placed));
  }
  void RemovePod() {
    if (placed_.empty()) return;
    const std::size_t i = random_.Below(placed_.size());
    table_.RemovePod(placed_[i].first, *placed_[i].second);
    placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void RemoveNodeAndPods() {
    const std::size_t i = random_.Below(rows_.size());
    const Row row = rows_[i];
    std::erase_if(placed_, [&](auto& entry) {
      if (entry.first != row) return false;
      table_.RemovePod(row, *entry.second);
      return true;
    });
    table_.Remove(row);
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(i));
    AddNode(static_cast<int>(1000 + ++made_));
  }
  void ChangeNamespace() {
    auto ns = std::make_shared<api::Namespace>();
    ns->metadata.name = Namespace();
    if (OneIn(2)) ns->metadata.labels.Set("env", Of({"dev", "prod"}));
    const auto known = objects_.Of<api::Namespace>().Find(ns->metadata.name);
    if (known != nullptr && OneIn(4)) return objects_.Apply(ports::Change<api::Namespace>{known, nullptr});
    objects_.Apply(ports::Change<api::Namespace>{known, ns});
  }

  Random random_;
  SymbolTable words_;
  NodeTable table_{words_};
  ClusterObjects objects_;
  PodCounters counters_;
  std::vector<Row> rows_;
  std::vector<std::pair<Row, std::unique_ptr<PlacedPod>>> placed_;
  std::size_t made_ = 0;
};

TEST(PodCounters, EqualARecountAfterAnySequenceOfChanges) {
  for (std::uint64_t seed = 1; seed <= testing::Repetitions(12); ++seed) {
    Changing cluster(seed);
    std::vector<PodQueryPtr> queries;
    for (int i = 0; i < 30; ++i) queries.push_back(cluster.RandomQuery());
    for (int step = 0; step < 700; ++step) {
      cluster.Change();
      // Some queries are counted before their pods are added, others after.
      if (step % 20 != 0) continue;
      queries[static_cast<std::size_t>(step / 20) % queries.size()] = cluster.RandomQuery();
      for (const PodQueryPtr& query : queries) {
        ASSERT_EQ(Changing::AsMap(cluster.counters().Matching(query)), cluster.Recount(*query))
            << "seed " << seed << ", step " << step;
      }
      const PodLabelsPtr incoming = cluster.Incoming();
      for (const TermRole role : {TermRole::kRequired, TermRole::kRequiredAnti, TermRole::kPreferred}) {
        ASSERT_EQ(cluster.CarriedFor(role, *incoming), cluster.RecountCarried(role, *incoming))
            << "seed " << seed << ", step " << step;
      }
    }
    EXPECT_GT(cluster.pods(), 50u);
  }
}

TEST(PodCounters, FollowWithdrawals) {
  Changing cluster(3);
  std::vector<PodQueryPtr> queries;
  for (int i = 0; i < 30; ++i) queries.push_back(cluster.RandomQuery());
  for (int step = 0; step < 500; ++step) cluster.Change();
  for (int round = 0; round < 20; ++round) {
    const PodLabelsPtr incoming = cluster.Incoming();
    cluster.Withdraw([&] {
      for (const PodQueryPtr& query : queries)
        ASSERT_EQ(Changing::AsMap(cluster.counters().Matching(query)), cluster.Recount(*query)) << round;
      for (const TermRole role : {TermRole::kRequired, TermRole::kRequiredAnti, TermRole::kPreferred})
        ASSERT_EQ(cluster.CarriedFor(role, *incoming), cluster.RecountCarried(role, *incoming)) << round;
    });
  }
}

TEST(PodCounters, StayCorrectWhenIdleCountersAreDropped) {
  Changing cluster(99);
  const PodQueryPtr kept = cluster.RandomQuery();
  for (int i = 0; i < 5000; ++i) {
    cluster.counters().Matching(cluster.RandomQuery());  // no other reference is held
    if (i % 10 == 0) cluster.Change();
  }
  EXPECT_EQ(Changing::AsMap(cluster.counters().Matching(kept)), cluster.Recount(*kept));
}

TEST(PodCounters, OfNamespacesByLabelsAreCountedAgainAfterANamespaceHasChanged) {
  testing::Cluster cluster;
  cluster.Add(MakeNode("n"));
  const Row row = cluster.RowOf("n");
  for (const char* app : {"web", "db"}) {
    cluster.Run("n", testing::MakePod(app).Label("app", app));
    cluster.Run("n", testing::MakePod(std::string("other-") + app).Namespace("other").Label("app", app));
  }
  const auto query = [&](const char* app, bool by_labels) {
    PodClause clause;
    clause.namespaces = {"default"};
    clause.labels = api::SelectorOfLabels({{"app", app}});
    if (by_labels) clause.namespace_selector = api::SelectorOfLabels({{"env", "prod"}});
    return InternQuery({{std::move(clause)}, false}, cluster.symbols());
  };
  PodCounters& counters = cluster.handle().counters;
  const PodQueryPtr web = query("web", true), db = query("db", true), by_name = query("web", false);
  for (const PodQueryPtr& each : {web, db, by_name}) EXPECT_EQ(counters.Matching(each).At(row), 1);
  api::Namespace other;
  other.metadata.name = "other";
  other.metadata.labels = {{"env", "prod"}};
  cluster.Put(other);
  EXPECT_EQ(counters.counters(), 1U) << "only the one that does not depend on labels is left";
  EXPECT_EQ(counters.Matching(web).At(row), 2);
  EXPECT_EQ(counters.Matching(db).At(row), 2);
  cluster.Run("n", testing::MakePod("more").Namespace("other").Label("app", "web"));
  EXPECT_EQ(counters.Matching(web).At(row), 3);
  EXPECT_EQ(counters.Matching(db).At(row), 2);
  EXPECT_EQ(counters.Matching(by_name).At(row), 1);
}

TEST(PodCounters, BeyondTheirLimitQueriesAreCountedAtEachUse) {
  Changing cluster(7, 20'000);
  std::vector<PodQueryPtr> queries;
  std::size_t most = 0;
  constexpr std::size_t kEvery = 320 / testing::Repetitions(8);
  for (int step = 0; step < 2000; ++step) {
    cluster.Change();
    queries.push_back(cluster.RandomQuery());
    if (queries.size() > 400) queries.erase(queries.begin());
    for (std::size_t i = 0; i < queries.size(); i += kEvery) {
      ASSERT_EQ(Changing::AsMap(cluster.counters().Matching(queries[i])), cluster.Recount(*queries[i]))
          << step;
    }
    most = std::max(most, cluster.counters().counters());
  }
  EXPECT_GE(most, 10U);
  EXPECT_LT(most, 300U);
}

// Queries for the pods of one namespace without a certain label. They are not anchored to a label.
class GrowthTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytesMax = 20'000;

  void AddQueries(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string other = "other-" + std::to_string(queries_.size());
      api::LabelSelector selector;
      selector.match_expressions.push_back({"app", "NotIn", {other}});
      PodClause clause;
      clause.namespaces = {"default"};
      clause.labels = *api::ParseLabelSelector(&selector);
      queries_.push_back(InternQuery({{std::move(clause)}, false}, symbols_));
      counters_.Matching(queries_.back());
    }
  }
  Row AddNode() { return table_.Add(MakeNode("n" + std::to_string(nodes_++)).Share()); }
  void AddPod(Row row, const std::string& app) {
    auto placed = std::make_unique<PlacedPod>();
    placed->pod = testing::MakePod("p" + std::to_string(placed_.size())).Label("app", app).Share();
    placed->takes = UseOf(*placed->pod, symbols_);
    table_.AddPod(row, *placed);
    ++pods_on_[row];
    placed_.push_back(std::move(placed));
  }
  // All queries match all pods.
  void ExpectExactCounts() {
    for (const PodQueryPtr& query : queries_) {
      std::map<Row, int> counts;
      counters_.Matching(query).ForEach([&](std::uint32_t row, int count) { counts[row] = count; });
      EXPECT_EQ(counts, pods_on_);
    }
  }

  SymbolTable symbols_;
  NodeTable table_{symbols_};
  ClusterObjects objects_;
  PodCounters counters_{table_, objects_, kBytesMax};
  std::vector<PodQueryPtr> queries_;
  std::vector<std::unique_ptr<PlacedPod>> placed_;
  std::map<Row, int> pods_on_;
  int nodes_ = 0;
};

TEST_F(GrowthTest, NewSetsOfLabelsDropCountersBeyondTheLimit) {
  AddQueries(100);
  EXPECT_EQ(counters_.counters(), 100U);
  const Row row = AddNode();
  for (int i = 0; i < 200; ++i) {
    AddPod(row, "app-" + std::to_string(i));
    EXPECT_LE(counters_.bytes(), kBytesMax + kBytesMax / 4) << i;
  }
  EXPECT_LT(counters_.counters(), 25U);
  ExpectExactCounts();
}

TEST_F(GrowthTest, NewNodesDropCountersBeyondTheLimit) {
  AddQueries(100);
  EXPECT_EQ(counters_.counters(), 100U);
  for (int i = 0; i < 200; ++i) {
    AddPod(AddNode(), "web");
    EXPECT_LE(counters_.bytes(), kBytesMax + kBytesMax / 4) << i;
  }
  EXPECT_LT(counters_.counters(), 60U);
  ExpectExactCounts();
}

TEST_F(GrowthTest, TheCountersThatWereUsedLastAreKept) {
  AddQueries(100);
  const Row row = AddNode();
  for (int i = 0; counters_.counters() == 100U; ++i) {
    ASSERT_LT(i, 200);
    AddPod(row, "app-" + std::to_string(i));
  }
  const std::size_t kept = counters_.counters();
  for (std::size_t i = 100 - kept; i < 100; ++i) counters_.Matching(queries_[i]);
  EXPECT_EQ(counters_.counters(), kept);
  ExpectExactCounts();
}

TEST_F(GrowthTest, MemoryIsFreeWhenThePodsAreGone) {
  AddQueries(20);
  const std::size_t before = counters_.bytes();
  const Row row = AddNode();
  for (int i = 0; i < 20; ++i) AddPod(row, "app-" + std::to_string(i));
  EXPECT_GT(counters_.bytes(), before);
  for (const auto& placed : placed_) table_.RemovePod(row, *placed);
  pods_on_.clear();
  // The lists of rows keep room for one row.
  EXPECT_LE(counters_.bytes(), before + 20 * sizeof(std::uint64_t));
  ExpectExactCounts();
}

TEST(RowCounts, EqualAMapInBothRepresentations) {
  Random random(5);
  RowCounts counts;
  std::map<Row, int> expected;
  for (int step = 0; step < 20'000; ++step) {
    const Row row = static_cast<Row>(random.Below(step < 10'000 ? 2000 : 40));
    const bool leaves = expected[row] > 0 && random.Below(step < 8000 ? 10 : 2) == 0;
    counts.Add(row, leaves ? -1 : 1);
    expected[row] += leaves ? -1 : 1;
    ASSERT_EQ(counts.At(row), expected[row]);
  }
  std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
  EXPECT_EQ(Changing::AsMap(counts), expected);
}

}  // namespace
}  // namespace berth::cluster
