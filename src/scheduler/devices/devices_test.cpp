#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <tuple>

#include "base/random.hpp"
#include "kubernetes/api/decode.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/devices/allocator.hpp"
#include "testing/repetitions.hpp"

namespace berth::devices {
namespace {

using api::ResourceClaim;
using ::testing::ElementsAre;

template <class T>
std::shared_ptr<const T> Read(const std::string& json) {
  auto object = api::Decoder().Object<T>(json);
  EXPECT_TRUE(object) << (object ? "" : object.error().message) << "\n" << json;
  return std::make_shared<const T>(*std::move(object));
}

// A selector is the name of an attribute that must be true, "error", or "bad" (does not compile).
class AttributeSelectors final : public SelectorEvaluator {
 public:
  const Answer& Evaluate(const std::string& expression, std::string_view,
                         const SliceDevice& device) override {
    if (expression == "bad") return answer_ = {Answer::Kind::kCompileError, "undeclared reference", 0};
    if (expression == "error") return answer_ = {Answer::Kind::kRuntimeError, "no such key: x", 0};
    const auto found = device.device->attributes.find(expression);
    const bool* value =
        found == device.device->attributes.end() ? nullptr : std::get_if<bool>(&found->second.value);
    return answer_ = {
               value != nullptr && *value ? Answer::Kind::kMatch : Answer::Kind::kNoMatch, {}, steps_each};
  }
  std::string ValuesOf(const std::string& expression, std::string_view, const SliceDevice& device) override {
    return expression + (device.device->attributes.contains(expression) ? " false" : " absent");
  }
  std::uint64_t steps_each = 0;

 private:
  Answer answer_;
};

class Devices : public ::testing::Test {
 protected:
  void SetUp() override { AddNode("n", "zone: z1"); }

  void AddNode(const std::string& name, const std::string& label = "") {
    std::string labels;
    if (const auto colon = label.find(": "); colon != label.npos)
      labels = fmt::format(R"("{}": "{}")", label.substr(0, colon), label.substr(colon + 2));
    nodes_.Add(
        Read<api::Node>(fmt::format(R"({{"metadata": {{"name": "{}", "labels": {{{}}}}}}})", name, labels)));
  }
  // `devices`: JSON of the list; `more`: further members of the specification.
  void AddSlice(const std::string& name, const std::string& devices,
                const std::string& more = R"("nodeName": "n")",
                const std::string& pool = R"("name": "p", "resourceSliceCount": 1)") {
    Put(Read<api::ResourceSlice>(fmt::format(
        R"({{"metadata": {{"name": "{}"}}, "spec": {{"driver": "d", "pool": {{{}}}, {}, "devices": [{}]}}}})",
        name, pool, more, devices)));
  }
  // Three partitions of a device with 40Gi: one of all of it, two of a half.
  void AddPartitions() {
    const auto part = [](const std::string& name, const std::string& memory) {
      return fmt::format(R"({{"name": "{}", "consumesCounters": [{{"counterSet": "set",
                             "counters": {{"memory": {{"value": "{}"}}}}}}]}})",
                         name, memory);
    };
    const std::string pool = R"("name": "p", "resourceSliceCount": 2)";
    AddSlice("counters", "", R"("nodeName": "n", "sharedCounters": [{"name": "set",
             "counters": {"memory": {"value": "40Gi"}}}])",
             pool);
    AddSlice("s", part("whole", "40Gi") + "," + part("half0", "20Gi") + "," + part("half1", "20Gi"),
             R"("nodeName": "n")", pool);
  }
  template <class T>
  void Put(std::shared_ptr<const T> object) {
    auto& table = objects_.Of<T>();
    table.Apply({table.Find(object->metadata.ns, object->metadata.name), object});
  }
  template <class T>
  void Drop(const std::string& ns, const std::string& name) {
    auto& table = objects_.Of<T>();
    table.Apply({table.Find(ns, name), nullptr});
  }
  static std::shared_ptr<const ResourceClaim> Claim(const std::string& devices,
                                                    const std::string& status = "{}",
                                                    const std::string& name = "c") {
    return Read<ResourceClaim>(
        fmt::format(R"({{"metadata": {{"namespace": "ns", "name": "{0}", "uid": "uid-{0}"}},
                        "spec": {{"devices": {1}}}, "status": {2}}})",
                    name, devices, status));
  }
  static std::string Exactly(const std::string& name, const std::string& more = "") {
    return fmt::format(R"({{"name": "{}", "exactly": {{"deviceClassName": "gpu"{}{}}}}})", name,
                       more.empty() ? "" : ", ", more);
  }

  // 12 devices in all combinations, and none for the last request.
  static std::string Unsatisfiable() {
    return Exactly("r", R"("count": 12)") + "," +
           Exactly("none", R"("selectors": [{"cel": {"expression": "x"}}])");
  }

  AllocationOutcome Allocate(std::vector<std::shared_ptr<const ResourceClaim>> claims,
                             const std::string& node = "n") {
    std::vector<const ResourceClaim*> pointers;
    for (const auto& claim : claims) pointers.push_back(claim.get());
    const auto& devices = inventory_.Of(nodes_, nodes_.Find(node));
    if (!devices) return {AllocationOutcome::Kind::kError, devices.error().message};
    return MakeAllocator().Allocate(*devices, pointers);
  }
  std::vector<std::string> Diagnose(const std::string& devices, const std::string& node = "n") {
    const auto claim = Claim(devices);
    const ResourceClaim* only = claim.get();
    const auto& of_node = inventory_.Of(nodes_, nodes_.Find(node));
    return MakeAllocator().Diagnose(*of_node, {&only, 1}).lines;
  }
  Allocator MakeAllocator() {
    return {features_,
            allocated_,
            [this](std::string_view name) { return name == class_.metadata.name ? &class_ : nullptr; },
            selectors_,
            SearchLimits{steps_, group_after_},
            order_};
  }
  // "request=pool/device ..." by claim, or the failure.
  static std::string Text(const AllocationOutcome& outcome,
                          const std::vector<std::shared_ptr<const ResourceClaim>>& claims) {
    using Kind = AllocationOutcome::Kind;
    switch (outcome.kind) {
      case Kind::kImpossible:
        return "impossible";
      case Kind::kInvalidPools:
        return "invalid pools";
      case Kind::kTimeout:
        return "timeout";
      case Kind::kError:
        return "error: " + outcome.error;
      case Kind::kAllocated:
        break;
    }
    std::string text;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (i > 0) text += "| ";
      for (const ChosenDevice& chosen : outcome.claims[i]) {
        const ResourceClaim::Request& request = claims[i]->requests[chosen.request];
        text += request.name;
        if (chosen.alternative) text += "/" + request.first_available[*chosen.alternative].name;
        text += "=" + chosen.pool->pool + "/" + chosen.device->device->name + " ";
      }
    }
    return text;
  }
  std::string Try(const std::string& devices) {
    const auto claim = Claim(devices);
    return Text(Allocate({claim}), {claim});
  }

  Features features_;
  cluster::SymbolTable symbols_;
  cluster::NodeTable nodes_{symbols_};
  cluster::ClusterObjects objects_;
  AllocatedDevices allocated_{true};
  DeviceInventory inventory_{features_, objects_, symbols_, allocated_};
  AttributeSelectors selectors_;
  api::DeviceClass class_ = [] {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    return gpu;
  }();
  std::uint64_t steps_ = 100'000;
  std::uint64_t group_after_ = 10'000;
  DeviceOrder order_ = DeviceOrder::kListed;
};

