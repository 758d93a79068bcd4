// Kubernetes protobuf through the Decoder. tests/encodings checks with Kubernetes' own serializers that whole
// objects equal those of JSON. These tests cover input that those serializers never write, and error texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "kubernetes/api/decode.hpp"

namespace berth::api {
namespace {

using protozero::pbf_writer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Builds a message with the given writer.
template <class Write>
std::string Message(Write&& write) {
  std::string bytes;
  pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

std::string Enveloped(const std::string& kind, const std::string& raw, const std::string& encoding = "") {
  return std::string("k8s\0", 4) + Message([&](pbf_writer& unknown) {
           unknown.add_message(1, Message([&](pbf_writer& type) {
                                 type.add_string(1, "v1");
                                 type.add_string(2, kind);
                               }));
           unknown.add_bytes(2, raw);
           unknown.add_string(3, encoding);
           unknown.add_string(4, "");
         });
}

std::string Metadata(const std::string& ns, const std::string& name, const std::string& version = "5") {
  return Message([&](pbf_writer& meta) {
    meta.add_string(1, name);
    meta.add_string(3, ns);
    meta.add_string(6, version);
  });
}

// `spec` is the bytes of a PodSpec.
std::string PodBytes(const std::string& name, const std::string& spec = "") {
  return Message([&](pbf_writer& pod) {
    pod.add_message(1, Metadata("shop", name));
    pod.add_message(2, spec);
  });
}

std::string Entry(const std::string& key, const std::string& value) {
  return Message([&](pbf_writer& entry) {
    entry.add_string(1, key);
    entry.add_string(2, value);
  });
}

std::string WithRequest(const std::string& resource, const std::string& amount) {
  const auto quantity = Message([&](pbf_writer& q) { q.add_string(1, amount); });
  const auto requirements = Message([&](pbf_writer& r) { r.add_message(2, Entry(resource, quantity)); });
  const auto container = Message([&](pbf_writer& c) { c.add_message(8, requirements); });
  return Message([&](pbf_writer& spec) {
    spec.add_message(2, std::string());
    spec.add_message(2, container);
  });
}

std::string Event(const std::string& type, const std::string& object) {
  return Message([&](pbf_writer& event) {
    event.add_string(1, type);
    event.add_message(2, Message([&](pbf_writer& extension) { extension.add_bytes(1, object); }));
  });
}

std::string ListOf(const std::string& kind, const std::vector<std::string>& items) {
  return Enveloped(kind, Message([&](pbf_writer& list) {
                     list.add_message(1, Message([](pbf_writer& meta) {
                                        meta.add_string(2, "77");
                                        meta.add_string(3, "more");
                                      }));
                     for (const auto& item : items) list.add_message(2, item);
                   }));
}

std::string ErrorOf(std::string_view text) {
  const auto pod = Decoder().Object<Pod>(text);
  return pod ? "none" : pod.error().message;
}

// --- objects ---
TEST(Wire, UnknownFieldsAreSkipped) {
  const auto spec = Message([](pbf_writer& s) {
    s.add_int64(1000, -1);
    s.add_fixed32(1001, 7);
    s.add_fixed64(1002, 7);
    s.add_string(10, "node-1");
    s.add_bytes(1003, "whatever");
  });
  const auto pod = Decoder().Object<Pod>(Enveloped("Pod", PodBytes("a", spec)));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->metadata.Key(), "shop/a");
  EXPECT_EQ(pod->spec.node_name, "node-1");
}

TEST(Wire, TheOrderOfFieldsDoesNotMatter) {
  const auto backwards = Message([](pbf_writer& pod) {
    pod.add_message(3, Message([](pbf_writer& status) {
                      status.add_message(2, Message([](pbf_writer& condition) {
                                           condition.add_string(6, "a message");
                                           condition.add_string(1, "Ready");
                                         }));
                    }));
    pod.add_message(2, Message([](pbf_writer& spec) { spec.add_string(10, "node-1"); }));
  });
  const auto pod = Decoder().Object<Pod>(Enveloped("Pod", backwards));
  ASSERT_TRUE(pod) << pod.error().message;
  ASSERT_EQ(pod->status.conditions.size(), 1u);
  EXPECT_EQ(pod->status.conditions[0].type, "Ready");
  EXPECT_EQ(pod->status.conditions[0].message, "") << "of a bound pod it is not kept";
}

TEST(Wire, KeepsTheTimeAtWhichAPodWasScheduled) {
  const auto spec = Message([](pbf_writer& spec) {
    spec.add_string(10, "node-1");
    spec.add_string(24, "batch");
  });
  const auto status = Message([](pbf_writer& status) {
    status.add_message(2, Message([](pbf_writer& condition) {
                         condition.add_string(1, "PodScheduled");
                         condition.add_string(2, "True");
                         condition.add_message(4, Message([](pbf_writer& t) { t.add_int64(1, 86401); }));
                       }));
  });
  for (const bool spec_first : {true, false}) {
    const auto bytes = Message([&](pbf_writer& pod) {
      if (spec_first) pod.add_message(2, spec);
      pod.add_message(3, status);
      if (!spec_first) pod.add_message(2, spec);
    });
    const auto pod = Decoder().Object<Pod>(Enveloped("Pod", bytes));
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->spec.priority_class_name, "batch");
    EXPECT_EQ(pod->status.scheduled_time, 86401);
    EXPECT_EQ(pod->status.conditions.at(0).last_transition_time, "");
  }
}

TEST(Wire, MapEntriesMayBeSeparateAndTheLastOneWins) {
  const auto meta = Message([](pbf_writer& m) {
    m.add_message(11, Entry("b", "1"));
    m.add_string(1, "a");
    m.add_message(11, Entry("a", "2"));
    m.add_message(11, Entry("b", "3"));
    m.add_message(11, std::string());
  });
  const auto pod = Decoder().Object<Pod>(Enveloped("Pod", Message([&](auto& p) { p.add_message(1, meta); })));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->metadata.labels, (Labels{{"", ""}, {"a", "2"}, {"b", "3"}}));
}

