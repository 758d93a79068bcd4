#include "observability/tracing/otlp_json.hpp"

#include <utility>

#include "base/append_format.hpp"
#include "base/json_text.hpp"

namespace berth::tracing {
namespace {

// Values of the protocol's SpanKind and StatusCode.
constexpr int kInternal = 1;
constexpr int kOk = 1;
constexpr int kError = 2;

class Writer {
 public:
  Writer(std::string& out, MonoTime now, WallTime wall_now) : out_(out), now_(now), wall_now_(wall_now) {}

  void Attribute(std::string_view key, std::string_view value) {
    Key(key);
    out_ += "{\"stringValue\":";
    AppendJsonString(out_, value);
    out_ += "}}";
  }
  void Attribute(std::string_view key, std::int64_t value) {
    Key(key);
    // In the JSON form of protocol buffers, 64-bit numbers are strings.
    AppendFormat(out_, "{{\"intValue\":\"{}\"}}}}", value);
  }
  void BeginAttributes() {
    out_ += "\"attributes\":[";
    first_ = true;
  }
  void EndAttributes() { out_ += ']'; }

  void Attempt(const IdentifiedTrace& identified) {
    const AttemptTrace& trace = identified.trace;
    BeginSpan(identified, identified.span, 0, "Schedule pod", trace.begin, trace.end);
    BeginAttributes();
    const auto slash = trace.pod.find('/');
    Attribute("k8s.namespace.name", trace.pod.substr(0, slash));
    Attribute("k8s.pod.name", slash == trace.pod.npos ? trace.pod : trace.pod.substr(slash + 1));
    Attribute("k8s.pod.uid", trace.uid);
    if (!trace.node.empty()) Attribute("k8s.node.name", trace.node);
    Attribute("berth.profile", trace.profile);
    Attribute("berth.attempt", trace.attempt);
    Attribute("berth.result", trace.result);
    if (!trace.message.empty()) Attribute("berth.message", trace.message);
    EndAttributes();
    EndSpan(trace.result == "error" ? kError : kOk, trace.result == "error" ? trace.message : "");
    std::uint64_t id = identified.span;
    for (const AttemptTrace::Part& part : trace.parts) {
      out_ += ',';
      if (++id == 0) ++id;
      BeginSpan(identified, id, identified.span, part.name, part.begin, part.end);
      BeginAttributes();
      Attribute("berth.status", part.status);
      EndAttributes();
      EndSpan(part.status == "Error" ? kError : kOk, "");
    }
  }

 private:
  void Key(std::string_view key) {
    if (!std::exchange(first_, false)) out_ += ',';
    out_ += "{\"key\":";
    AppendJsonString(out_, key);
    out_ += ",\"value\":";
  }
  std::int64_t UnixNanos(MonoTime time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               (wall_now_ - (now_ - time)).time_since_epoch())
        .count();
  }
  void BeginSpan(const IdentifiedTrace& trace, std::uint64_t id, std::uint64_t parent, std::string_view name,
                 MonoTime begin, MonoTime end) {
    AppendFormat(out_, "{{\"traceId\":\"{:016x}{:016x}\",\"spanId\":\"{:016x}\",", trace.trace_high,
                 trace.trace_low, id);
    if (parent != 0) AppendFormat(out_, "\"parentSpanId\":\"{:016x}\",", parent);
    out_ += "\"name\":";
    AppendJsonString(out_, name);
    AppendFormat(out_, ",\"kind\":{},\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\",", kInternal,
                 UnixNanos(begin), UnixNanos(end));
  }
  void EndSpan(int code, std::string_view message) {
    AppendFormat(out_, ",\"status\":{{\"code\":{}", code);
    if (!message.empty()) {
      out_ += ",\"message\":";
      AppendJsonString(out_, message);
    }
    out_ += "}}";
  }

  std::string& out_;
  const MonoTime now_;
  const WallTime wall_now_;
  bool first_ = true;
};

}  // namespace

std::string ExportRequest(const Resource& resource, std::span<const IdentifiedTrace> traces, MonoTime now,
                          WallTime wall_now) {
  std::string out;
  Writer writer(out, now, wall_now);
  out += "{\"resourceSpans\":[{\"resource\":{";
  writer.BeginAttributes();
  writer.Attribute("service.name", resource.service_name);
  writer.Attribute("service.version", resource.service_version);
  writer.Attribute("service.instance.id", resource.service_instance);
  writer.EndAttributes();
  out += "},\"scopeSpans\":[{\"scope\":{\"name\":\"berth\"},\"spans\":[";
  bool first = true;
  for (const IdentifiedTrace& trace : traces) {
    if (!std::exchange(first, false)) out += ',';
    writer.Attempt(trace);
  }
  out += "]}]}]}";
  return out;
}

}  // namespace berth::tracing