constexpr const char* kThree = R"({"name": "g0"}, {"name": "g1"}, {"name": "g2"})";

std::string Requests(const std::string& list, const std::string& more = "") {
  return fmt::format(R"({{"requests": [{}]{}{}}})", list, more.empty() ? "" : ", ", more);
}

// An allocation of these devices of pool p: name, and further members.
std::string Allocated(const std::string& device, const std::string& more = "") {
  return fmt::format(
      R"({{"allocation": {{"devices": {{"results": [{{"request": "r", "driver": "d", "pool": "p",
                          "device": "{}"{}{}}}]}}}}}})",
      device, more.empty() ? "" : ", ", more);
}

// Few kinds of devices, in use or not, and claims that some of them satisfy.
class RandomDevices {
 public:
  explicit RandomDevices(std::uint64_t seed) : random_(seed) {}

  std::string Slice() {
    std::string devices;
    for (std::uint64_t i = 0, count = 3 + Below(6); i < count; ++i) devices += (i > 0 ? "," : "") + Device(i);
    return fmt::format(R"({{"metadata": {{"name": "s"}}, "spec": {{"driver": "d", "nodeName": "n",
                          "pool": {{"name": "p", "resourceSliceCount": 1}}, "devices": [{}]}}}})",
                       devices);
  }
  std::string Allocation() {
    return Allocated(fmt::format("g{}", Below(8)),
                     OneOf({"", "", R"("shareID": "one", "consumedCapacity": {"memory": "4"})"}));
  }
  std::string Claim() {
    std::string requests;
    for (std::uint64_t i = 0, count = 1 + Below(3); i < count; ++i)
      requests += (i > 0 ? "," : "") + Request(fmt::format("r{}", i));
    return Requests(requests,
                    OneOf({"", "", R"("constraints": [{"distinctAttribute": "d/number"}])",
                           R"("constraints": [{"matchAttribute": "d/number"}])",
                           R"("constraints": [{"matchAttribute": "d/number", "requests": ["r0"]}])"}));
  }

 private:
  std::string Device(std::uint64_t i) {
    return fmt::format(
        R"({{"name": "g{}", "attributes": {{"x": {{"bool": {}}}, "y": {{"bool": {}}}{}}}{}{}}})", i, Coin(),
        Coin(), OneOf({"", R"(, "d/number": {"int": 1})", R"(, "d/number": {"int": 2})"}),
        OneOf({"", R"(, "allowMultipleAllocations": true, "capacity": {"memory": {"value": "8"}})"}),
        OneOf({"", "", "", R"(, "taints": [{"key": "broken", "effect": "NoSchedule"}])"}));
  }
  std::string Request(const std::string& name) {
    if (Below(5) > 0) return Exact(name, "exactly");
    return fmt::format(R"({{"name": "{}", "firstAvailable": [{}, {}]}})", name, Alternative("a"),
                       Alternative("b"));
  }
  std::string Exact(const std::string& name, const char* form) {
    return fmt::format(R"({{"name": "{}", "{}": {{{}}}}})", name, form, Members());
  }
  std::string Alternative(const std::string& name) {
    return fmt::format(R"({{"name": "{}", {}}})", name, Members());
  }
  std::string Members() {
    std::string members = R"("deviceClassName": "gpu")";
    members += Below(8) == 0 ? R"(, "allocationMode": "All")"
                             : OneOf({"", "", R"(, "count": 2)", R"(, "count": 3)"});
    members += Below(40) == 0
                   ? R"(, "selectors": [{"cel": {"expression": "x"}}, {"cel": {"expression": "error"}}])"
                   : OneOf({"", "", R"(, "selectors": [{"cel": {"expression": "x"}}])",
                            R"(, "selectors": [{"cel": {"expression": "y"}}])"});
    if (Below(2) == 0) members += R"(, "capacity": {"requests": {"memory": "3"}})";
    return members + OneOf({"", "", "", R"(, "tolerations": [{"operator": "Exists"}])"});
  }
  std::uint64_t Below(std::uint64_t bound) { return random_.Below(bound); }
  const char* Coin() { return Below(2) == 0 ? "true" : "false"; }
  std::string OneOf(std::vector<std::string> texts) { return texts[Below(texts.size())]; }

  Random random_;
};

// --- choice of devices ---

TEST_F(Devices, FreeDevicesAreChosenInOrder) {
  AddSlice("s", kThree);
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 2)"))), "r=p/g0 r=p/g1 ");
  objects_.Of<ResourceClaim>().Listen([this](const auto& change) { allocated_.Apply(change); });
  Put(Claim("{}", Allocated("g0"), "other"));
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 2)"))), "r=p/g1 r=p/g2 ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 3)"))), "impossible");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("adminAccess": true)"))), "r=p/g0 ") << "of a device in use";
  Drop<ResourceClaim>("ns", "other");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 3)"))), "r=p/g0 r=p/g1 r=p/g2 ");
}

TEST_F(Devices, AnEarlierChoiceIsUndoneIfALaterRequestNeedsTheDevice) {
  AddSlice("s", R"({"name": "a", "attributes": {"big": {"bool": true}}}, {"name": "b"})");
  EXPECT_EQ(
      Try(Requests(Exactly("r1") + "," + Exactly("r2", R"("selectors": [{"cel": {"expression": "big"}}])"))),
      "r1=p/b r2=p/a ");
}

TEST_F(Devices, AlternativesAreTriedInOrder) {
  AddSlice("s", R"({"name": "x", "attributes": {"small": {"bool": true}}},
                   {"name": "y", "attributes": {"small": {"bool": true}}})");
  const std::string alternatives = R"({"name": "r", "firstAvailable": [
    {"name": "big", "deviceClassName": "gpu", "selectors": [{"cel": {"expression": "big"}}]},
    {"name": "small", "deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "small"}}]}]})";
  EXPECT_EQ(Try(Requests(alternatives)), "r/small=p/x r/small=p/y ");
  EXPECT_EQ(Try(Requests(alternatives + "," + Exactly("other"))), "impossible");
  const auto claim = Claim(Requests(alternatives));
  EXPECT_EQ(ScoreOf(*claim, Allocate({claim}).claims.at(0)), 7);
}

TEST_F(Devices, AllDevicesAreChosenOrNone) {
  AddSlice("s", kThree);
  const std::string all = Requests(Exactly("r", R"("allocationMode": "All")"));
  EXPECT_EQ(Try(all), "r=p/g0 r=p/g1 r=p/g2 ");
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("g1"))->allocation));
  EXPECT_EQ(Try(all), "impossible");
  EXPECT_EQ(
      Try(Requests(Exactly("r", R"("allocationMode": "All", "selectors": [{"cel": {"expression": "x"}}])"))),
      "impossible")
      << "no device matches";
}

TEST_F(Devices, ARequestForAllOfTooManyDevicesIsNotSatisfied) {
  std::string many;
  for (int i = 0; i < 40; ++i) many += fmt::format(R"({}{{"name": "g{:02}"}})", i > 0 ? "," : "", i);
  AddSlice("s", many);
  EXPECT_EQ(Try(Requests(Exactly("r", R"("allocationMode": "All")"))),
            "error: claim ns/c, request r: adding 40 devices exceeds the claim limit of 32, with 0 already "
            "accounted for");
  EXPECT_EQ(Try(Requests(R"({"name": "r", "firstAvailable": [
                {"name": "all", "deviceClassName": "gpu", "allocationMode": "All"},
                {"name": "one", "deviceClassName": "gpu"}]})")),
            "r/one=p/g00 ");
}

