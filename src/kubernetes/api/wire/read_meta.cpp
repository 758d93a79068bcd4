// Common parts of objects, field by field. Field numbers are those of generated.proto in k8s.io/apimachinery
// and k8s.io/api v0.37.
#include <fmt/format.h>

#include "kubernetes/api/decode_common.hpp"
#include "kubernetes/api/recent_amounts.hpp"
#include "kubernetes/api/timestamp.hpp"
#include "kubernetes/api/wire/message.hpp"
#include "kubernetes/api/wire/recent.hpp"

namespace berth::api::wire {
namespace {

// The text of a quantity; the message has no other field.
std::string_view QuantityText(Message in) {
  std::string_view text;
  while (in.next()) {
    if (in.tag() == 1) {
      text = TakeBytes(in);
    } else {
      in.skip();
    }
  }
  return text;
}

struct Amount {
  std::string_view name;
  std::string_view text;
  bool given = false;
};

Amount TakeAmount(Message& at) {
  Amount amount;
  ReadFields(TakeMessage(at), At<1>("key", [&](Message& key) { amount.name = TakeBytes(key); }),
             At<2>("value", [&](Message& value) {
               amount.text = QuantityText(TakeMessage(value));
               amount.given = true;
             }));
  return amount;
}

void Parse(const Amount& amount, ResourceList& out) {
  std::string repaired;
  const std::string_view name = ValidText(amount.name, repaired);
  Quantity& quantity = out[name];
  if (!amount.given) return;  // zero
  auto parsed = Quantity::Parse(amount.text);
  if (!parsed) {
    std::string shown;
    throw Unreadable(fmt::format("\"{}\": {}", ValidText(amount.text, shown), parsed.error().message))
        .In(name);
  }
  quantity = std::move(*parsed);
}

void TakeOwner(Message& at, CowPtr<OwnerReference>& controller) {
  OwnerReference owner;
  bool controls = false;
  ReadFields(TakeMessage(at), At<1>("kind", owner.kind), At<3>("name", owner.name), At<4>("uid", owner.uid),
             At<5>("apiVersion", owner.api_version), At<6>("controller", controls));
  // The first owner that is the controller, as in metav1.GetControllerOf.
  if (controls && !controller) controller = std::move(owner);
}

}  // namespace

void Take(Message& at, Labels& out) {
  if (out.empty()) out.reserve(RunLength(at));
  TakeEntry(
      at, [&](std::string_view key, std::string_view text) { out.Set(std::string(key), std::string(text)); });
}

// Calls visit(amount) for the consecutive entries of this map and leaves `at` behind them: limits and
// requests of a container are fields of one message, one group after the other.
template <class Visit>
void TakeRun(Message& at, Visit&& visit) {
  const auto number = at.tag();
  Message ahead = at;
  do {
    visit(TakeAmount(ahead));
    at = ahead;
  } while (ahead.next() && ahead.tag() == number);
}

void Take(Message& at, ResourceList& out) {
  Message again = at;
  RecentAmounts recent;
  std::size_t count = 0;
  TakeRun(at, [&](const Amount& amount) {
    amount.given ? recent.Add(amount.name, amount.text) : recent.MarkUncacheable();
    ++count;
  });
  if (!out.empty()) recent.MarkUncacheable();  // entries are not consecutive, which Go never writes
  if (const ResourceList* amounts = recent.Find()) {
    out = *amounts;
    return;
  }
  out.reserve(out.size() + count);
  TakeRun(again, [&](const Amount& amount) { Parse(amount, out); });
  recent.Store(out);
}

std::optional<std::int64_t> TakeTime(Message& at) {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  ReadFields(TakeMessage(at), At<1>("seconds", seconds), At<2>("nanos", nanos));
  if (seconds == 0 && nanos == 0) return std::nullopt;
  constexpr std::int64_t kYear0 = -62'167'219'200, kYear10000 = 253'402'300'800;
  if (seconds < kYear0 || seconds >= kYear10000)
    throw Unreadable(fmt::format("{} s is not an RFC 3339 time", seconds));
  return seconds;
}

void TakeTime(Message& at, std::string& out) {
  if (const auto seconds = TakeTime(at)) out = FormatTimestamp(*seconds);
}

void Read(Message in, ObjectMeta& out) {
  ReadFields(in, At<1>("name", out.name), Alike<3>("namespace", out.ns), At<5>("uid", out.uid),
             At<6>("resourceVersion", out.resource_version), At<7>("generation", out.generation),
             At<9>("deletionTimestamp",
                   [&](Message& at) {
                     std::string text;
                     TakeTime(at, text);
                     out.deletion_timestamp = std::move(text);
                   }),
             Alike<11>("labels", out.labels),
             At<12>("annotations",
                    [&](Message& at) {
                      TakeEntry(at, [&](std::string_view key, std::string_view text) {
                        if (!IsInTreeAnnotation(key)) return;
                        if (!out.annotations) out.annotations.emplace();
                        out.annotations->Set(std::string(key), std::string(text));
                      });
                    }),
             At<13>("ownerReferences", [&](Message& at) { TakeAlike(at, out.controller, TakeOwner); }));
}

void Read(Message in, LabelSelectorRequirement& out) {
  ReadFields(in, At<1>("key", out.key), At<2>("operator", out.op), At<3>("values", out.values));
}

void Read(Message in, LabelSelector& out) {
  ReadFields(in, At<1>("matchLabels", out.match_labels), At<2>("matchExpressions", out.match_expressions));
}

void Read(Message in, NodeSelectorRequirement& out) {
  ReadFields(in, At<1>("key", out.key), At<2>("operator", out.op), At<3>("values", out.values));
}

void Read(Message in, NodeSelectorTerm& out) {
  ReadFields(in, At<1>("matchExpressions", out.match_expressions), At<2>("matchFields", out.match_fields));
}

void Read(Message in, NodeSelector& out) { ReadFields(in, At<1>("nodeSelectorTerms", out.terms)); }

}  // namespace berth::api::wire
