#include "scheduler/plugins/node_affinity/node_affinity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using berth::testing::Term;
using berth::testing::Unresolvable;
using berth::testing::Verdicts;
using framework::Code;

class Zoo {
 public:
  Zoo() {
    cluster.Add(MakeNode("n1").Label("zone", "a").Label("disk", "ssd").Label("cores", "8"));
    cluster.Add(MakeNode("n2").Label("zone", "a").Label("cores", "16"));
    cluster.Add(MakeNode("n3").Label("zone", "b").Label("disk", "").Label("cores", "many"));
    cluster.Add(MakeNode("n4"));
  }
  // The names of the feasible nodes; also checks the reasons of the others.
  std::string Fitting(const NodeAffinity& plugin, const PodBuilder& pod,
                      const std::string& reason = "node(s) didn't match Pod's node affinity/selector") {
    std::string fitting;
    for (const auto& [name, verdict] : cluster.Filter(plugin, pod)) {
      if (verdict == Fits()) {
        fitting += (fitting.empty() ? "" : " ") + name;
      } else {
        EXPECT_EQ(verdict, Unresolvable({reason})) << name;
      }
    }
    return fitting;
  }
  Cluster cluster;
};

struct FilterCase {
  std::string name;
  PodBuilder pod;
  std::string fitting;
};
class Affinity : public ::testing::TestWithParam<FilterCase> {};
TEST_P(Affinity, KeepsMatchingNodes) {
  Zoo zoo;
  EXPECT_EQ(zoo.Fitting(*zoo.cluster.Make<NodeAffinity>(), GetParam().pod), GetParam().fitting);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Affinity,
    ::testing::Values(
        FilterCase{"SelectorWantsEveryPair", MakePod().Selecting("zone", "a").Selecting("disk", "ssd"), "n1"},
        FilterCase{"SelectorOfALabelNobodyHas", MakePod().Selecting("zone", "z"), ""},
        FilterCase{"SelectorMayWantAnEmptyValue", MakePod().Selecting("disk", ""), "n3"},
        FilterCase{"In", MakePod().Requiring({Term({{"zone", "In", {"a", "z"}}})}), "n1 n2"},
        FilterCase{"NotInTakesAbsence", MakePod().Requiring({Term({{"zone", "NotIn", {"a"}}})}), "n3 n4"},
        FilterCase{"Exists", MakePod().Requiring({Term({{"disk", "Exists", {}}})}), "n1 n3"},
        FilterCase{"DoesNotExist", MakePod().Requiring({Term({{"disk", "DoesNotExist", {}}})}), "n2 n4"},
        FilterCase{"GtIgnoresWhatIsNoNumber", MakePod().Requiring({Term({{"cores", "Gt", {"8"}}})}), "n2"},
        FilterCase{"Lt", MakePod().Requiring({Term({{"cores", "Lt", {"16"}}})}), "n1"},
        FilterCase{"ExpressionsAreAnded",
                   MakePod().Requiring({Term({{"zone", "In", {"a"}}, {"disk", "Exists", {}}})}), "n1"},
        FilterCase{"TermsAreOred",
                   MakePod().Requiring({Term({{"zone", "In", {"b"}}}), Term({{"disk", "In", {"ssd"}}})}),
                   "n1 n3"},
        FilterCase{"NoTermsMatchNothing", MakePod().Requiring({}), ""},
        FilterCase{"AnEmptyTermMatchesNothing", MakePod().Requiring({Term({})}), ""},
        FilterCase{"AMistakenTermMatchesNothingAndTheOthersStand",
                   MakePod().Requiring({Term({{"zone", "Near", {"a"}}}), Term({{"zone", "In", {"b"}}})}),
                   "n3"},
        FilterCase{"SelectorAndAffinityAreAnded",
                   MakePod().Selecting("zone", "a").Requiring({Term({{"disk", "DoesNotExist", {}}})}), "n2"},
        FilterCase{"AFieldNamesTheNode", MakePod().Requiring({Term({}, {{"metadata.name", "In", {"n4"}}})}),
                   "n4"},
        FilterCase{"AFieldExcludesTheNode",
                   MakePod().Requiring({Term({}, {{"metadata.name", "NotIn", {"n4"}}})}), "n1 n2 n3"},
        FilterCase{"FieldsAndLabelsAreAnded",
                   MakePod().Requiring({Term({{"zone", "In", {"a"}}}, {{"metadata.name", "In", {"n3"}}})}),
                   ""},
        FilterCase{"OtherFieldsAreEmpty", MakePod().Requiring({Term({}, {{"spec.x", "NotIn", {"y"}}})}),
                   "n1 n2 n3 n4"},
        FilterCase{"OtherFieldsEqualTheEmptyText", MakePod().Requiring({Term({}, {{"spec.x", "In", {""}}})}),
                   "n1 n2 n3 n4"},
        FilterCase{"OtherFieldsHaveNoValue", MakePod().Requiring({Term({}, {{"spec.x", "In", {"y"}}})}), ""}),
    [](const auto& row) { return row.param.name; });