TEST_F(Devices, AllClaimsAreCheckedEvenIfTheirNumberExceedsTheLimit) {
  AddSlice("s", R"({"name": "a", "allowMultipleAllocations": true})");
  std::vector claims(5000, Claim(Requests(Exactly("r"))));
  EXPECT_EQ(Text(Allocate(claims), claims),
            "error: the claims of the pod have more than 4000 requests and devices");
  claims.push_back(Claim(Requests(R"({"name": "r", "exactly": {"deviceClassName": "none"}})")));
  EXPECT_EQ(Text(Allocate(claims), claims),
            "error: claim ns/c, request r: could not retrieve device class none: deviceclass.resource.k8s.io "
            "\"none\" not found");
  Drop<api::ResourceSlice>("", "s");
  claims.pop_back();
  EXPECT_EQ(Text(Allocate(claims), claims), "impossible") << "the first claim ends the search";
}

TEST_F(Devices, ClaimsOfAPodGetDifferentDevices) {
  AddSlice("s", kThree);
  const auto first = Claim(Requests(Exactly("r")), "{}", "one");
  const auto second = Claim(Requests(Exactly("r", R"("count": 2)")), "{}", "two");
  EXPECT_EQ(Text(Allocate({first, second}), {first, second}), "r=p/g0 | r=p/g1 r=p/g2 ");
}

TEST_F(Devices, ConstraintsRestrictTheChoice) {
  AddSlice(
      "s",
      R"({"name": "a", "attributes": {"numa": {"int": 0}}}, {"name": "b", "attributes": {"numa": {"int": 1}}},
                   {"name": "c", "attributes": {"d/numa": {"int": 1}}})");
  const std::string two = Exactly("r", R"("count": 2)");
  EXPECT_EQ(Try(Requests(two, R"("constraints": [{"matchAttribute": "d/numa"}])")), "r=p/b r=p/c ");
  EXPECT_EQ(Try(Requests(two, R"("constraints": [{"distinctAttribute": "d/numa"}])")), "r=p/a r=p/b ");
  EXPECT_EQ(Try(Requests(two, R"("constraints": [{"matchAttribute": "d/model"}])")), "impossible");
  EXPECT_EQ(Try(Requests(two, R"("constraints": [{"requests": ["other"], "matchAttribute": "d/model"}])")),
            "r=p/a r=p/b ")
      << "of another request";
  EXPECT_EQ(Try(Requests(Exactly("r", R"("allocationMode": "All")"),
                         R"("constraints": [{"matchAttribute": "d/numa"}])")),
            "error: claim ns/c, request r: cannot add device d/p/b because a claim constraint would not be "
            "satisfied");
}

TEST_F(Devices, TaintsMustBeTolerated) {
  AddSlice("s", R"({"name": "a", "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
                   {"name": "b", "taints": [{"key": "k", "effect": "None"}]})");
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/b ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 2, "tolerations": [{"key": "k", "value": "v"}])"))),
            "r=p/a r=p/b ");
  Put(Read<api::DeviceTaintRule>(R"({"metadata": {"name": "rule"}, "spec": {"deviceSelector": {"device": "b"},
    "taint": {"key": "other", "effect": "NoExecute"}}})"));
  EXPECT_EQ(Try(Requests(Exactly("r"))), "impossible");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("tolerations": [{"operator": "Exists", "effect": "NoExecute"}])"))),
            "r=p/b ");
  Drop<api::DeviceTaintRule>("", "rule");
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/b ");
}

// --- parts of devices ---

TEST_F(Devices, SharedCountersLimitPartitions) {
  AddPartitions();
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/whole ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 2)"))), "r=p/half0 r=p/half1 ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 3)"))), "impossible");
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("half0"))->allocation));
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/half1 ");
}

TEST_F(Devices, CountersOfAnUndoneChoiceAreFree) {
  const auto device = [](const std::string& name, const std::string& counters,
                         const std::string& attributes) {
    return fmt::format(R"({{"name": "{}", "attributes": {{{}}}, "consumesCounters": [{{"counterSet": "set",
                           "counters": {{{}}}}}]}})",
                       name, attributes, counters);
  };
  const std::string pool = R"("name": "p", "resourceSliceCount": 2)";
  AddSlice("counters", "", R"("nodeName": "n", "sharedCounters": [{"name": "set",
           "counters": {"a": {"value": "12"}, "b": {"value": "6"}, "c": {"value": "1"}}}])",
           pool);
  AddSlice("s",
           device("w", R"("a": {"value": "10"}, "b": {"value": "1"})", "") + "," +
               device("x", R"("a": {"value": "6"})", "") + "," +
               device("y", R"("a": {"value": "6"}, "b": {"value": "6"})", R"("x": {"bool": true})") + "," +
               device("z", R"("c": {"value": "2"})", R"("z": {"bool": true})"),
           R"("nodeName": "n")", pool);
  const std::string y = Exactly("y", R"("selectors": [{"cel": {"expression": "x"}}])");
  EXPECT_EQ(Try(Requests(Exactly("r") + "," + y)), "r=p/x y=p/y ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("selectors": [{"cel": {"expression": "z"}}])"))), "impossible");
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("z"))->allocation));
  EXPECT_EQ(Try(Requests(y)), "impossible") << "another counter is exceeded";
  allocated_.RemovePending("u");
  EXPECT_EQ(Try(Requests(y)), "y=p/y ");
}

TEST_F(Devices, CapacityIsConsumedByShares) {
  AddSlice("s", R"({"name": "a", "allowMultipleAllocations": true, "capacity": {"memory": {"value": "40Gi",
    "requestPolicy": {"default": "2Gi", "validRange": {"min": "2Gi", "step": "2Gi"}}}}})");
  const auto wants = [](const std::string& memory) {
    return Requests(Exactly("r", fmt::format(R"("capacity": {{"requests": {{"memory": "{}"}}}})", memory)));
  };
  EXPECT_EQ(Try(wants("3Gi")), "r=p/a ");
  EXPECT_EQ(Try(wants("41Gi")), "impossible");
  const auto share = [&](const std::string& uid, const std::string& memory) {
    allocated_.AddPending(uid,
                          std::make_shared<const ResourceClaim::Allocation>(
                              *Claim("{}", Allocated("a", fmt::format(R"("shareID": "{}", "consumedCapacity":
                                                                     {{"memory": "{}"}})",
                                                                      uid, memory)))
                                   ->allocation));
  };
  share("u1", "36Gi");
  const auto claim = Claim(wants("3Gi"));
  const AllocationOutcome outcome = Allocate({claim});
  ASSERT_EQ(Text(outcome, {claim}), "r=p/a ");
  EXPECT_EQ(outcome.claims[0][0].consumed->at("memory").Canonical(), "4Gi") << "rounded up to a step";
  const auto described = MakeAllocator().Describe(*claim, outcome.claims[0], "n", "uid");
  ASSERT_TRUE(described);
  EXPECT_EQ(described->devices[0].share_id->size(), 36);
  share("u2", "4Gi");
  EXPECT_EQ(Try(wants("1Gi")), "impossible");
  allocated_.RemovePending("u1");
  EXPECT_EQ(Try(wants("1Gi")), "r=p/a ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("capacity": {"requests": {"cores": "1"}})"))), "impossible");
}

