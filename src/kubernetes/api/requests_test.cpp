#include "kubernetes/api/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <ctime>
#include <limits>
#include <map>

#include "base/random.hpp"
#include "testing/builders.hpp"
#include "testing/repetitions.hpp"

namespace berth::api {
namespace {

using berth::testing::Amounts;
using berth::testing::ContainerBuilder;
using berth::testing::MakeContainer;
using berth::testing::MakePod;
using berth::testing::PodBuilder;

constexpr std::int64_t kMi = 1 << 20;

std::int64_t MilliCpu(const ResourceList& list) {
  return list.contains("cpu") ? list.at("cpu").MilliValue() : -1;
}
std::int64_t Of(const ResourceList& list, const std::string& name) {
  return list.contains(name) ? list.at(name).Value() : -1;
}

// --- a pod that waits ---
// Cpu in milli-cores and memory in Mi; -1 for a resource that is not in the sum at all.
struct SumCase {
  std::string name;
  Pod pod;
  std::int64_t cpu, memory;                    // requests
  std::int64_t non_zero_cpu, non_zero_memory;  // with the defaults for containers without requests
};
class APodsSum : public ::testing::TestWithParam<SumCase> {};
TEST_P(APodsSum, IsTheMaximumOverItsLifetime) {
  const auto& row = GetParam();
  const ResourceList plain = PodRequests(row.pod, {});
  EXPECT_EQ(MilliCpu(plain), row.cpu);
  EXPECT_EQ(Of(plain, "memory"), row.memory < 0 ? -1 : row.memory * kMi);
  const NonZeroUse use = NonZeroRequests(row.pod);
  EXPECT_EQ(use.milli_cpu, row.non_zero_cpu);
  EXPECT_EQ(use.memory, row.non_zero_memory * kMi);
}
INSTANTIATE_TEST_SUITE_P(
    Table, APodsSum,
    ::testing::Values(
        SumCase{"AbsentRequestsUseDefaultsOnlyInScores", MakePod(), -1, -1, 100, 200},
        SumCase{"ContainersAreSummed",
                MakePod()
                    .Container(MakeContainer().Cpu("200m"))
                    .Container(MakeContainer().Cpu("300m").Memory("1Mi")),
                500, 1, 500, 201},
        SumCase{"AnExplicitZeroIsKept", MakePod().Cpu("0"), 0, -1, 0, 200},
        SumCase{"TheLargestInitContainerCountsWhereItIsMore",
                MakePod()
                    .Cpu("1")
                    .Memory("5Mi")
                    .Init(MakeContainer().Cpu("3").Memory("1Mi"))
                    .Init(MakeContainer().Cpu("2").Memory("9Mi")),
                3000, 9, 3000, 9},
        SumCase{"ASidecarRunsBesideTheContainers",
                MakePod().Cpu("200m").Memory("10Mi").Sidecar(MakeContainer().Cpu("100m").Memory("5Mi")), 300,
                15, 300, 15},
        SumCase{"AnInitContainerRunsBesideTheSidecarsBeforeIt",
                MakePod()
                    .Cpu("200m")
                    .Memory("1Mi")
                    .Sidecar(MakeContainer().Cpu("100m").Memory("1Mi"))
                    .Init(MakeContainer().Cpu("1").Memory("1Mi")),
                1100, 2, 1100, 2},
        SumCase{"AnInitContainerDoesNotRunBesideSidecarsBehindIt",
                MakePod()
                    .Cpu("200m")
                    .Memory("1Mi")
                    .Init(MakeContainer().Cpu("1").Memory("1Mi"))
                    .Sidecar(MakeContainer().Cpu("100m").Memory("1Mi")),
                1000, 2, 1000, 2},
        SumCase{"SidecarsAddUpWhileTheyStart",
                MakePod()
                    .Cpu("0")
                    .Memory("0")
                    .Sidecar(MakeContainer().Cpu("1").Memory("0"))
                    .Sidecar(MakeContainer().Cpu("2").Memory("0")),
                3000, 0, 3000, 0},
        SumCase{"OverheadComesOnTop", MakePod().Overhead("cpu", "10m"), 10, -1, 110, 200},
        SumCase{"PodLevelReplacesTheSumAndOverheadComesOnTop",
                MakePod().Cpu("2").Memory("1Mi").PodLevel("cpu", "1").Overhead("cpu", "100m"), 1100, 1, 1100,
                1},
        SumCase{"WithPodLevelOnlyAbsentRequestsGetADefault", MakePod().PodLevel("cpu", "1"), 1000, -1, 1000,
                200}),
    [](const auto& row) { return row.param.name; });

TEST(PodRequests, AreRoundedOnceForThePod) {
  const Pod pod = MakePod().Container(MakeContainer().Cpu("500u")).Container(MakeContainer().Cpu("500u"));
  EXPECT_EQ(MilliCpu(PodRequests(pod, {})), 1);
}

TEST(PodRequests, PodLevelReplacesOnlySupportedResources) {
  const Pod pod = MakePod()
                      .Cpu("1")
                      .Request("example.com/gpu", "2")
                      .Request("hugepages-2Mi", "4Mi")
                      .PodLevel("hugepages-2Mi", "2Mi")
                      .PodLevel("example.com/gpu", "7");
  const ResourceList sum = PodRequests(pod, {});
  EXPECT_EQ(Of(sum, "example.com/gpu"), 2);
  EXPECT_EQ(Of(sum, "hugepages-2Mi"), 2 * kMi);
  EXPECT_EQ(MilliCpu(sum), 1000);
  EXPECT_EQ(Of(PodRequests(pod, {.pod_level = false}), "hugepages-2Mi"), 4 * kMi);
}

TEST(PodRequests, DoNotIncludeLimits) {
  const Pod pod = MakePod().Container(MakeContainer().Limit("cpu", "4"));
  EXPECT_EQ(MilliCpu(PodRequests(pod, {})), -1);
  EXPECT_EQ(MilliCpu(ContainerLimits(pod)), 4000);
}

// --- a pod that runs and may be in the middle of a resize ---
struct Resize {
  std::string spec;
  std::optional<std::string> allocated;
  std::optional<std::string> actual;
};
struct ResizeCase {
  std::string name;
  std::vector<Resize> containers;
  bool infeasible;
  std::int64_t cpu;
};
class AResizedPod : public ::testing::TestWithParam<ResizeCase> {};
TEST_P(AResizedPod, CountsTheMaximumItMayUse) {
  Pod pod = MakePod();
  pod.spec.containers.clear();
  for (std::size_t i = 0; i < GetParam().containers.size(); ++i) {
    const Resize& resize = GetParam().containers[i];
    const std::string name = "c" + std::to_string(i);
    pod.spec.containers.push_back(MakeContainer(name).Cpu(resize.spec));
    ContainerStatus status{name, {}, {}};
    if (resize.allocated) status.allocated_resources = Amounts({{"cpu", *resize.allocated}});
    if (resize.actual) status.resource_requests = Amounts({{"cpu", *resize.actual}});
    pod.status.container_statuses.push_back(status);
  }
  if (GetParam().infeasible)
    pod.status.conditions.push_back({"PodResizePending", "True", "Infeasible", "", ""});
  EXPECT_EQ(MilliCpu(PodRequests(pod, {.use_status = true})), GetParam().cpu);
}
INSTANTIATE_TEST_SUITE_P(
    Table, AResizedPod,
    ::testing::Values(
        ResizeCase{"ShrinkingItKeepsWhatItHas", {{"500m", "1", "1"}}, false, 1000},
        ResizeCase{"GrowingItTakesWhatItWillHave", {{"2", "1", "1"}}, false, 2000},
        ResizeCase{"AnInfeasibleResizeDoesNotCount", {{"2", "1", "1"}}, true, 1000},
        ResizeCase{
            "TheMaximumIsOfTheSumsNotOfEachContainer", {{"2", "1", "1"}, {"1", "2", "2"}}, false, 3000},
        ResizeCase{"WithoutActualTheAllocationCounts", {{"1", "3", {}}}, false, 3000},
        ResizeCase{"WithoutStatusTheSpecCounts", {{"1", {}, {}}}, false, 1000},
        ResizeCase{"AnInfeasibleResizeWithoutStatusCountsAsNothing", {{"1", {}, {}}}, true, -1}),
    [](const auto& row) { return row.param.name; });

TEST(AResizedPod, CountsTheSpecWhileItIsPending) {
  Pod pod = MakePod().Cpu("1");
  pod.status.container_statuses.push_back({"c", Amounts({{"cpu", "5"}}), {}});
  EXPECT_EQ(MilliCpu(PodRequests(pod, {})), 1000);
}

TEST(AResizedPod, CountsItsPodLevelStatusIfBothMapsArePresent) {
  Pod pod = MakePod().Cpu("1");
  pod.status.has_resources = true;
  pod.status.allocated_resources = Amounts({{"cpu", "2"}});
  pod.status.resource_requests = Amounts({{"cpu", "3"}});
  EXPECT_EQ(MilliCpu(PodRequests(pod, {.use_status = true})), 3000);
}

TEST(AResizedPod, PodLevelUsesTheMaximumOfSpecAndStatus) {
  Pod pod = MakePod().Cpu("1").PodLevel("cpu", "2");
  pod.status.has_resources = true;
  pod.status.allocated_resources = Amounts({{"cpu", "4"}});
  EXPECT_EQ(MilliCpu(PodRequests(pod, {.use_status = true})), 4000);
  EXPECT_EQ(MilliCpu(PodRequests(pod, {.use_status = false})), 2000);
}

// --- many containers and resources ---
using Sums = std::map<std::string, std::int64_t>;

// The rule of the API, with maps of integers.
Sums PlainSums(const Pod& pod) {
  const auto add = [](Sums& sum, const Sums& more) {
    for (const auto& [name, amount] : more) sum[name] += amount;
  };
  const auto raise = [](Sums& list, const Sums& other) {
    for (const auto& [name, amount] : other) list[name] = std::max(list[name], amount);
  };
  const auto own = [](const Container& container) {
    Sums sums;
    for (const auto& [name, amount] : container.resources.requests) sums[name] = amount.Value();
    return sums;
  };
  Sums running, sidecars, peak;
  for (const Container& container : pod.spec.containers) add(running, own(container));
  for (const Container& container : pod.spec.init_containers) {
    Sums sums = own(container);
    if (container.restart_always) {
      add(running, sums);
      add(sidecars, sums);
      raise(peak, sidecars);
    } else {
      add(sums, sidecars);
      raise(peak, sums);
    }
  }
  raise(running, peak);
  Sums overhead;
  for (const auto& [name, amount] : pod.spec.overhead) overhead[name] = amount.Value();
  add(running, overhead);
  return running;
}

Sums Values(const ResourceList& list) {
  Sums values;
  for (const auto& [name, amount] : list) values[name] = amount.Value();
  return values;
}

TEST(PodRequests, OfRandomPodsEqualTheRule) {
  Random random(7);
  const auto name = [&] { return "example.com/r" + std::to_string(random.Below(12)); };
  for (std::size_t round = 0; round < testing::Repetitions(2000); ++round) {
    PodBuilder builder = MakePod();
    if (round % 2 == 0) {  // many names are summed in another way than few
      for (int i = 0; i < 80; ++i) builder.Overhead("example.com/o" + std::to_string(i), "1");
    }
    const auto containers = [&](auto&& append) {
      for (std::uint64_t i = random.Below(5); i > 0; --i) {
        ContainerBuilder container = MakeContainer("c" + std::to_string(i));
        for (std::uint64_t k = random.Below(6); k > 0; --k)
          container.Request(name(), std::to_string(random.Below(9)));
        append(std::move(container));
      }
    };
    containers([&](auto container) { builder.Container(container); });
    containers([&](auto container) {
      if (random.Below(2) == 0)
        builder.Init(container);
      else
        builder.Sidecar(container);
    });
    const Pod pod = builder;
    const Sums expected = PlainSums(pod);
    ASSERT_EQ(Values(PodRequests(pod, {})), expected) << round;
    const ResourceList only = Amounts({{name(), "0"}, {name(), "0"}});
    const ResourceList some = PodRequests(pod, {.only = &only});
    for (const auto& [wanted, unused] : only) {
      ASSERT_EQ(some.contains(wanted), expected.contains(wanted)) << round;
      if (expected.contains(wanted)) {
        ASSERT_EQ(some.at(wanted).Value(), expected.at(wanted)) << round;
      }
    }
  }
}

// CPU time of the sum of one pod's requests, in clock ticks.
std::clock_t CostOf(const Pod& pod, const RequestOptions& options, std::size_t expected) {
  const std::clock_t begun = std::clock();
  EXPECT_EQ(PodRequests(pod, options).size(), expected);
  return std::clock() - begun;
}

// Whether a pod that is four times as large costs less than eight times as much: a linear cost grows by about
// four, a quadratic one by at least twelve. Other processes disturb single runs, so the best ones count, and
// there are more of them until they show a linear cost.
bool IsLinear(Pod (*pod_of)(int size), std::size_t resources_per_size, const RequestOptions& options = {}) {
  constexpr int kSmall = static_cast<int>(testing::Repetitions(10'000));
  const std::array pods{pod_of(kSmall), pod_of(4 * kSmall)};
  constexpr std::clock_t kUnknown = std::numeric_limits<std::clock_t>::max();
  std::array best{kUnknown, kUnknown};
  const auto linear = [&] { return best[1] < 8 * std::max<std::clock_t>(best[0], 1); };
  for (int run = 0; run < 3 || (run < 10 && !linear()); ++run) {
    for (const std::size_t large : {0, 1}) {
      const std::size_t resources =
          resources_per_size == 0
              ? 1
              : resources_per_size * static_cast<std::size_t>(large == 0 ? kSmall : 4 * kSmall);
      best[large] = std::min(best[large], CostOf(pods[large], options, resources));
    }
  }
  return linear();
}

Container WithRequests(std::string name, int first, int step, int count) {
  Container container = MakeContainer(std::move(name));
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(1'000'000 + first + i * step);
    container.resources.requests.try_emplace("example.com/" + number, Quantity::FromInteger(1));
  }
  return container;
}

Pod WithContainersOfDifferentResources(int size) {
  Pod pod = MakePod();
  pod.spec.containers = {WithRequests("a", 0, 2, size), WithRequests("b", 1, 2, size)};
  return pod;
}

Pod WithInitContainerOfDifferentResources(int size) {
  Pod pod = WithContainersOfDifferentResources(size);
  pod.spec.init_containers = {std::move(pod.spec.containers[1])};
  pod.spec.containers.pop_back();
  return pod;
}

Pod WithSidecars(int size) {
  Pod pod = MakePod();
  for (int i = 0; i < size; ++i) {
    pod.spec.init_containers.push_back(WithRequests("c" + std::to_string(i), i, 1, 1));
    pod.spec.init_containers.back().restart_always = i < size / 2;
  }
  return pod;
}

Pod WithContainersAndStatuses(int size) {
  Pod pod = MakePod();
  pod.spec.containers.clear();
  for (int i = 0; i < size; ++i) {
    const std::string name = "container-" + std::to_string(i);
    pod.spec.containers.push_back(MakeContainer(name).Cpu("1m"));
    pod.status.container_statuses.push_back({name, Amounts({{"cpu", "2m"}}), {}});
  }
  return pod;
}

TEST(PodRequests, HaveALinearCost) {
  EXPECT_TRUE(IsLinear(WithContainersOfDifferentResources, 2));
  EXPECT_TRUE(IsLinear(WithInitContainerOfDifferentResources, 2));
  EXPECT_TRUE(IsLinear(WithSidecars, 1));
  EXPECT_TRUE(IsLinear(WithContainersAndStatuses, 0, {.use_status = true}));
}

TEST(PodRequests, OfContainersWithAStatusAddUp) {
  EXPECT_EQ(MilliCpu(PodRequests(WithContainersAndStatuses(50'000), {.use_status = true})), 100'000);
}

TEST(ResourceClass, DependsOnTheName) {
  const std::vector<std::pair<std::string, ResourceClass>> rows{
      {"cpu", ResourceClass::kCpu},
      {"memory", ResourceClass::kMemory},
      {"ephemeral-storage", ResourceClass::kEphemeralStorage},
      {"pods", ResourceClass::kPods},
      {"hugepages-2Mi", ResourceClass::kScalar},
      {"attachable-volumes-csi-x", ResourceClass::kScalar},
      {"kubernetes.io/foo", ResourceClass::kScalar},
      {"sub.kubernetes.io/foo", ResourceClass::kScalar},
      {"example.com/gpu", ResourceClass::kExtended},
      {"requests.example.com/gpu", ResourceClass::kIgnored},
      {"example.com/g p u", ResourceClass::kIgnored},
      {"storage", ResourceClass::kIgnored},
      {"gpu", ResourceClass::kIgnored},
  };
  for (const auto& [name, kind] : rows) EXPECT_EQ(ClassOf(name), kind) << name;
}

}  // namespace
}  // namespace berth::api
