#include "tools/simulate/traces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tools/simulate/csv.hpp"
#include "tools/simulate/trace_formats.hpp"
#include "tools/simulate/workload_file.hpp"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,4,T4\nn-1,64000,262144,4,T4\nn-2,32000,131072,0,\n";
constexpr std::string_view kColumns =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time\n";

Expected<Workload> Openb(const std::string& pods, TraceSource source = {}) {
  Workload workload;
  TraceBuilder builder(source, workload);
  BERTH_RETURN_IF_ERROR(ReadOpenb({"nodes.csv", kNodes}, {"pods.csv", pods}, source, builder));
  BERTH_RETURN_IF_ERROR(builder.Finish());
  return workload;
}

TEST(Openb, EqualNodesFormOneGroupWithTheirNames) {
  const auto workload = Openb(std::string(kColumns));
  ASSERT_TRUE(workload) << workload.error().message;
  ASSERT_EQ(workload->groups.size(), 2u);
  EXPECT_EQ(workload->groups[0].names, (std::vector<std::string>{"n-0", "n-1"}));
  EXPECT_EQ(workload->groups[0].model.allocatable.at("cpu").Value(), 64);
  EXPECT_EQ(workload->groups[0].model.allocatable.at("memory").Value(), std::int64_t{256} << 30);
  EXPECT_EQ(workload->groups[0].model.allocatable.at("nvidia.com/gpu").Value(), 4);
  EXPECT_FALSE(workload->groups[1].model.allocatable.contains("nvidia.com/gpu"));
}

TEST(Openb, APodRunsFromItsScheduledTimeToItsDeletion) {
  const auto workload =
      Openb(std::string(kColumns) + "a,1000,1024,0,0,,100,500,130\nb,1000,1024,0,0,,40,90,\n" +
            "c,1000,1024,0,0,,20,,\n");
  ASSERT_TRUE(workload) << workload.error().message;
  ASSERT_EQ(workload->trace.size(), 3u);
  EXPECT_EQ(workload->kinds.size(), 1u);
  // By arrival: c does not end; b was never scheduled and runs as long as it waited; a ran 370 seconds.
  EXPECT_EQ(workload->trace[0].arrival, 20s);
  EXPECT_EQ(workload->trace[0].lifetime, std::nullopt);
  EXPECT_EQ(workload->trace[1].lifetime, 50s);
  EXPECT_EQ(workload->trace[2].arrival, 100s);
  EXPECT_EQ(workload->trace[2].lifetime, 370s);
  EXPECT_EQ(workload->duration, 470s);
}

TEST(Openb, PartsOfGpusAreWholeOnesOrThousandths) {
  const std::string pods = std::string(kColumns) + "a,1000,1024,1,460,T4|V100,0,10,0\n";
  const auto whole = Openb(pods);
  ASSERT_TRUE(whole);
  const api::Pod& pod = whole->kinds[0].model;
  EXPECT_EQ(pod.spec.containers[0].resources.requests.at("nvidia.com/gpu").Value(), 1);
  const auto& terms = pod.spec.node_affinity->required->terms;
  ASSERT_EQ(terms.size(), 1u);
  EXPECT_EQ(terms[0].match_expressions[0].values, (std::vector<std::string>{"T4", "V100"}));
  const auto milli = Openb(pods, {.gpus = "milli"});
  ASSERT_TRUE(milli);
  EXPECT_EQ(milli->kinds[0]
                .model.spec.containers[0]
                .resources.requests.at("simulation.berth.dev/gpu-milli")
                .Value(),
            460);
  EXPECT_EQ(milli->groups[0].model.allocatable.at("simulation.berth.dev/gpu-milli").Value(), 4000);
}

TEST(Openb, DevicesAreSharedByClaims) {
  const std::string pods = std::string(kColumns) +
                           "a,1000,1024,1,460,T4|V100,0,10,0\nb,1000,1024,2,1000,,0,10,0\n" +
                           "c,1000,1024,0,0,,0,10,0\n";
  const auto workload = Openb(pods, {.gpus = "devices"});
  ASSERT_TRUE(workload) << workload.error().message;
  const auto& devices = workload->groups[0].devices;
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->devices.size(), 4u);
  EXPECT_EQ(devices->devices[3].name, "gpu-3");
  EXPECT_TRUE(devices->devices[3].allow_multiple_allocations);
  EXPECT_EQ(std::get<std::string>(devices->devices[3].attributes.at("model").value), "T4");
  EXPECT_FALSE(workload->groups[1].devices) << "no GPUs";
  ASSERT_EQ(workload->kinds.size(), 3u);
  const auto request_of = [&](std::size_t kind) {
    return *workload->kinds[kind].claims.at("gpus").requests.at(0).exactly;
  };
  EXPECT_EQ(request_of(0).capacity->at("milli").Value(), 460);
  EXPECT_EQ(request_of(0).selectors.at(0).cel_expression,
            R"(device.attributes["gpu.simulation.berth.dev"].model in ["T4", "V100"])");
  EXPECT_FALSE(workload->kinds[0].model.spec.node_affinity);
  EXPECT_EQ(request_of(1).count, 2);
  EXPECT_FALSE(request_of(1).capacity) << "whole GPUs";
  EXPECT_TRUE(workload->kinds[2].claims.empty());
  EXPECT_EQ(workload->objects.size(), 1u) << "the device class";
}