TEST_F(Devices, AShareThatIsUndoneLeavesItsCapacityToOthers) {
  const auto device = [](const std::string& name, const std::string& attributes) {
    return fmt::format(R"({{"name": "{}", "attributes": {{{}}}, "allowMultipleAllocations": true, "capacity":
                           {{"memory": {{"value": "8Gi"}}, "cores": {{"value": "1500m"}}}}}})",
                       name, attributes);
  };
  AddSlice("s", device("a", R"("x": {"bool": true})") + "," + device("b", ""));
  const auto wants = [](const std::string& name, const std::string& memory, const std::string& more = "") {
    return Exactly(name, fmt::format(R"("capacity": {{"requests": {{"memory": "{}", "cores": "500m"}}}}{})",
                                     memory, more));
  };
  const std::string of_a = R"(, "selectors": [{"cel": {"expression": "x"}}])";
  EXPECT_EQ(Try(Requests(wants("small", "1Gi") + "," + wants("large", "3Gi") + "," +
                         wants("last", "5Gi", of_a) + "," + wants("least", "2Gi", of_a))),
            "small=p/a large=p/b last=p/a least=p/a ");
}

// --- the order of devices ---

TEST_F(Devices, TheLeastWasteIsThatOfTheDeviceWithTheSmallestFreeShare) {
  const auto device = [](const std::string& name, const std::string& memory) {
    return fmt::format(R"({{"name": "{}", "allowMultipleAllocations": true, "capacity": {{"memory":
                           {{"value": "{}"}}, "cores": {{"value": "10"}}}}}})",
                       name, memory);
  };
  AddSlice("s", device("free", "40") + "," + device("half", "40") + "," + device("large", "80") + "," +
                    device("last", "40"));
  const auto use = [&](const std::string& name, const std::string& memory, const std::string& cores) {
    allocated_.AddPending(
        name,
        std::make_shared<const ResourceClaim::Allocation>(
            *Claim("{}", Allocated(name, fmt::format(R"("shareID": "{}", "consumedCapacity": {{"memory": "{}",
                                                              "cores": "{}"}})",
                                                     name, memory, cores)))
                 ->allocation));
  };
  // Free: half 22 of 40 and 5 of 10; large 40 of 80 and 5 of 10.
  use("half", "18", "5");
  use("large", "40", "5");
  const auto wants = [](int memory, const std::string& more = "") {
    return Requests(Exactly(
        "r", fmt::format(R"({}"capacity": {{"requests": {{"memory": "{}", "cores": "1"}}}})", more, memory)));
  };
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {wants(10), "r=p/free ", "r=p/large "},
      {wants(41), "impossible", "impossible"},  // large has 40
      {wants(39), "r=p/free ", "r=p/large "},
      {wants(10, R"("count": 2, )"), "r=p/free r=p/half ", "r=p/large r=p/half "},
      {wants(30, R"("count": 2, )"), "r=p/free r=p/large ", "r=p/large r=p/free "},
      {wants(30, R"("count": 4, )"), "impossible", "impossible"},
  };
  for (const auto& [claim, listed, least_waste] : cases) {
    order_ = DeviceOrder::kListed;
    EXPECT_EQ(Try(claim), listed) << claim;
    order_ = DeviceOrder::kLeastWaste;
    EXPECT_EQ(Try(claim), least_waste) << claim;
  }
}

TEST_F(Devices, TheLeastWasteIsTheSmallestPartitionThatSuffices) {
  AddPartitions();
  order_ = DeviceOrder::kLeastWaste;
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/half0 ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 2)"))), "r=p/half0 r=p/half1 ");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 3)"))), "impossible");
}

TEST_F(Devices, TheOrderOfDevicesDoesNotDecideWhetherThereIsASolution) {
  objects_.Of<ResourceClaim>().Listen([this](const auto& change) { allocated_.Apply(change); });
  std::size_t different = 0;
  for (std::uint64_t seed = 0; seed < testing::Repetitions(4000); ++seed) {
    RandomDevices random(seed);
    Put(Read<api::ResourceSlice>(random.Slice()));
    Put(Claim("{}", random.Allocation(), "held"));
    const std::vector claims{Claim(random.Claim())};
    order_ = DeviceOrder::kListed;
    const AllocationOutcome listed = Allocate(claims);
    if (listed.kind == AllocationOutcome::Kind::kError) continue;
    order_ = DeviceOrder::kLeastWaste;
    const AllocationOutcome ordered = Allocate(claims);
    ASSERT_EQ(ordered.kind, listed.kind) << "seed " << seed << ": " << Text(ordered, claims);
    different += Text(ordered, claims) != Text(listed, claims) ? 1 : 0;
  }
  EXPECT_GE(different, testing::Repetitions(20));
}

// --- diagnosis ---

TEST_F(Devices, ADiagnosisCountsTheDevicesByWhatExcludesThem) {
  class_.selectors = {{"of_class"}};
  const auto gpu = [](const std::string& name, const std::string& attributes, const std::string& more = "") {
    return fmt::format(R"({{"name": "{}", "attributes": {{{}}}{}{}}})", name, attributes,
                       more.empty() ? "" : ", ", more);
  };
  const std::string of_class = R"("of_class": {"bool": true})";
  const std::string good = of_class + R"(, "x": {"bool": true})";
  AddSlice("s", gpu("nic", "") + "," + gpu("used", good) + "," +
                    gpu("tainted", good, R"("taints": [{"key": "k", "value": "v", "effect": "NoExecute"}])") +
                    "," + gpu("without", of_class) + "," +
                    gpu("wrong", of_class + R"(, "x": {"bool": false})") + "," +
                    gpu("small", good, R"("capacity": {"memory": {"value": "8Gi"}})") + "," +
                    gpu("big", good, R"("capacity": {"memory": {"value": "40Gi"}})"));
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("used"))->allocation));
  EXPECT_THAT(
      Diagnose(Requests(Exactly("r", R"("count": 2, "selectors": [{"cel": {"expression": "x"}}],
                                        "capacity": {"requests": {"memory": "20Gi"}})"))),
      ElementsAre(
          "claim ns/c, request r: 2 of class gpu requested, 1 of 6 available: 1 in use, 1 with the "
          "untolerated taint k=v:NoExecute, 2 rejected by selector `x` (1 x absent, 1 x false), 1 with "
          "too little memory (0 of 8Gi in use, 20Gi needed)"));
  EXPECT_THAT(Diagnose(Requests(Exactly("r", R"("selectors": [{"cel": {"expression": "error"}}])"))),
              ElementsAre("claim ns/c, request r: 1 of class gpu requested, 0 of 6 available: 6 rejected by "
                          "selector `error` (6 error absent); selectors cannot be evaluated: no such "
                          "key: x"))
      << "errors of devices that the search did not reach";
  class_.selectors = {{"none"}};
  EXPECT_THAT(
      Diagnose(Requests(Exactly("r"))),
      ElementsAre("claim ns/c, request r: 1 of class gpu requested, none of the node's 7 devices is of "
                  "this class"));
  AddNode("empty");
  EXPECT_THAT(
      Diagnose(Requests(Exactly("r", R"("allocationMode": "All")")), "empty"),
      ElementsAre("claim ns/c, request r: all devices of class gpu requested, the node has no devices"));
}

TEST_F(Devices, ADiagnosisNamesEveryAlternative) {
  AddSlice("s", R"({"name": "a"}, {"name": "b"})");
  EXPECT_THAT(
      Diagnose(Requests(R"({"name": "r", "firstAvailable": [
                {"name": "many", "deviceClassName": "gpu", "count": 4},
                {"name": "x", "deviceClassName": "gpu", "selectors": [{"cel": {"expression": "x"}}]}]})")),
      ElementsAre("claim ns/c, request r/many: 4 of class gpu requested, 2 of 2 available",
                  "claim ns/c, request r/x: 1 of class gpu requested, 0 of 2 available: 2 rejected by "
                  "selector `x` (2 x absent)"));
  EXPECT_THAT(Diagnose(Requests(R"({"name": "r", "firstAvailable": [
                {"name": "many", "deviceClassName": "gpu", "count": 4},
                {"name": "two", "deviceClassName": "gpu", "count": 2}]},)" +
                                Exactly("none", R"("selectors": [{"cel": {"expression": "x"}}])"))),
              ElementsAre(::testing::StartsWith("claim ns/c, request none: ")))
      << "an alternative has enough devices";
}