TEST(Wire, RetainsAnnotationsOnRequest) {
  const auto meta = Message([](pbf_writer& m) {
    m.add_string(1, "a");
    m.add_message(12, Entry("example.com/team", "blue"));
    m.add_message(12, Entry("example.com/other", "x"));
    m.add_message(12, Entry("volume.kubernetes.io/selected-node", "n1"));
  });
  const auto text = Enveloped("Pod", Message([&](auto& p) { p.add_message(1, meta); }));
  const auto pod = Decoder({.annotations = {"example.com/team"}}).Object<Pod>(text);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(*pod->metadata.annotations,
            (Labels{{"example.com/team", "blue"}, {"volume.kubernetes.io/selected-node", "n1"}}));
  EXPECT_EQ(*Decoder().Object<Pod>(text)->metadata.annotations,
            (Labels{{"volume.kubernetes.io/selected-node", "n1"}}));
}

TEST(Wire, InvalidUtf8IsReplacedAsInGosJson) {
  const auto meta = Message([](pbf_writer& m) { m.add_message(11, Entry("cut\xe6\x97", "\xff\xfe")); });
  const auto pod = Decoder().Object<Pod>(Enveloped("Pod", Message([&](auto& p) { p.add_message(1, meta); })));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->metadata.labels, (Labels{{"cut\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd"}}));
}

struct Malformed {
  std::string name;
  std::string text;
  std::string error;
};
class AnInvalidProtobufObject : public ::testing::TestWithParam<Malformed> {};
TEST_P(AnInvalidProtobufObject, HasPathAndReasonInItsError) {
  EXPECT_THAT(ErrorOf(GetParam().text), HasSubstr(GetParam().error));
}
INSTANTIATE_TEST_SUITE_P(
    Table, AnInvalidProtobufObject,
    ::testing::Values(
        Malformed{"NothingButTheMagic", std::string("k8s\0", 4), "none"},
        Malformed{"AnotherKind", Enveloped("Secret", ""), "expected a Pod, got a Secret"},
        Malformed{"AnEncodingOfItsOwn", Enveloped("Pod", "", "gzip"),
                  "contentEncoding: \"gzip\" is not known"},
        Malformed{"CutOff", Enveloped("Pod", PodBytes("a").substr(0, 9)), "metadata: not valid protobuf"},
        Malformed{"LongerThanItsEnvelope", Enveloped("Pod", PodBytes("a")).substr(0, 20),
                  "not valid protobuf"},
        Malformed{"AGroup", Enveloped("Pod", "\x0b"), "not valid protobuf: unknown pbf field type"},
        Malformed{"ANumberWithoutEnd", Enveloped("Pod", std::string(12, '\xff')), "not valid protobuf"},
        Malformed{"TextInThePlaceOfANumber",
                  Enveloped("Pod", PodBytes("a", Message([](auto& s) { s.add_string(25, "high"); }))),
                  "spec.priority: expected a number"},
        Malformed{"ANumberInThePlaceOfText",
                  Enveloped("Pod", PodBytes("a", Message([](auto& s) { s.add_int32(10, 4); }))),
                  "spec.nodeName: expected bytes, got a number"},
        Malformed{"AnAmountThatIsNone", Enveloped("Pod", PodBytes("a", WithRequest("cpu", "lots"))),
                  "spec.containers[1].resources.requests.cpu: \"lots\": quantities must match"},
        Malformed{"ATimeBeyondAllTime", Enveloped("Pod", Message([](pbf_writer& pod) {
                                                    pod.add_message(3, Message([](pbf_writer& status) {
                                                                      status.add_message(
                                                                          7, Message([](pbf_writer& t) {
                                                                            t.add_int64(1, INT64_MAX);
                                                                          }));
                                                                    }));
                                                  })),
                  "status.startTime: 9223372036854775807 s is not an RFC 3339 time"}),
    [](const auto& row) { return row.param.name; });