// The nodes have eight GPUs.
TEST(Openb, ADemandIsMetWithPodsThatAreDrawnFromTheTrace) {
  const std::string pods = std::string(kColumns) + "a,1000,1024,1,500,,0,10,0\nb,1000,1024,2,1000,,0,10,0\n" +
                           "c,1000,1024,0,0,,0,10,0\n";
  const auto demand_of = [&](double demand, std::uint64_t seed) {
    const auto workload = Openb(pods, {.order = "shuffled", .interval = 1s, .seed = seed, .demand = demand});
    EXPECT_TRUE(workload) << workload.error().message;
    double sum = 0;
    for (const TracedPod& pod : workload->trace) {
      const std::string& name = workload->kinds[pod.kind].name;
      sum += name.ends_with("2gpu") ? 2 : name.ends_with("1gpu") ? 0.5 : 0;
    }
    return sum;
  };
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_GT(demand_of(2, seed), 14) << "the next pod would exceed 16 GPUs";
    EXPECT_LE(demand_of(2, seed), 16);
    EXPECT_LE(demand_of(0.25, seed), 2) << "fewer pods than the trace has";
  }
  const auto none = Openb(std::string(kColumns) + "c,1000,1024,0,0,,0,10,0\n",
                          {.order = "shuffled", .interval = 1s, .demand = 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "demand needs nodes with GPUs and pods that request GPUs");
}

TEST(Openb, ShuffledPodsArriveOneAfterTheOtherAndStay) {
  std::string pods(kColumns);
  for (int i = 0; i < 50; ++i) pods += "p," + std::to_string(1000 + i) + ",1024,0,0,,5,10,5\n";
  const auto first = Openb(pods, {.order = "shuffled", .interval = 2s, .seed = 1});
  const auto second = Openb(pods, {.order = "shuffled", .interval = 2s, .seed = 2});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->trace[49].arrival, 98s);
  EXPECT_EQ(first->trace[0].lifetime, std::nullopt);
  const auto kinds = [](const Workload& workload) {
    std::vector<std::uint32_t> order;
    for (const TracedPod& pod : workload.trace) order.push_back(pod.kind);
    return order;
  };
  EXPECT_NE(kinds(*first), kinds(*second));
  EXPECT_FALSE(std::ranges::is_sorted(kinds(*first)));
}

TEST(Openb, ErrorsNameFileLineAndColumn) {
  struct Case {
    std::string pods, error;
  };
  const Case cases[] = {
      {"", "pods.csv: the file is empty"},
      {"name,cpu,memory_mib,num_gpu,gpu_milli\n", "pods.csv:1: the column cpu_milli is missing"},
      {std::string(kColumns) + "a,x,1024,0,0,,0,1,0\n",
       "pods.csv:2: cpu_milli: expected a number that is not negative, got \"x\""},
      {std::string(kColumns) + "a,1,1024,0,0,,0,1,0\n\na,1,-5,0,0,,0,1,0\n", "pods.csv:4: memory_mib: "},
      {std::string(kColumns) + "a,1,1024,0,0,,7,3,\n",
       "pods.csv:2: deletion_time: expected at least creation_time (7), got 3"},
  };
  for (const Case& c : cases) {
    const auto workload = Openb(c.pods);
    ASSERT_FALSE(workload) << c.error;
    EXPECT_NE(workload.error().message.find(c.error), std::string::npos) << workload.error().message;
  }
}

TEST(Traces, ATimeThatCannotBeSimulatedIsAnErrorAndNotTheStart) {
  const auto milliseconds = Openb(std::string(kColumns) + "a,1,1024,0,0,,1700000000000,1700000060000,\n");
  ASSERT_FALSE(milliseconds);
  EXPECT_EQ(
      milliseconds.error().message,
      "pods.csv:2: creation_time: expected a time in seconds of at most 90 years, got \"1700000000000\"");
  const std::string seconds = std::string(kColumns) + "a,1,1024,0,0,,1700000000,1700000060,\n";
  EXPECT_TRUE(Openb(seconds));
  const auto slow = Openb(seconds, {.speed = 0.01});
  ASSERT_FALSE(slow);
  EXPECT_NE(slow.error().message.find("at most 90 years at the speed 0.01"), std::string::npos)
      << slow.error().message;
  Workload workload;
  const TraceSource source;
  TraceBuilder builder(source, workload);
  const auto alibaba = ReadAlibaba2018(
      {"m", ""}, {"t", "M1,1,j_1,1,Terminated,1700000000000,1700000060000,50,0.5\n"}, source, builder);
  ASSERT_FALSE(alibaba);
  EXPECT_NE(alibaba.error().message.find("t:1: end_time: expected a time in seconds"), std::string::npos)
      << alibaba.error().message;
}