TEST_F(Devices, ADiagnosisNamesWhatPreventsACombination) {
  AddSlice("s", R"({"name": "a", "attributes": {"d/numa": {"int": 0}}},
                   {"name": "b", "attributes": {"d/numa": {"int": 1}}}, {"name": "c"})");
  EXPECT_THAT(
      Diagnose(Requests(Exactly("r", R"("count": 2)"), R"("constraints": [{"matchAttribute": "d/numa"}])")),
      ElementsAre(
          "claim ns/c, request r: constraint matchAttribute d/numa cannot be met; available are 1 with "
          "0, 1 with 1, 1 without it"));
  EXPECT_THAT(
      Diagnose(Requests(Exactly("one") + "," + Exactly("three", R"("count": 3)"))),
      ElementsAre("claim ns/c, request three: the requests before it need the same devices: 3 requested, "
                  "3 available"));
}

TEST_F(Devices, ADiagnosisNamesExhaustedCounters) {
  AddPartitions();
  EXPECT_THAT(Diagnose(Requests(Exactly("r", R"("count": 3)"))),
              ElementsAre("claim ns/c, request r: the available devices together exceed the shared counters: "
                          "set/memory (0 of 40Gi in use)"));
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("half0"))->allocation));
  EXPECT_THAT(Diagnose(Requests(Exactly("r", R"("count": 2)"))),
              ElementsAre("claim ns/c, request r: 2 of class gpu requested, 1 of 3 available: 1 in use, 1 "
                          "exceeding counter set/memory (20Gi of 40Gi in use, 40Gi needed)"));
}

TEST_F(Devices, ADiagnosisCountsDevicesOfUnusablePools) {
  AddSlice("s", R"({"name": "a"})", R"("nodeName": "n")", R"("name": "p", "resourceSliceCount": 2)");
  EXPECT_THAT(
      Diagnose(Requests(Exactly("r"))),
      ElementsAre("claim ns/c, request r: 1 of class gpu requested, the node has no devices; 1 pool of "
                  "the node is being updated"));
  AddSlice("t", R"({"name": "a"})", R"("nodeName": "n")", R"("name": "p", "resourceSliceCount": 2)");
  EXPECT_THAT(
      Diagnose(Requests(Exactly("r"))),
      ElementsAre("claim ns/c, request r: 1 of class gpu requested, the node has no devices; 1 pool of "
                  "the node is invalid"));
}

TEST_F(Devices, ADiagnosisEndsWithItsSteps) {
  std::string devices;
  for (int i = 0; i < 24; ++i) {
    devices += fmt::format(R"({}{{"name": "g{}", "attributes": {{"d/n": {{"int": {}}}}}}})", i > 0 ? "," : "",
                           i, i % 3);
  }
  AddSlice("s", devices);
  steps_ = 2000;
  EXPECT_THAT(
      Diagnose(Requests(Exactly("r", R"("count": 12)"), R"("constraints": [{"matchAttribute": "d/n"}])")),
      ElementsAre("claim ns/c, request r: the search for the cause takes too long"));
}

// --- pools ---

TEST_F(Devices, PoolsAreOrderedByNameAndThoseWithBindingConditionsComeLast) {
  AddSlice("s1", R"({"name": "a", "bindingConditions": ["Ready"]})", R"("nodeName": "n")",
           R"("name": "p1", "resourceSliceCount": 1)");
  AddSlice("s3", R"({"name": "a"})", R"("nodeName": "n")", R"("name": "p3", "resourceSliceCount": 1)");
  AddSlice("s2", R"({"name": "a"})", R"("nodeName": "n")", R"("name": "p2", "resourceSliceCount": 1)");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 3)"))), "r=p2/a r=p3/a r=p1/a ");
}

TEST_F(Devices, NothingIsAllocatedFromIncompleteObsoleteAndInvalidPools) {
  AddSlice("s", R"({"name": "a"})", R"("nodeName": "n")", R"("name": "p", "resourceSliceCount": 2)");
  EXPECT_EQ(Try(Requests(Exactly("r"))), "impossible");
  EXPECT_EQ(
      Try(Requests(Exactly("r", R"("allocationMode": "All")"))),
      "error: claim ns/c, request r: asks for all devices, but resource pool d/p is currently being updated");
  AddSlice("t", R"({"name": "b"})", R"("nodeName": "n")", R"("name": "p", "resourceSliceCount": 2)");
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/a ") << "complete";
  AddSlice("t", R"({"name": "a"})", R"("nodeName": "n")", R"("name": "p", "resourceSliceCount": 2)");
  EXPECT_EQ(Try(Requests(Exactly("r"))), "invalid pools") << "two devices of one name";
  AddSlice("t", R"({"name": "b"})", R"("nodeName": "n")",
           R"("name": "p", "resourceSliceCount": 1, "generation": 2)");
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/b ") << "a newer generation";
  AddSlice("t", R"({"name": "b"})", R"("nodeName": "elsewhere")",
           R"("name": "p", "resourceSliceCount": 1, "generation": 2)");
  EXPECT_EQ(Try(Requests(Exactly("r", R"("allocationMode": "All")"))), "impossible")
      << "newer, but not for this node";
}

TEST_F(Devices, NodesSeeTheDevicesThatAreForThem) {
  AddNode("m", "zone: z2");
  AddSlice(
      "zone", R"({"name": "z"})",
      R"("nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}]})",
      R"("name": "network", "resourceSliceCount": 1)");
  AddSlice("each", R"({"name": "x", "nodeName": "m"}, {"name": "y", "allNodes": true})",
           R"("perDeviceNodeSelection": true)", R"("name": "each", "resourceSliceCount": 1)");
  const auto claim = Claim(Requests(Exactly("r")));
  EXPECT_EQ(Text(Allocate({claim}, "n"), {claim}), "r=each/y ");
  EXPECT_EQ(Text(Allocate({claim}, "m"), {claim}), "r=each/x ");
  const auto two = Claim(Requests(Exactly("r", R"("count": 2)")));
  EXPECT_EQ(Text(Allocate({two}, "n"), {two}), "r=each/y r=network/z ");
}

// Nodes m and n change their rows. The row that was freed last is used first.
class NodesThatChangePlaces : public Devices {
 protected:
  void SetUp() override {
    Devices::SetUp();
    AddNode("m");
    AddSlice("s", R"({"name": "old"})", R"("nodeName": "m")");
  }
  void AddNewSlice() {
    AddSlice("s2", R"({"name": "new"})", R"("nodeName": "m")", R"("name": "a", "resourceSliceCount": 1)");
  }
  cluster::Row RowOf(const char* name) { return nodes_.Find(name); }
  void Remove(const char* name) { nodes_.Remove(RowOf(name)); }
  std::string OnM() { return Text(Allocate({claim_}, "m"), {claim_}); }

 private:
  const std::shared_ptr<const ResourceClaim> claim_ = Claim(Requests(Exactly("r")));
};

