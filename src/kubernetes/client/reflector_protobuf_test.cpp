// A reflector that requests protobuf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "base/random.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "kubernetes/client/reflector.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using protozero::pbf_writer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Write>
std::string Message(Write&& write) {
  std::string bytes;
  pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

std::string Enveloped(const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + Message([&](pbf_writer& unknown) {
           unknown.add_message(1, Message([&](pbf_writer& type) { type.add_string(2, kind); }));
           unknown.add_bytes(2, raw);
         });
}

// With an invalid capacity if `broken`.
std::string NodeBytes(const std::string& name, int version, bool broken = false) {
  const auto quantity = Message([](pbf_writer& q) { q.add_string(1, "lots"); });
  const auto entry = Message([&](pbf_writer& e) { e.add_message(2, quantity); });
  return Message([&](pbf_writer& node) {
    node.add_message(1, Message([&](pbf_writer& meta) {
                       meta.add_string(1, name);
                       meta.add_string(5, "u");
                       meta.add_string(6, std::to_string(version));
                     }));
    if (broken) node.add_message(3, Message([&](pbf_writer& status) { status.add_message(1, entry); }));
  });
}

std::string ListOf(int version, const std::vector<std::string>& nodes) {
  return Enveloped("NodeList", Message([&](pbf_writer& list) {
                     list.add_message(
                         1, Message([&](pbf_writer& meta) { meta.add_string(2, std::to_string(version)); }));
                     for (const auto& node : nodes) list.add_message(2, node);
                   }));
}

std::string Event(const std::string& type, const std::string& kind, const std::string& object) {
  return Message([&](pbf_writer& event) {
    event.add_string(1, type);
    event.add_message(2, Message([&](pbf_writer& e) { e.add_bytes(1, Enveloped(kind, object)); }));
  });
}

std::string EndOfInitialEvents(int version) {
  const auto entry = Message([](pbf_writer& e) {
    e.add_string(1, "k8s.io/initial-events-end");
    e.add_string(2, "true");
  });
  return Event("BOOKMARK", "Node", Message([&](pbf_writer& node) {
                 node.add_message(1, Message([&](pbf_writer& meta) {
                                    meta.add_string(6, std::to_string(version));
                                    meta.add_message(12, entry);
                                  }));
               }));
}

std::string Gone() {
  return Event("ERROR", "Status", Message([](pbf_writer& status) {
                 status.add_string(3, "too old");
                 status.add_string(4, "Expired");
                 status.add_int32(6, 410);
               }));
}

class ProtobufReflector : public testing::Test {
 protected:
  void Begin(bool streaming) {
    reflector_ = std::make_unique<Reflector<api::Node>>(
        loop_, api_, decoder_, registry_, random_,
        ReflectorOptions{
            .resource = "nodes", .path = "/nodes", .encoding = Encoding::kProtobuf, .streaming = streaming},
        ReflectorHandlers<api::Node>{.on_change = [this](ports::Change<api::Node> c) { Note(c); },
                                     .on_synced = [this] { seen_.push_back("synced"); }});
    reflector_->Start();
  }
  void Note(const ports::Change<api::Node>& c) {
    seen_.push_back((c.after ? "+" : "-") + (c.after ? c.after : c.before)->metadata.name + "@" +
                    (c.after ? c.after : c.before)->metadata.resource_version);
  }
  std::vector<std::string> Seen() { return std::exchange(seen_, {}); }
  std::string Accepts() const { return api_.open.back().request.accept; }

  http::FakeLoop loop_;
  FakeApi api_;
  api::Decoder decoder_;
  metrics::Registry registry_;
  Random random_{1};
  std::vector<std::string> seen_;
  std::unique_ptr<Reflector<api::Node>> reflector_;
};

constexpr auto kProtobufFirst = "application/vnd.kubernetes.protobuf,application/json";

TEST_F(ProtobufReflector, ListsAndWatches) {
  Begin(false);
  EXPECT_EQ(Accepts(), kProtobufFirst);
  api_.Answer(ListOf(7, {NodeBytes("a", 5), NodeBytes("b", 6)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@5", "+b@6", "synced"));
  EXPECT_EQ(Accepts(), kProtobufFirst);
  api_.Line(Event("MODIFIED", "Node", NodeBytes("a", 8)));
  api_.Line(Event("DELETED", "Node", NodeBytes("b", 9)));
  EXPECT_THAT(Seen(), ElementsAre("+a@8", "-b@6"));
  api_.Line(Gone());
  loop_.Advance(2s);
  EXPECT_THAT(api_.sent.back(), HasSubstr("GET /nodes?resourceVersion=9"))
      << "listed again at the last version";
}

TEST_F(ProtobufReflector, StreamsItsFirstList) {
  Begin(true);
  api_.Line(Event("ADDED", "Node", NodeBytes("a", 5)));
  EXPECT_THAT(Seen(), IsEmpty());
  api_.Line(EndOfInitialEvents(7));
  EXPECT_THAT(Seen(), ElementsAre("+a@5", "synced"));
}

TEST_F(ProtobufReflector, SkipsObjectsThatCannotBeDecodedAndKeepsTheirLastVersion) {
  Begin(false);
  api_.Answer(ListOf(7, {NodeBytes("a", 5), NodeBytes("bad", 6, /*broken=*/true)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@5", "synced"));
  api_.Line(Event("MODIFIED", "Node", NodeBytes("a", 8, /*broken=*/true)));
  EXPECT_THAT(Seen(), IsEmpty());
  EXPECT_EQ(reflector_->size(), 1u);
  EXPECT_EQ(registry_.Counter("berth_objects_skipped_total", "", {{"resource", "nodes"}}).Value(), 2U);
}

TEST_F(ProtobufReflector, AcceptsAResponseInJson) {
  Begin(false);
  api_.Answer(
      R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]})");
  api_.Line(R"({"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"8"}}})");
  EXPECT_THAT(Seen(), ElementsAre("+a@5", "synced", "+b@8"));
  EXPECT_EQ(Accepts(), kProtobufFirst) << "another server may support it";
}

class RefusedEncoding : public ProtobufReflector, public testing::WithParamInterface<int> {};
TEST_P(RefusedEncoding, IsNotRequestedAgain) {
  Begin(false);
  api_.Answer(Refused(GetParam(), "NotAcceptable"));
  ASSERT_EQ(api_.open.size(), 1u) << "at once";
  EXPECT_EQ(Accepts(), "application/json, */*");
  EXPECT_EQ(api_.sent[1], api_.sent[0]) << "the same request";
  api_.Answer(R"({"metadata":{"resourceVersion":"7"},"items":[]})");
  EXPECT_THAT(Seen(), ElementsAre("synced"));
  EXPECT_EQ(Accepts(), "application/json, */*");
}
INSTANTIATE_TEST_SUITE_P(Codes, RefusedEncoding, testing::Values(406, 415));

TEST_F(ProtobufReflector, ARejectedWatchIsOpenedInJson) {
  Begin(true);
  api_.Answer(Refused(406, "NotAcceptable"));
  EXPECT_EQ(Accepts(), "application/json, */*");
  EXPECT_EQ(api_.sent[1], api_.sent[0]);
}

TEST_F(ProtobufReflector, AnInvalidFrameEndsTheWatchAndLists) {
  Begin(false);
  api_.Answer(ListOf(7, {}));
  api_.Line("\x0a\xff\xff");
  loop_.Advance(2s);
  EXPECT_THAT(api_.sent.back(), HasSubstr("GET /nodes"));
}

}  // namespace
}  // namespace berth::client
