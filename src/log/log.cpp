#include "log/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <iterator>

namespace berth::log {
namespace {

std::atomic<int> verbosity{0};

// The one global of the project: wherever something goes wrong, a line must be possible.
spdlog::logger& Logger() {
  static spdlog::logger logger = [] {
    spdlog::logger made("berth", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%L%m%d %H:%M:%S.%f %7P %s:%#] %v");
    made.set_level(spdlog::level::trace);
    made.set_error_handler([](const std::string&) {});  // a full disk must not stop a scheduler
    return made;
  }();
  return logger;
}

void Write(spdlog::level::level_enum level, std::string_view message, Fields fields, const Where& where) {
  try {
    std::string line;
    line.reserve(128);
    AppendQuoted(line, message);
    for (const auto& [key, value] : fields) {
      line += ' ';
      line += key;
      line += '=';
      value.AppendTo(line);
    }
    const spdlog::source_loc location(where.file_name(), static_cast<int>(where.line()),
                                      where.function_name());
    Logger().log(location, level, spdlog::string_view_t(line));
  } catch (...) {
    // Out of memory, most likely: the line is lost, the caller goes on.
  }
}

// klog's form for text of several lines: key=<, each line behind a tab, and a closing " >".
void AppendLines(std::string& out, std::string_view text) {
  out += "<\n";
  while (true) {
    const auto end = text.find('\n');
    out += '\t';
    out += text.substr(0, end);
    out += '\n';
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  out += " >";
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void Value::AppendTo(std::string& line) const {
  switch (kind_) {
    case Kind::kText:
      text_.find('\n') == text_.npos ? AppendQuoted(line, text_) : AppendLines(line, text_);
      break;
    case Kind::kInteger:
      fmt::format_to(std::back_inserter(line), "{}", integer_);
      break;
    case Kind::kUnsigned:
      fmt::format_to(std::back_inserter(line), "{}", static_cast<std::uint64_t>(integer_));
      break;
    case Kind::kReal:
      fmt::format_to(std::back_inserter(line), "{}", real_);
      break;
    case Kind::kBoolean:
      line += integer_ != 0 ? "true" : "false";
      break;
  }
}

void Info(std::string_view message, Fields fields, const Where& where) {
  Write(spdlog::level::info, message, fields, where);
}
void Warning(std::string_view message, Fields fields, const Where& where) {
  Write(spdlog::level::warn, message, fields, where);
}
void Error(std::string_view message, Fields fields, const Where& where) {
  Write(spdlog::level::err, message, fields, where);
}

bool V(int level) { return level <= verbosity.load(std::memory_order_relaxed); }
void SetVerbosity(int level) { verbosity.store(level, std::memory_order_relaxed); }
int Verbosity() { return verbosity.load(std::memory_order_relaxed); }

bool Once::First(std::string_view key) {
  std::scoped_lock lock(mutex_);
  if (keys_.contains(key)) return false;
  if (order_.size() >= capacity_) {
    keys_.erase(order_.front());
    order_.pop_front();
  }
  keys_.insert(order_.emplace_back(key));
  return true;
}

}  // namespace berth::log