TEST(Openb, ANodeIsListedOnce) {
  Workload workload;
  const TraceSource source;
  TraceBuilder builder(source, workload);
  const auto read =
      ReadOpenb({"nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn-0,1000,1024,0,\nn-0,1000,1024,0,\n"},
                {"pods.csv", kColumns}, source, builder);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "nodes.csv:3: sn: expected each node once, got \"n-0\" again");
}

TEST(Openb, ANodeHasNotTheNameOfANodeOfAnotherGroup) {
  Workload workload;
  workload.groups.emplace_back().name = "n";
  const TraceSource source;
  TraceBuilder builder(source, workload);
  ASSERT_TRUE(ReadOpenb({"nodes.csv", kNodes}, {"pods.csv", kColumns}, source, builder));
  const auto finished = builder.Finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message,
            "node \"n-0\" of the trace may also be one of the group \"n\": rename the group");
}

TEST(Openb, KindsWhoseRoundedAmountsAreEqualHaveDifferentNames) {
  const auto workload = Openb(std::string(kColumns) +
                              "a,1000,30517,0,0,,0,9,0\nb,1000,30518,0,0,,0,9,0\nc,1000,30517,0,0,,0,9,0\n");
  ASSERT_TRUE(workload) << workload.error().message;
  ASSERT_EQ(workload->kinds.size(), 2u);
  EXPECT_EQ(workload->kinds[0].name, "1c-29.8g");
  EXPECT_EQ(workload->kinds[1].name, "1c-29.8g-v2");
  EXPECT_EQ(*workload->kinds[1].model.metadata.labels.Find("kind"), "1c-29.8g-v2");
}

TEST(Alibaba2018, TasksAreAsManyPodsAsInstances) {
  Workload workload;
  const TraceSource source;
  TraceBuilder builder(source, workload);
  const auto read =
      ReadAlibaba2018({"m", "m_1,0,1,5,96,100,USING\nm_1,9,1,5,96,100,USING\nm_2,0,1,6,96,100,USING\n"},
                      {"t",
                       "M1,3,j_1,1,Terminated,100,160,50,0.5\nR2,1,j_1,1,Waiting,0,0,100,1\n,1,j_2,1,"
                       "Terminated,40,41,100,1\n"},
                      source, builder);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(builder.Finish());
  ASSERT_EQ(workload.groups.size(), 1u);
  EXPECT_EQ(workload.groups[0].names, (std::vector<std::string>{"m_1", "m_2"}));
  ASSERT_EQ(workload.trace.size(), 4u);
  EXPECT_EQ(workload.trace[0].arrival, 40s);
  EXPECT_EQ(workload.trace[3].arrival, 100s);
  EXPECT_EQ(workload.trace[3].lifetime, 60s);
  const auto& requests = workload.kinds[workload.trace[3].kind].model.spec.containers[0].resources.requests;
  EXPECT_EQ(requests.at("cpu").MilliValue(), 500);
  EXPECT_EQ(requests.at("memory").Value(), std::int64_t{512} << 20);
}

TEST(Borg2019, AnInstanceRunsFromScheduleToItsEndAndReturnsAfterAnEviction) {
  Workload workload;
  const TraceSource source;
  TraceBuilder builder(source, workload);
  const auto read = ReadBorg2019(
      {"m", "time,machine_id,type,capacity.cpus,capacity.memory\n0,7,1,0.5,0.25\n9,7,3,0.5,0.25\n5,8,2,,\n"},
      {"i",
       "time,type,collection_id,instance_index,priority,resource_request.cpus,resource_request.memory\n"
       "1000000,0,1,0,200,0.25,0.125\n2000000,3,1,0,200,0.25,0.125\n5000000,4,1,0,200,0.25,0.125\n"
       "6000000,3,1,0,200,,\n7000000,9,1,0,200,,\n16000000,6,1,0,200,,\n3000000,0,1,1,100,0.25,0.125\n"
       "9223372036854775807,6,1,1,100,,\n9223372036854775807,0,1,2,100,0.25,0.125\n"},
      source, builder);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(builder.Finish());
  ASSERT_EQ(workload.groups.size(), 1u);
  EXPECT_EQ(workload.groups[0].count, 1u);
  EXPECT_EQ(workload.groups[0].model.allocatable.at("cpu").Value(), 32);
  ASSERT_EQ(workload.trace.size(), 3u);
  EXPECT_EQ(workload.trace[0].arrival, 1s);
  EXPECT_EQ(workload.trace[0].lifetime, 3s);
  EXPECT_EQ(workload.trace[1].lifetime, std::nullopt);  // the second instance ends after the trace
  EXPECT_EQ(workload.trace[2].arrival, 5s);
  EXPECT_EQ(workload.trace[2].lifetime, 10s);
  EXPECT_EQ(workload.kinds[workload.trace[0].kind].model.spec.priority, 200);
}

