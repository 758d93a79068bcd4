#include "observability/log/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <iterator>

#include "base/json_text.hpp"

namespace berth::log {
namespace {

std::atomic<int> verbosity{0};
std::atomic<Format> format{Format::kText};

constexpr const char* kKlogPattern = "%L%m%d %H:%M:%S.%f %7P %s:%#] %v";

// The only global of the project: every place must be able to log an error.
spdlog::logger& Logger() {
  static spdlog::logger logger = [] {
    spdlog::logger made("berth", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern(kKlogPattern);
    made.set_level(spdlog::level::trace);
    made.set_error_handler([](const std::string&) {});  // a full disk must not stop a scheduler
    return made;
  }();
  return logger;
}

std::string TextLine(std::string_view message, Fields fields) {
  std::string line;
  line.reserve(128);
  AppendQuoted(line, message);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    value.AppendTo(line);
  }
  return line;
}

// The file name with its folder: "scheduler/cycle/scheduler.cpp".
std::string_view Caller(std::string_view path) {
  const auto name = path.rfind('/');
  if (name == path.npos || name == 0) return path;
  const auto folder = path.rfind('/', name - 1);
  return folder == path.npos ? path : path.substr(folder + 1);
}

// `level` is negative for lines that are not of severity info.
std::string JsonLine(int level, std::string_view message, Fields fields, const Where& where) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string line;
  line.reserve(192);
  fmt::format_to(std::back_inserter(line),
                 "{{\"ts\":{:.4f},\"caller\":", std::chrono::duration<double, std::milli>(now).count());
  AppendJsonString(line, fmt::format("{}:{}", Caller(where.file_name()), where.line()));
  line += ",\"msg\":";
  AppendJsonString(line, message);
  if (level >= 0) fmt::format_to(std::back_inserter(line), ",\"v\":{}", level);
  for (const auto& [key, value] : fields) {
    line += ',';
    AppendJsonString(line, key);
    line += ':';
    value.AppendJsonTo(line);
  }
  line += '}';
  return line;
}

void Write(spdlog::level::level_enum severity, int level, std::string_view message, Fields fields,
           const Where& where) {
  try {
    const bool json = format.load(std::memory_order_relaxed) == Format::kJson;
    const std::string line = json ? JsonLine(level, message, fields, where) : TextLine(message, fields);
    const spdlog::source_loc location(where.file_name(), static_cast<int>(where.line()),
                                      where.function_name());
    Logger().log(location, severity, spdlog::string_view_t(line));
  } catch (...) {
    // Most likely out of memory: the line is lost, the caller continues.
  }
}

// klog's format for text of several lines: key=<, each line after a tab, and a closing " >".
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
    case Kind::kObject:
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

void Value::AppendJsonTo(std::string& line) const {
  if (kind_ == Kind::kObject) {
    const auto slash = text_.find('/');
    line += "{\"name\":";
    AppendJsonString(line, slash == text_.npos ? text_ : text_.substr(slash + 1));
    if (slash != text_.npos) {
      line += ",\"namespace\":";
      AppendJsonString(line, text_.substr(0, slash));
    }
    line += '}';
  } else if (kind_ == Kind::kText) {
    AppendJsonString(line, text_);
  } else {
    AppendTo(line);
  }
}

void Info(std::string_view message, Fields fields, const Where& where) {
  Write(spdlog::level::info, 0, message, fields, where);
}
void Warning(std::string_view message, Fields fields, const Where& where) {
  Write(spdlog::level::warn, 0, message, fields, where);
}
void Error(std::string_view message, Fields fields, const Where& where) {
  Write(spdlog::level::err, -1, message, fields, where);
}
void Level::Info(std::string_view message, Fields fields, const Where& where) const {
  Write(spdlog::level::info, level_, message, fields, where);
}

Level V(int level) { return {level, level <= verbosity.load(std::memory_order_relaxed)}; }
void SetVerbosity(int level) { verbosity.store(level, std::memory_order_relaxed); }
int Verbosity() { return verbosity.load(std::memory_order_relaxed); }

void SetFormat(Format wanted) {
  format.store(wanted, std::memory_order_relaxed);
  Logger().set_pattern(wanted == Format::kJson ? "%v" : kKlogPattern);
}

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
