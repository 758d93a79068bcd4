#include "observability/log/log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/append_format.hpp"
#include "base/go_quote.hpp"
#include "base/json_text.hpp"

namespace berth::log {
namespace {

// The only globals of the project: every place must be able to log an error.
std::atomic<int> verbosity{0};
std::atomic<Format> format{Format::kText};

enum class Severity : char { kInfo = 'I', kWarning = 'W', kError = 'E' };

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string TextLine(Severity severity, std::string_view message, Fields fields, const Where& where) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(now).count();
  const auto micros = std::chrono::floor<std::chrono::microseconds>(now).count() % 1'000'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::string line;
  line.reserve(192);
  AppendFormat(line, "{}{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} {}:{}] ", static_cast<char>(severity),
               local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, micros, ::getpid(),
               FileName(where.file_name()), where.line());
  AppendGoQuoted(line, message);
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
  AppendFormat(line, "{{\"ts\":{:.4f},\"caller\":", std::chrono::duration<double, std::milli>(now).count());
  AppendJsonString(line, fmt::format("{}:{}", Caller(where.file_name()), where.line()));
  line += ",\"msg\":";
  AppendJsonString(line, message);
  if (level >= 0) AppendFormat(line, ",\"v\":{}", level);
  for (const auto& [key, value] : fields) {
    line += ',';
    AppendJsonString(line, key);
    line += ':';
    value.AppendJsonTo(line);
  }
  line += '}';
  return line;
}

// One call for a whole line, so that lines of several threads and processes are not mixed. Without a lock: a
// child process may be forked while another thread logs.
void WriteToStderr(std::string_view line) {
  while (!line.empty()) {
    const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // a full disk or a closed pipe must not stop a scheduler
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Write(Severity severity, int level, std::string_view message, Fields fields, const Where& where) {
  try {
    const bool json = format.load(std::memory_order_relaxed) == Format::kJson;
    std::string line =
        json ? JsonLine(level, message, fields, where) : TextLine(severity, message, fields, where);
    line += '\n';
    WriteToStderr(line);
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

void Value::AppendTo(std::string& line) const {
  switch (kind_) {
    case Kind::kText:
    case Kind::kObject:
      text_.find('\n') == text_.npos ? AppendGoQuoted(line, text_) : AppendLines(line, text_);
      break;
    case Kind::kInteger:
      AppendFormat(line, "{}", integer_);
      break;
    case Kind::kUnsigned:
      AppendFormat(line, "{}", static_cast<std::uint64_t>(integer_));
      break;
    case Kind::kReal:
      AppendFormat(line, "{}", real_);
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
  if (verbosity.load(std::memory_order_relaxed) >= 0) Write(Severity::kInfo, 0, message, fields, where);
}
void Warning(std::string_view message, Fields fields, const Where& where) {
  Write(Severity::kWarning, 0, message, fields, where);
}
void Error(std::string_view message, Fields fields, const Where& where) {
  Write(Severity::kError, -1, message, fields, where);
}
void Level::Info(std::string_view message, Fields fields, const Where& where) const {
  Write(Severity::kInfo, level_, message, fields, where);
}

Level V(int level) { return {level, level <= verbosity.load(std::memory_order_relaxed)}; }
void SetVerbosity(int level) { verbosity.store(level, std::memory_order_relaxed); }
int Verbosity() { return verbosity.load(std::memory_order_relaxed); }

void SetFormat(Format wanted) { format.store(wanted, std::memory_order_relaxed); }

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