TEST_F(NodesThatChangePlaces, ANodeThatReturnsToAnEarlierRowHasItsPresentDevices) {
  const auto replace = [&](const char* first, const char* last) {
    Remove(first);
    Remove(last);
    AddNode("m");
    AddNode("n");
  };
  const cluster::Row earlier = RowOf("m");
  EXPECT_EQ(OnM(), "r=p/old ");
  replace("m", "n");
  ASSERT_NE(RowOf("m"), earlier);
  EXPECT_EQ(OnM(), "r=p/old ");
  AddNewSlice();
  replace("m", "n");
  ASSERT_EQ(RowOf("m"), earlier);
  EXPECT_EQ(OnM(), "r=a/new ");
}

TEST_F(NodesThatChangePlaces, ChangesReachANodeInItsNewRow) {
  EXPECT_EQ(OnM(), "r=p/old ");
  Remove("m");
  AddNode("other");
  AddNode("m");
  EXPECT_EQ(OnM(), "r=p/old ");
  AddNewSlice();
  EXPECT_EQ(OnM(), "r=a/new ");
}

TEST_F(NodesThatChangePlaces, ChangesReachANodeThatReturnsToARowThatNoOtherNodeWasReadIn) {
  const cluster::Row first = RowOf("m");
  EXPECT_EQ(OnM(), "r=p/old ");
  Remove("m");
  AddNode("other");
  AddNode("m");
  ASSERT_NE(RowOf("m"), first);
  EXPECT_EQ(OnM(), "r=p/old ");
  Remove("m");
  Remove("other");
  AddNode("m");
  ASSERT_EQ(RowOf("m"), first);
  EXPECT_EQ(OnM(), "r=p/old ");
  AddNewSlice();
  EXPECT_EQ(OnM(), "r=a/new ");
}

TEST_F(Devices, NodesWithEqualDevicesHaveOnePicture) {
  AddNode("m");
  const auto picture = [&](const std::string& node) {
    return inventory_.Of(nodes_, nodes_.Find(node))->picture;
  };
  AddSlice("s", kThree);
  AddSlice("t", R"({"name": "other0"}, {"name": "other1"}, {"name": "other2"})", R"("nodeName": "m")",
           R"("name": "q", "resourceSliceCount": 1)");
  EXPECT_EQ(picture("n"), picture("m"));
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("g1"))->allocation));
  EXPECT_NE(picture("n"), picture("m"));
  allocated_.RemovePending("u");
  EXPECT_EQ(picture("n"), picture("m"));
}

TEST_F(Devices, AChangedSliceReachesAllNodesOfItsPool) {
  AddNode("m");
  const std::string two = R"("name": "p", "resourceSliceCount": 2)";
  const std::string requests = Requests(Exactly("r"));
  AddSlice("s", R"({"name": "a"})", R"("nodeName": "n")", two);
  EXPECT_EQ(Try(requests), "impossible");
  AddSlice("t", R"({"name": "b"})", R"("nodeName": "m")", two);
  EXPECT_EQ(Try(requests), "r=p/a ") << "complete";
  AddSlice("t", R"({"name": "a"})", R"("nodeName": "m")", R"("name": "q", "resourceSliceCount": 1)");
  EXPECT_EQ(Try(requests), "impossible") << "it belongs to another pool now";
  AddSlice("t", R"({"name": "b"})", R"("allNodes": true)", two);
  EXPECT_EQ(Try(requests), "r=p/a ");
  Drop<api::ResourceSlice>("", "t");
  EXPECT_EQ(Try(requests), "impossible");
}

TEST_F(Devices, ADeviceThatAnotherSliceHasTooIsFollowedWhenOneOfThemIsGone) {
  const auto picture = [&] { return inventory_.Of(nodes_, nodes_.Find("n"))->picture; };
  AddSlice("s", R"({"name": "g1"})");
  const std::uint64_t free = picture();
  AddSlice("t", R"({"name": "g1"})", R"("nodeName": "n")",
           R"("name": "p", "resourceSliceCount": 1, "generation": 2)");
  Drop<api::ResourceSlice>("", "t");
  EXPECT_EQ(picture(), free);
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("g1"))->allocation));
  EXPECT_NE(picture(), free);
  allocated_.RemovePending("u");
  EXPECT_EQ(picture(), free);
}

// The order of the pool's slices is that of their names, whichever of them are for the node.
TEST_F(Devices, APoolIsInvalidIfItsSlicesOfOtherNodesAre) {
  AddNode("m");
  const std::string four = R"("name": "p", "resourceSliceCount": 4)";
  const std::string counters =
      R"("sharedCounters": [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}])";
  AddSlice("a", "", R"("nodeName": "m", )" + counters, four);
  AddSlice("b", R"({"name": "b"})", R"("nodeName": "n")", four);
  AddSlice("c", R"({"name": "c"})", R"("nodeName": "m")", four);
  AddSlice("d", R"({"name": "d"})", R"("nodeName": "n")", four);
  EXPECT_EQ(Try(Requests(Exactly("r", R"("count": 2)"))), "r=p/b r=p/d ");
  AddSlice("c", "", R"("nodeName": "m", )" + counters, four);
  EXPECT_EQ(Try(Requests(Exactly("r"))), "invalid pools") << "two counter sets of one name";
}

// --- errors ---

TEST_F(Devices, WrongClaimsAreErrorsWithTheTextsOfKubeScheduler) {
  AddSlice("s", kThree);
  class_.selectors = {{"g"}};
  const std::pair<std::string, std::string> cases[] = {
      {Requests(R"({"name": "r", "exactly": {"deviceClassName": "none"}})"),
       "claim ns/c, request r: could not retrieve device class none: deviceclass.resource.k8s.io \"none\" "
       "not found"},
      {Requests(Exactly("r", R"("selectors": [{}])")),
       "claim ns/c, request r, selector #0: CEL expression empty (unsupported selector type?)"},
      {Requests(Exactly("r", R"("allocationMode": "Most")")),
       "claim ns/c, request r: unsupported count mode Most"},
      {Requests(Exactly("r", R"("count": 33)")),
       "claim ns/c, request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted "
       "for"},
      {Requests(Exactly("r"), R"("constraints": [{}])"),
       "claim ns/c, constraint #0: empty constraint (unsupported constraint type?)"},
      {Requests(Exactly("r", R"("derivedAttributes": [{}])")),
       "claim ns/c, request r: cannot handle request with derived attributes, the feature is disabled"},
  };
  for (const auto& [devices, error] : cases) EXPECT_EQ(Try(devices), "error: " + error);
  class_.selectors = {{"bad"}};
  EXPECT_EQ(Try(Requests(Exactly("r"))),
            "error: class gpu: selector #0: CEL compile error: undeclared reference");
  class_.selectors = {};
  EXPECT_EQ(Try(Requests(Exactly("r", R"("selectors": [{"cel": {"expression": "error"}}])"))),
            "error: claim ns/c: selector #0 on device d/p/g0: CEL runtime error: no such key: x");
}

// 24 devices with numbers.
std::string NumberedDevices() {
  std::string many;
  for (int i = 0; i < 24; ++i) {
    many += fmt::format(R"({}{{"name": "g{:02}", "attributes": {{"d/number": {{"int": {}}}}}}})",
                        i > 0 ? "," : "", i, i);
  }
  return many;
}
TEST_F(Devices, ASearchThatTakesTooLongEnds) {
  AddSlice("s", NumberedDevices());
  EXPECT_EQ(Try(Requests(Unsatisfiable(), R"("constraints": [{"distinctAttribute": "d/number"}])")),
            "timeout");
}