TEST(AffinityOfTheProfile, IsEvaluatedBeforeThePodsAffinity) {
  Zoo zoo;
  const auto plugin = zoo.cluster.Make<NodeAffinity>(
      "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
      "[{matchExpressions: "
      "[{key: zone, operator: In, values: [a]}]}]}}");
  const auto enforced = Unresolvable({"node(s) didn't match scheduler-enforced node affinity"});
  EXPECT_EQ(zoo.cluster.Filter(*plugin, MakePod()),
            (Verdicts{{"n1", Fits()}, {"n2", Fits()}, {"n3", enforced}, {"n4", enforced}}));
  EXPECT_EQ(zoo.cluster.Filter(*plugin, MakePod().Selecting("disk", "ssd")),
            (Verdicts{{"n1", Fits()},
                      {"n2", Unresolvable({"node(s) didn't match Pod's node affinity/selector"})},
                      {"n3", enforced},
                      {"n4", enforced}}));
}

// --- PreFilter ---

struct NamesCase {
  std::string name;
  PodBuilder pod;
  std::string answer;  // "skip", "all", "n1 n2", or the error
};
class AffinityPreFilter : public ::testing::TestWithParam<NamesCase> {};
TEST_P(AffinityPreFilter, LimitsToTheNamedNodes) {
  Zoo zoo;
  const auto answer = zoo.cluster.PreFilter(*zoo.cluster.Make<NodeAffinity>(), GetParam().pod);
  std::string text = answer.status.skip() ? "skip" : answer.status.ok() ? "all" : answer.status.Message();
  if (answer.nodes) {
    text.clear();
    for (const auto id : *answer.nodes)
      text += (text.empty() ? "" : " ") + zoo.cluster.symbols().node_names.Text(id);
  }
  EXPECT_EQ(text, GetParam().answer);
}
const api::NodeSelectorTerm kOnlyN1 = Term({}, {{"metadata.name", "In", {"n1"}}});
INSTANTIATE_TEST_SUITE_P(
    Table, AffinityPreFilter,
    ::testing::Values(
        NamesCase{"NothingRequired", MakePod(), "skip"},
        NamesCase{"OnlyPreferred", MakePod().Preferring(1, Term({{"a", "Exists", {}}})), "skip"},
        NamesCase{"Selector", MakePod().Selecting("zone", "a"), "all"},
        NamesCase{"Labels", MakePod().Requiring({Term({{"a", "Exists", {}}})}), "all"},
        NamesCase{"OneName", MakePod().Requiring({kOnlyN1}), "n1"},
        NamesCase{"NamesOfSeveralTermsTogether",
                  MakePod().Requiring({Term({}, {{"metadata.name", "In", {"x"}}}), kOnlyN1}), "n1 x"},
        NamesCase{"ATermWithoutNameIsNoLimit", MakePod().Requiring({kOnlyN1, Term({{"a", "Exists", {}}})}),
                  "all"},
        NamesCase{"AnEmptyTermIsNoLimit", MakePod().Requiring({kOnlyN1, Term({})}), "all"},
        NamesCase{"NotInIsNoLimit", MakePod().Requiring({Term({}, {{"metadata.name", "NotIn", {"n1"}}})}),
                  "all"},
        NamesCase{"SeveralValuesAreTakenThoughTheTermIsWrong",
                  MakePod().Requiring({Term({}, {{"metadata.name", "In", {"b", "a"}}})}), "a b"},
        NamesCase{"NamesWithinATermAreIntersected",
                  MakePod().Requiring({Term({}, {{"metadata.name", "In", {"n1"}},
                                                 {"metadata.name", "In", {"n2"}}})}),
                  "pod affinity terms conflict"}),
    [](const auto& row) { return row.param.name; });

TEST(AffinityPreFilter, NeverSkipsWithAddedAffinity) {
  Zoo zoo;
  const auto plugin = zoo.cluster.Make<NodeAffinity>(
      "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}");
  EXPECT_TRUE(zoo.cluster.PreFilter(*plugin, MakePod()).status.ok());
  EXPECT_EQ(zoo.Fitting(*plugin, MakePod(), "node(s) didn't match scheduler-enforced node affinity"), "");
}