TEST(Csv, QuotedFieldsMayHaveCommasQuotesAndLineBreaks) {
  auto rows = CsvReader::Open("f", "a,b\r\n\"1,5\",\"say \"\"x\"\"\nnow\"\r\n,2", {"b", "a", "c?"});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_TRUE(rows->Next());
  EXPECT_EQ(rows->Field(0), "say \"x\"\nnow");
  EXPECT_EQ(rows->Field(1), "1,5");
  EXPECT_EQ(rows->Field(2), "");
  ASSERT_TRUE(rows->Next());
  EXPECT_EQ(rows->Number(0).value(), 2);
  EXPECT_EQ(rows->Number(1, 7).value(), 7);
  EXPECT_FALSE(rows->Next());
}

TEST(Csv, AQuotedFieldWithoutAnEndIsAnErrorWithFileLineAndColumn) {
  struct Case {
    std::string text, error;
  };
  const Case cases[] = {
      {"x,b\n\"1\n2\",3\n4,\"5\n6,7\n",
       "f:4: b: expected a closing quote, got the end of the file; the field begins with \"5\\n6,7\\n\""},
      {"x,b\n\"1,2\n3,4\n",
       "f:2: column 1: expected a closing quote, got the end of the file; the field begins with "
       "\"1,2\\n3,4\\n\""},
      {"x,b\n1,\"2\n3,\"4\n5,6\n",
       "f:3: b: expected a comma or the end of the line after the closing quote, got \"4\"; the quoted field "
       "begins in line 2"},
  };
  for (const Case& c : cases) {
    auto rows = CsvReader::Open("f", c.text, {"b"});
    ASSERT_TRUE(rows) << rows.error().message;
    while (rows->Next()) EXPECT_TRUE(rows->Finish());
    const auto finished = rows->Finish();
    ASSERT_FALSE(finished) << c.error;
    EXPECT_EQ(finished.error().message, c.error);
    EXPECT_FALSE(rows->Next());
  }
  const auto header = CsvReader::Open("f", "\"a,b\n1,2\n", {"b"});
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().message,
            "f:1: column 1: expected a closing quote, got the end of the file; the field begins with "
            "\"a,b\\n1,2\\n\"");
}

TEST(Csv, LinesAreCountedInQuotedFieldsToo) {
  auto rows = CsvReader::Open("f", "a,b\n\"1\n2\",3\n4,x\n", {"b"});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_TRUE(rows->Next());
  EXPECT_EQ(rows->Place(0), "f:2: b: ");
  ASSERT_TRUE(rows->Next());
  EXPECT_EQ(rows->Place(0), "f:4: b: ");
}

TEST(Openb, AMissingQuoteIsNotAShorterTrace) {
  const auto workload =
      Openb(std::string(kColumns) + "a,1,1024,0,0,,0,1,0\nb,1,1024,0,0,\"T4,0,1,0\nc,1,1024,0,0,,0,1,0\n");
  ASSERT_FALSE(workload);
  EXPECT_NE(workload.error().message.find("pods.csv:3: gpu_spec: expected a closing quote"),
            std::string::npos)
      << workload.error().message;
}

TEST(Examples, AllWorkloadsOfTheExamplesAreValid) {
  for (const auto* name : {"services-and-batch.yaml", "gpu-trace.yaml"}) {
    const auto workload = LoadWorkload(std::string(BERTH_EXAMPLES "/simulate/") + name);
    EXPECT_TRUE(workload) << workload.error().message;
  }
}

TEST(Examples, ATraceFileThatIsMissingIsNamed) {
  const auto workload = ParseWorkload(
      "apiVersion: simulation.berth.dev/v1alpha1\nkind: Workload\ntrace: {format: openb, nodes: a.csv, pods: "
      "b.csv}\n",
      "/nowhere");
  ASSERT_FALSE(workload);
  EXPECT_NE(workload.error().message.find("/nowhere/a.csv"), std::string::npos) << workload.error().message;
}

}  // namespace
}  // namespace berth::simulate