TEST_F(Devices, InterchangeableDevicesAreNotTriedInAllCombinations) {
  AddSlice("s", NumberedDevices());
  EXPECT_EQ(Try(Requests(Unsatisfiable())), "impossible");
}

TEST_F(Devices, GroupsOfInterchangeableDevicesChangeNoOutcome) {
  objects_.Of<ResourceClaim>().Listen([this](const auto& change) { allocated_.Apply(change); });
  std::size_t allocated = 0, impossible = 0, shorter = 0;
  for (std::uint64_t seed = 0; seed < testing::Repetitions(4000); ++seed) {
    RandomDevices random(seed);
    Put(Read<api::ResourceSlice>(random.Slice()));
    Put(Claim("{}", random.Allocation(), "held"));
    std::vector claims{Claim(random.Claim())};
    if (seed % 2 == 0) claims.push_back(Claim(random.Claim(), "{}", "c2"));
    group_after_ = std::numeric_limits<std::uint64_t>::max();
    const AllocationOutcome all_tried = Allocate(claims);
    const std::string expected = Text(all_tried, claims);
    group_after_ = 0;
    const AllocationOutcome grouped = Allocate(claims);
    ASSERT_EQ(Text(grouped, claims), expected) << "seed " << seed;
    shorter += grouped.steps < all_tried.steps ? 1 : 0;
    allocated += expected.find('=') != expected.npos ? 1 : 0;
    impossible += expected == "impossible" ? 1 : 0;
  }
  EXPECT_GT(allocated, testing::Repetitions(500));
  EXPECT_GT(impossible, testing::Repetitions(500));
  EXPECT_GT(shorter, testing::Repetitions(200));
}

TEST_F(Devices, ExpensiveSelectorsAreStepsOfTheSearch) {
  AddSlice("s", kThree);
  const std::string claim = Requests(Exactly("r", R"("selectors": [{"cel": {"expression": "x"}}])"));
  selectors_.steps_each = steps_ / 4;
  EXPECT_EQ(Try(claim), "impossible");
  selectors_.steps_each = steps_ / 2;
  EXPECT_EQ(Try(claim), "timeout");
}

// `item` with the numbers from 0, separated by commas.
std::string Repeated(int count, const std::function<std::string(int)>& item) {
  std::string items;
  for (int i = 0; i < count; ++i) items += (i > 0 ? "," : "") + item(i);
  return items;
}

TEST_F(Devices, DevicesAndClaimsThatTakeMoreWorkTakeMoreSteps) {
  const std::string plain = R"({"name": "a"})";
  const auto steps = [&](const std::string& device, const std::string& claim) {
    AddSlice("s", device);
    return Allocate({Claim(claim)}).steps;
  };
  const std::uint64_t few = steps(plain, Requests(Exactly("r")));
  EXPECT_LE(few, 8U);

  const std::string capacity = Repeated(32, [](int i) {
    const std::string values = Repeated(10, [](int value) { return fmt::format(R"("{}")", value + 1); });
    return fmt::format(
        R"("c{}": {{"value": "10", "requestPolicy": {{"default": "1", "validValues": [{}]}}}})", i, values);
  });
  const std::string taints =
      Repeated(16, [](int i) { return fmt::format(R"({{"key": "t{}", "effect": "NoSchedule"}})", i); });
  const std::string tolerations =
      Repeated(16, [](int i) { return fmt::format(R"({{"key": "t{}", "operator": "Exists"}})", i); });
  const std::string constraints = Repeated(
      32, [](int i) { return fmt::format(R"({{"matchAttribute": "d/n{}", "requests": ["r"]}})", i); });
  struct Case {
    const char* description;
    std::string device;
    std::string claim;
    std::uint64_t more;
  };
  const std::vector<Case> cases = {
      {"capacities with valid values are compared",
       fmt::format(R"({{"name": "a", "capacity": {{{}}}}})", capacity),
       Requests(Exactly("r", R"("capacity": {"requests": {"c0": "11"}})")), 16},
      {"a share is computed, added and subtracted",
       fmt::format(R"({{"name": "a", "allowMultipleAllocations": true, "capacity": {{{}}}}})", capacity),
       Requests(Exactly("r")), 100},
      {"taints are compared with tolerations", fmt::format(R"({{"name": "a", "taints": [{}]}})", taints),
       Requests(Exactly("r", fmt::format(R"("tolerations": [{}])", tolerations))), 16},
      {"constraints name requests", plain,
       Requests(Exactly("r"), fmt::format(R"("constraints": [{}])", constraints)), 4},
      {"a long expression is looked up", plain,
       Requests(Exactly(
           "r", fmt::format(R"("selectors": [{{"cel": {{"expression": "{}"}}}}])", std::string(10240, 'x')))),
       6},
      {"requests are prepared", plain,
       Requests(Repeated(32, [](int i) { return Exactly(fmt::format("r{}", i)); })), 6},
  };
  for (const Case& test : cases)
    EXPECT_GE(steps(test.device, test.claim), few + test.more) << test.description;
}

TEST_F(Devices, PartitionsWithManyCountersTakeMoreSteps) {
  const auto counters = [](int set) {
    return fmt::format(R"("set{}", "counters": {{{}}})", set,
                       Repeated(32, [](int i) { return fmt::format(R"("c{}": {{"value": "1"}})", i); }));
  };
  const std::string sets =
      Repeated(2, [&](int set) { return fmt::format(R"({{"name": {}}})", counters(set)); });
  const std::string consumed =
      Repeated(2, [&](int set) { return fmt::format(R"({{"counterSet": {}}})", counters(set)); });
  const std::string pool = R"("name": "p", "resourceSliceCount": 2)";
  AddSlice("counters", "", fmt::format(R"("nodeName": "n", "sharedCounters": [{}])", sets), pool);
  AddSlice("s", fmt::format(R"({{"name": "a", "consumesCounters": [{}]}})", consumed), R"("nodeName": "n")",
           pool);
  const auto claim = Claim(Requests(Exactly("r")));
  const AllocationOutcome outcome = Allocate({claim});
  EXPECT_EQ(Text(outcome, {claim}), "r=p/a ");
  EXPECT_GE(outcome.steps, 16U);
}

TEST_F(Devices, ASearchThatTakesTooLongToGroupDevicesEnds) {
  AddSlice("s", R"({"name": "g0"})");
  group_after_ = 0;
  selectors_.steps_each = 2 * steps_;
  EXPECT_EQ(
      Try(Requests(Exactly("r") + "," + Exactly("s", R"("selectors": [{"cel": {"expression": "x"}}])"))),
      "timeout")
      << "the search alone would not evaluate the selector";
}

// --- results ---

TEST_F(Devices, AnAllocationHasTheConfigurationOfItsRequests) {
  AddSlice("s", kThree);
  class_.config = {{{}, R"({"opaque":{"driver":"d","parameters":1}})"}};
  const auto claim = Claim(Requests(Exactly("a") + "," + Exactly("b"), R"("config": [
    {"requests": ["b"], "opaque": {"driver": "d", "parameters": 2}}, {"requests": ["x"], "opaque": {}}])"));
  const AllocationOutcome outcome = Allocate({claim});
  const auto described = MakeAllocator().Describe(*claim, outcome.claims.at(0), "n", "uid");
  ASSERT_TRUE(described);
  ASSERT_EQ(described->config.size(), 2);
  EXPECT_EQ(described->config[0].source, "FromClass");
  EXPECT_THAT(described->config[0].configuration.requests, ElementsAre()) << "all requests";
  EXPECT_EQ(described->config[1].source, "FromClaim");
  EXPECT_THAT(described->config[1].configuration.requests, ElementsAre("b"));
  ASSERT_EQ(described->node_selector->terms.size(), 1);
  EXPECT_EQ(described->node_selector->terms[0].match_fields,
            (std::vector<api::NodeSelectorRequirement>{{"metadata.name", "In", {"n"}}}));
}