// --- score ---

TEST(AffinityScore, SumsTheWeightsOfTheTermsThatMatch) {
  Zoo zoo;
  const auto plugin = zoo.cluster.Make<NodeAffinity>();
  const auto pod =
      MakePod().Preferring(10, Term({{"zone", "In", {"a"}}})).Preferring(40, Term({{"disk", "In", {"ssd"}}}));
  EXPECT_EQ(zoo.cluster.RawScores(*plugin, pod), (NodeScores{{"n1", 50}, {"n2", 10}, {"n3", 0}, {"n4", 0}}));
  EXPECT_EQ(zoo.cluster.Scores(*plugin, pod), (NodeScores{{"n1", 100}, {"n2", 20}, {"n3", 0}, {"n4", 0}}));
}

TEST(AffinityScore, ProportionsAreTruncated) {
  Zoo zoo;
  const auto plugin = zoo.cluster.Make<NodeAffinity>();
  const auto pod =
      MakePod().Preferring(1, Term({{"zone", "Exists", {}}})).Preferring(2, Term({{"disk", "Exists", {}}}));
  EXPECT_EQ(zoo.cluster.Scores(*plugin, pod), (NodeScores{{"n1", 100}, {"n2", 33}, {"n3", 100}, {"n4", 0}}));
}

TEST(AffinityScore, IsZeroWithoutAMatch) {
  Zoo zoo;
  const auto pod = MakePod().Preferring(5, Term({{"zone", "In", {"z"}}}));
  EXPECT_EQ(zoo.cluster.Scores(*zoo.cluster.Make<NodeAffinity>(), pod),
            (NodeScores{{"n1", 0}, {"n2", 0}, {"n3", 0}, {"n4", 0}}));
}

TEST(AffinityScore, IgnoresEmptyTermsAndTermsWithoutWeight) {
  Zoo zoo;
  const auto plugin = zoo.cluster.Make<NodeAffinity>();
  const auto pod = MakePod().Preferring(5, Term({})).Preferring(0, Term({{"zone", "Near", {}}}));
  EXPECT_TRUE(zoo.cluster.PreScore(*plugin, pod).ok());
  EXPECT_EQ(zoo.cluster.RawScores(*plugin, pod).at("n1"), 0);
}

TEST(AffinityScore, AnInvalidPreferredTermIsAnError) {
  Zoo zoo;
  const auto plugin = zoo.cluster.Make<NodeAffinity>();
  const auto pod =
      MakePod().Preferring(1, Term({{"zone", "Exists", {}}})).Preferring(5, Term({{"zone", "In", {}}}));
  const framework::Status status = zoo.cluster.PreScore(*plugin, pod);
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.Message(),
            "[1].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set "
            "can't be empty");
}

TEST(AffinityScore, IsSkippedWithoutPreferredTerms) {
  Zoo zoo;
  EXPECT_TRUE(zoo.cluster.PreScore(*zoo.cluster.Make<NodeAffinity>(), MakePod()).skip());
  const auto added = zoo.cluster.Make<NodeAffinity>(
      "addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, preference: "
      "{matchExpressions: "
      "[{key: zone, operator: In, values: [a]}]}}]}");
  EXPECT_TRUE(zoo.cluster.PreScore(*added, MakePod()).ok());
  EXPECT_EQ(zoo.cluster.RawScores(*added, MakePod().Preferring(1, Term({{"disk", "Exists", {}}}))),
            (NodeScores{{"n1", 8}, {"n2", 7}, {"n3", 1}, {"n4", 0}}));
}

// --- arguments ---

TEST(AffinityArgs, ErrorsContainThePathInTheFile) {
  Cluster cluster;
  const auto error = [&](const std::string& args) {
    return cluster.TryMake<NodeAffinity>(args).error().message;
  };
  EXPECT_EQ(error("addedAffinty: {}"),
            "strict decoding error: unknown field \"addedAffinty\"; did you mean \"addedAffinity\"?");
  EXPECT_EQ(error("addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                  "[{matchFields: "
                  "[{key: metadata.name, operator: Exists}]}]}}"),
            "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0]."
            "matchFields[0].operator: Unsupported value: \"Exists\": supported values: \"In\", \"NotIn\"");
  EXPECT_EQ(error("addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: "
                  "{matchExpressions: "
                  "[{key: a, operator: In}]}}]}"),
            "profiles[0].pluginConfig[0].args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution["
            "0].matchExpressions[0]."
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty");
}

}  // namespace
}  // namespace berth::plugins
