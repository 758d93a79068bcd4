// Structured log lines on stderr in the text format of klog v2 (as kube-scheduler v1.37 writes them):
//
//   I1120 20:42:43.213297     660 scheduler.cpp:117] "Attempting to schedule pod" pod="default/p6"
//
// Severity, month and day, local time, process id, source file and line, quoted message, key=value pairs; or
// in its JSON format, with the time in milliseconds, and the level except for errors:
//
//   {"ts":1795284454366.0554,"caller":"scheduler/cycle/scheduler.cpp:117","msg":"Attempting to schedule
//   pod","v":3,
//    "pod":{"name":"p6","namespace":"default"}}
//
// Thread-safe; each line is written with one write(2), which only a partial write repeats; a line that cannot
// be written is lost. Never throws. A pipe that is full blocks the caller.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_set>

namespace berth::log {

// A view; valid only during the logging call.
class Value {
 public:
  enum class Kind { kText, kObject, kInteger, kUnsigned, kReal, kBoolean };

  Value(std::string_view text) : kind_(Kind::kText), text_(text) {}
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(bool boolean) : kind_(Kind::kBoolean), integer_(boolean) {}
  Value(std::signed_integral auto number) : kind_(Kind::kInteger), integer_(number) {}
  Value(std::unsigned_integral auto number)
      : kind_(Kind::kUnsigned), integer_(static_cast<std::int64_t>(number)) {}
  Value(double real) : kind_(Kind::kReal), real_(real) {}
  // An object's key: "namespace/name", or only its name.
  static Value Object(std::string_view key) {
    Value value(key);
    value.kind_ = Kind::kObject;
    return value;
  }

  // In klog's format: texts are quoted as in Go, or indented if they have several lines.
  void AppendTo(std::string& line) const;
  void AppendJsonTo(std::string& line) const;

 private:
  Kind kind_;
  std::string_view text_;
  std::int64_t integer_ = 0;
  double real_ = 0;
};

// A name and a value of a structured log line.
struct Field {
  std::string_view key;
  Value value;
};
using Fields = std::initializer_list<Field>;
using Where = std::source_location;

void Info(std::string_view message, Fields fields = {}, const Where& where = Where::current());
void Warning(std::string_view message, Fields fields = {}, const Where& where = Where::current());
void Error(std::string_view message, Fields fields = {}, const Where& where = Where::current());

// A verbosity level (-v) and whether it is enabled:
//
//   if (const auto log = log::V(3)) log.Info("Attempting to schedule pod", {...});
class Level {
 public:
  Level(int level, bool wanted) : level_(level), wanted_(wanted) {}
  explicit operator bool() const { return wanted_; }
  void Info(std::string_view message, Fields fields = {}, const Where& where = Where::current()) const;

 private:
  int level_;
  bool wanted_;
};
Level V(int level);  // one relaxed load
// Negative: Info writes nothing either, for commands whose output is not a log. Warnings and errors remain.
void SetVerbosity(int level);
int Verbosity();

// The form of log lines.
enum class Format { kText, kJson };
// Before other threads log.
void SetFormat(Format format);

// Suppresses repeated log lines per key. Keeps the last `capacity` keys, so that an endless stream of new
// keys neither uses unbounded memory nor silences the log permanently. Thread-safe.
class Once {
 public:
  explicit Once(std::size_t capacity = 1024) : capacity_(capacity) {}
  // True if the key is not stored; stores it.
  bool First(std::string_view key);

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::deque<std::string> order_;  // a deque never moves its elements at the ends: the set's views stay valid
  std::unordered_set<std::string_view> keys_;
};

}  // namespace berth::log