TEST_F(Devices, AnAllocationOfNetworkDevicesHasTheirNodeSelectors) {
  const auto selector = [](const std::string& zone) {
    return fmt::format(R"("nodeSelector": {{"nodeSelectorTerms": [{{"matchExpressions": [
        {{"key": "zone", "operator": "In", "values": ["{}"]}}]}}]}})",
                       zone);
  };
  AddSlice("s", R"({"name": "a"})", selector("z1"));
  AddSlice("t", R"({"name": "b"})", selector("z1"), R"("name": "q", "resourceSliceCount": 1)");
  const auto claim = Claim(Requests(Exactly("r", R"("count": 2)")));
  const AllocationOutcome outcome = Allocate({claim});
  const auto described = MakeAllocator().Describe(*claim, outcome.claims.at(0), "n", "uid");
  ASSERT_TRUE(described);
  EXPECT_EQ(described->node_selector->terms[0].match_expressions,
            (std::vector<api::NodeSelectorRequirement>{{"zone", "In", {"z1"}}}));
}

// --- the ledger ---

TEST_F(Devices, APendingAllocationCountsUntilItsWriteIsReceived) {
  AddSlice("s", kThree);
  objects_.Of<ResourceClaim>().Listen([this](const auto& change) { allocated_.Apply(change); });
  const auto version = [](const std::string& version, const std::string& status) {
    return Read<ResourceClaim>(fmt::format(
        R"({{"metadata": {{"namespace": "ns", "name": "c", "uid": "u", "resourceVersion": "{}"}}, "status": {}}})",
        version, status));
  };
  const auto one = [&] { return Try(Requests(Exactly("r"))); };
  Put(version("5", "{}"));
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("g0"))->allocation));
  Put(version("6", "{}"));
  EXPECT_EQ(one(), "r=p/g1 ") << "another update of the claim";
  allocated_.MarkWritten("u", "8");
  EXPECT_EQ(one(), "r=p/g1 ") << "written, not received";
  Put(version("7", "{}"));
  EXPECT_EQ(one(), "r=p/g1 ") << "an older version";
  Put(version("8", Allocated("g0")));
  EXPECT_EQ(one(), "r=p/g1 ");
  EXPECT_TRUE(allocated_.PendingOf("u") == nullptr);
  Put(version("9", "{}"));
  EXPECT_EQ(one(), "r=p/g0 ") << "deallocated";
}

TEST_F(Devices, APendingAllocationEndsWithItsClaim) {
  AddSlice("s", kThree);
  objects_.Of<ResourceClaim>().Listen([this](const auto& change) { allocated_.Apply(change); });
  const auto one = [&] { return Try(Requests(Exactly("r"))); };
  Put(Claim("{}"));
  allocated_.AddPending(
      "uid-c", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("g0"))->allocation));
  allocated_.MarkWritten("uid-c", "8");
  EXPECT_EQ(one(), "r=p/g1 ");
  Drop<ResourceClaim>("ns", "c");
  EXPECT_EQ(one(), "r=p/g0 ") << "the written version is never received";
  allocated_.MarkWritten("uid-c", "9");
  EXPECT_EQ(one(), "r=p/g0 ") << "the response arrives after the deletion";
}

TEST_F(Devices, APendingAllocationEndsIfALaterVersionArrivedBeforeTheResponse) {
  AddSlice("s", kThree);
  objects_.Of<ResourceClaim>().Listen([this](const auto& change) { allocated_.Apply(change); });
  const auto version = [](const std::string& version) {
    return Read<ResourceClaim>(fmt::format(
        R"({{"metadata": {{"namespace": "ns", "name": "c", "uid": "u", "resourceVersion": "{}"}}}})",
        version));
  };
  Put(version("5"));
  allocated_.AddPending(
      "u", std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated("g0"))->allocation));
  Put(version("9"));
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/g1 ") << "not written as far as known";
  allocated_.MarkWritten("u", "8");
  EXPECT_EQ(Try(Requests(Exactly("r"))), "r=p/g0 ") << "written, and deallocated since";
}

TEST_F(Devices, APendingAllocationCountsUntilTheLastOfItsPodsReleasesIt) {
  AddSlice("s", kThree);
  const auto one = [&] { return Try(Requests(Exactly("r"))); };
  const auto allocation = [&](const char* device) {
    return std::make_shared<const ResourceClaim::Allocation>(*Claim("{}", Allocated(device))->allocation);
  };
  const AllocationPtr first =
      allocated_.AddPending("u", allocation("g0"), AllocatedDevices::Sharing::kGroupCycle);
  EXPECT_EQ(allocated_.SharedPendingOf("u"), first);
  EXPECT_EQ(allocated_.AddPending("u", allocation("g1"), AllocatedDevices::Sharing::kGroupCycle), first)
      << "the first one counts";
  EXPECT_EQ(one(), "r=p/g1 ");
  allocated_.ReleasePending("u", first);
  EXPECT_EQ(one(), "r=p/g1 ");
  allocated_.ReleasePending("u", first);
  EXPECT_EQ(one(), "r=p/g0 ");
  const AllocationPtr second = allocated_.AddPending("u", allocation("g0"));
  EXPECT_EQ(allocated_.PendingOf("u"), second);
  EXPECT_EQ(allocated_.SharedPendingOf("u"), nullptr);
  allocated_.ReleasePending("u", first);
  EXPECT_EQ(one(), "r=p/g1 ") << "released by a pod of an earlier allocation";
}

TEST_F(Devices, TheConsumedCapacityIsTheSumOfTheRemainingShares) {
  const std::vector<std::string> amounts{"1Gi", "500m", "3", "7E", "9E", "1n", "12e20", "0", "2Ki", "-4"};
  const DeviceId device = allocated_.Acquire("d", "p", "a");
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<std::string> shares;  // their amounts
    for (const std::string& amount : amounts) {
      shares.push_back(amount);
      const auto claim = Claim(
          "{}", Allocated("a", fmt::format(R"("shareID": "{0}", "consumedCapacity": {{"memory": "{0}"}})",
                                           amount)));
      allocated_.AddPending("u" + amount,
                            std::make_shared<const ResourceClaim::Allocation>(*claim->allocation));
    }
    while (!shares.empty()) {
      const auto ends = shares.begin() + static_cast<std::ptrdiff_t>(random.Below(shares.size()));
      allocated_.RemovePending("u" + *ends);
      shares.erase(ends);
      api::Quantity sum;
      for (const std::string& amount : shares) sum += *api::Quantity::Parse(amount);
      const AllocatedDevices::Use& use = allocated_.use(device);
      ASSERT_EQ(use.shares, shares.size());
      ASSERT_LE(use.consumed.size(), shares.empty() ? 0U : 1U);
      const auto consumed = use.consumed.find("memory");
      ASSERT_EQ((consumed == use.consumed.end() ? api::Quantity() : consumed->second).Compare(sum), 0)
          << sum.Canonical() << ", seed " << seed;
    }
  }
  allocated_.Release(device);
}

}  // namespace
}  // namespace berth::devices