// --- lists ---
TEST(Wire, AListSkipsInvalidObjects) {
  const auto list = Decoder().List<Pod>(ListOf(
      "PodList", {PodBytes("a"), PodBytes("bad", WithRequest("cpu", "lots")), PodBytes("b"), "\x0a\x7f"}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->resource_version, "77");
  EXPECT_EQ(list->continue_token, "more");
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(list->items[1]->metadata.name, "b");
  ASSERT_EQ(list->skipped.size(), 2u);
  EXPECT_EQ(list->skipped[0].key, "shop/bad");
  EXPECT_THAT(list->skipped[0].error, StartsWith("spec.containers[1].resources.requests.cpu: "));
  EXPECT_EQ(list->skipped[1].key, "");
}

// Counting the items that follow each of them would take many seconds.
TEST(Wire, ItemsThatCannotBeDecodedAreSkippedInLinearTime) {
  std::vector<std::string> items(50'000, "\x0a\x7f");
  items.push_back(PodBytes("a"));
  const auto list = Decoder().List<Pod>(ListOf("PodList", items));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 1u);
  EXPECT_EQ(list->skipped.size(), 50'000u);
}

TEST(Wire, AListOfAnotherKindIsRejected) {
  const auto list = Decoder().List<Node>(ListOf("PodList", {}));
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(list.error().message, "expected a NodeList, got a PodList");
}

TEST(Wire, VersionsAreReadFromListsOfAnyKind) {
  const auto text = ListOf("PartialObjectMetadataList", {PodBytes("a"), PodBytes("b")});
  Decoder decoder;
  const auto list = decoder.Versions(text);
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(list->items[1].name, "b");
  EXPECT_EQ(list->items[1].ns, "shop");
  EXPECT_EQ(list->items[1].resource_version, "5");
  EXPECT_FALSE(decoder.Versions(ListOf("PodList", {""}))) << "an item without a name";
  EXPECT_FALSE(decoder.Versions(Enveloped("PodList", ""))) << "a list without a version";
}

// --- watches ---
TEST(Wire, AnEventContainsItsObject) {
  const auto event = Decoder().Event<Pod>(Event("MODIFIED", Enveloped("Pod", PodBytes("a"))));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, WatchEventType::kModified);
  EXPECT_EQ(event->key, "shop/a");
  EXPECT_EQ(event->resource_version, "5");
  ASSERT_TRUE(event->object);
}

TEST(Wire, AnEventWithAnInvalidObjectKeepsKeyAndVersion) {
  const auto event =
      Decoder().Event<Pod>(Event("ADDED", Enveloped("Pod", PodBytes("bad", WithRequest("cpu", "lots")))));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_FALSE(event->object);
  EXPECT_EQ(event->key, "shop/bad");
  EXPECT_EQ(event->resource_version, "5");
  EXPECT_THAT(event->skipped, HasSubstr("\"lots\""));
}

TEST(Wire, ABookmarkHasAVersionAndMayEndTheInitialEvents) {
  const auto meta = Message([](pbf_writer& m) {
    m.add_string(6, "90");
    m.add_message(12, Entry("k8s.io/initial-events-end", "true"));
  });
  const auto pod = Message([&](pbf_writer& p) { p.add_message(1, meta); });
  const auto event = Decoder().Event<Pod>(Event("BOOKMARK", Enveloped("Pod", pod)));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, WatchEventType::kBookmark);
  EXPECT_EQ(event->resource_version, "90");
  EXPECT_TRUE(event->initial_events_end);
}

TEST(Wire, AnErrorEventHasAStatus) {
  const auto status = Message([](pbf_writer& s) {
    s.add_string(3, "too old resource version");
    s.add_string(4, "Expired");
    s.add_int32(6, 410);
    s.add_message(5, Message([](pbf_writer& details) {
                    details.add_message(4, Message([](auto& cause) { cause.add_string(1, "Because"); }));
                    details.add_int32(5, 3);
                  }));
  });
  const auto event = Decoder().Event<Pod>(Event("ERROR", Enveloped("Status", status)));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->status.code, 410);
  EXPECT_EQ(event->status.reason, "Expired");
  EXPECT_EQ(event->status.message, "too old resource version");
  EXPECT_EQ(event->status.retry_after_seconds, 3);
  EXPECT_THAT(event->status.cause_reasons, ElementsAre("Because"));
  EXPECT_EQ(Decoder().ErrorStatus(Enveloped("Status", status), 500).code, 410);
  EXPECT_EQ(Decoder().ErrorStatus(Enveloped("Status", "\x0b"), 503).message, "HTTP 503")
      << "bytes are not shown";
}

TEST(Wire, AFrameThatIsNotAnEventIsAnError) {
  Decoder decoder;
  for (const auto& frame : {Event("REPLACED", Enveloped("Pod", PodBytes("a"))), Event("ADDED", "rubbish"),
                            Event("ADDED", ""), Event("ADDED", Enveloped("Node", "")),
                            Event("ERROR", Enveloped("Pod", "")), std::string("\x0a\xff")}) {
    const auto event = decoder.Event<Pod>(frame);
    ASSERT_FALSE(event);
    EXPECT_EQ(event.error().code, ErrorCode::kInvalid);
  }
}

TEST(Wire, LinesOfJsonAreDistinguishedFromFrames) {
  const auto event = Decoder().Event<Pod>(R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->key, "a");
}

}  // namespace
}  // namespace berth::api
