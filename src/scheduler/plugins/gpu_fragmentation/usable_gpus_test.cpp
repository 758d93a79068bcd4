#include "scheduler/plugins/gpu_fragmentation/usable_gpus.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::plugins {
namespace {

constexpr auto kNo = GpuNeeds::kUnusable;

// Asks of the tests, by index.
enum Ask : std::uint32_t { kWhole, kHalf, kTenth, kLarge };
// Model 0 has 1000 units. Model 1 has 2000, and an ask of a half of model 0 is a quarter of it; kLarge needs
// more than model 0 has.
GpuNeeds Needs() {
  GpuNeeds needs;
  needs.AddModel(1000, {});
  needs.AddModel(2000, {});
  needs.AddAsk({1000, 2000});  // kWhole
  needs.AddAsk({500, 500});    // kHalf
  needs.AddAsk({100, 100});    // kTenth
  needs.AddAsk({kNo, 1500});   // kLarge
  return needs;
}

GpuGroup Gpus(std::int64_t count, std::int64_t free, std::uint32_t model = 0) { return {model, free, count}; }

struct UsableCase {
  std::string name;
  GpuTask task;
  double published, balanced;
};

// Eight cores, 64 bytes of memory, three free GPUs and one of which 40 % are free: 3.4 free GPUs.
TEST(UsableGpus, AreWhatTasksOfAClassCanUse) {
  const std::vector<GpuGroup> gpus = {Gpus(1, 400), Gpus(3, 1000)};
  const UsableCase cases[] = {
      {"whole GPUs are used, the rest of the shared one is not", {1, 1000, 1, {{kWhole, 1}}}, 3, 3},
      {"a small part fits on every GPU", {1, 1000, 1, {{kTenth, 1}}}, 3.4, 0.8},
      {"without CPU and memory, too", {1, 0, 0, {{kTenth, 1}}}, 3.4, 3.4},
      {"CPU for two tasks is CPU for two GPUs", {1, 4000, 1, {{kWhole, 1}}}, 3, 2},
      {"CPU for one and a half tasks, of half a GPU each", {1, 5333, 1, {{kHalf, 1}}}, 3, 0.75},
      {"memory for two tasks", {1, 0, 32, {{kWhole, 1}}}, 3, 2},
      {"too little CPU for one task", {1, 8001, 0, {{kTenth, 1}}}, 0, 0},
      {"too little memory for one task", {1, 0, 65, {{kTenth, 1}}}, 0, 0},
      {"three GPUs of one task", {1, 1000, 0, {{kWhole, 3}}}, 3, 3},
      {"four GPUs are more than the node has", {1, 0, 0, {{kWhole, 4}}}, 0, 0},
      {"a model that the task cannot use", {1, 0, 0, {{kLarge, 1}}}, 0, 0},
      {"two requests, each fits", {1, 0, 0, {{kWhole, 1}, {kTenth, 1}}}, 3.4, 3.4},
      {"two requests, one does not fit", {1, 0, 0, {{kWhole, 1}, {kLarge, 1}}}, 0, 0},
      {"no GPU requested", {1, 1000, 1, {}}, 0, 0},
  };
  for (const UsableCase& row : cases) {
    SCOPED_TRACE(row.name);
    const GpuRoom room{8000, 64, gpus};
    EXPECT_NEAR(UsableGpus(Needs(), room, row.task, GpuFormula::kPublished), row.published, 1e-3);
    EXPECT_NEAR(UsableGpus(Needs(), room, row.task, GpuFormula::kBalanced), row.balanced, 1e-3);
  }
  EXPECT_DOUBLE_EQ(FreeGpus(Needs(), gpus), 3.4);
}

// F_n(M) of the paper is FreeGpus - UsableGpus: 2 - (0.5 * 2 + 0.3 * 0 + 0.2 * 1) = 0.8.
TEST(UsableGpus, OfAMixAreTheMeanByWeight) {
  const std::vector<GpuGroup> gpus = {Gpus(1, 1000), Gpus(1, 2000, 1)};
  const GpuTask mix[] = {{0.5, 1000, 0, {{kWhole, 1}}},   // both GPUs
                         {0.3, 9000, 0, {{kTenth, 1}}},   // too little CPU
                         {0.2, 1000, 0, {{kLarge, 1}}}};  // the GPU of the second model
  const double usable = UsableGpus(Needs(), {8000, 0, gpus}, mix, GpuFormula::kPublished);
  EXPECT_NEAR(usable, 1.2, 1e-9);
  EXPECT_NEAR(FreeGpus(Needs(), gpus) - usable, 0.8, 1e-9);
}

TEST(UsableGpus, OfOvercommittedNodesAreNone) {
  const std::vector<GpuGroup> gpus = {Gpus(2, 1000)};
  const GpuTask with_cpu{1, 1, 0, {{kWhole, 1}}}, without{1, 0, 0, {{kWhole, 1}}};
  for (const GpuFormula formula : {GpuFormula::kPublished, GpuFormula::kBalanced}) {
    EXPECT_EQ(UsableGpus(Needs(), {-500, 0, gpus}, with_cpu, formula), 0);
    EXPECT_EQ(UsableGpus(Needs(), {-500, 0, gpus}, without, formula), 2);
  }
}

struct TakeCase {
  std::string name;
  std::vector<GpuGroup> gpus;
  std::vector<GpuRequest> requests;
  // What is left of each device, in order; empty: there are too few.
  std::vector<std::int64_t> listed, least_waste;
};

std::vector<std::int64_t> Left(std::vector<GpuGroup> gpus, const std::vector<GpuRequest>& requests,
                               GpuChoice choice) {
  if (!TakeGpus(Needs(), requests, choice, gpus)) return {};
  std::vector<std::int64_t> left;
  for (const GpuGroup& group : gpus)
    left.insert(left.end(), static_cast<std::size_t>(group.count), group.free);
  return left;
}

TEST(TakeGpus, TakesTheFirstDevicesOrThoseWithTheLeastFreePart) {
  const TakeCase cases[] = {
      {"a part of the first device, or of the fullest one",
       {Gpus(2, 1000), Gpus(1, 600)},
       {{kHalf, 1}},
       {500, 1000, 600},
       {1000, 1000, 100}},
      {"a device with too little is left out",
       {Gpus(1, 400), Gpus(2, 1000)},
       {{kHalf, 1}},
       {400, 500, 1000},
       {400, 500, 1000}},
      {"whole devices", {Gpus(1, 900), Gpus(3, 1000)}, {{kWhole, 2}}, {900, 0, 0, 1000}, {900, 0, 0, 1000}},
      {"the devices of one request are different ones",
       {Gpus(1, 1000), Gpus(1, 1000)},
       {{kHalf, 2}},
       {500, 500},
       {500, 500}},
      {"those of two requests need not be",
       {Gpus(1, 1000), Gpus(1, 1000)},
       {{kHalf, 1}, {kHalf, 1}},
       {0, 1000},
       {0, 1000}},
      {"the order is kept for a later request",
       {Gpus(1, 200), Gpus(1, 1000)},
       {{kHalf, 1}, {kTenth, 1}},
       {100, 500},
       {100, 500}},
      {"the free part counts, not the free amount",
       {Gpus(1, 900), Gpus(1, 1000, 1)},
       {{kTenth, 1}},
       {800, 1000},
       {900, 900}},
      {"too few", {Gpus(1, 900), Gpus(1, 1000)}, {{kWhole, 2}}, {}, {}},
      {"no request", {Gpus(1, 900)}, {}, {900}, {900}},
  };
  for (const TakeCase& row : cases) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Left(row.gpus, row.requests, GpuChoice::kListed), row.listed);
    EXPECT_EQ(Left(row.gpus, row.requests, GpuChoice::kLeastWaste), row.least_waste);
  }
}

}  // namespace
}  // namespace berth::plugins
