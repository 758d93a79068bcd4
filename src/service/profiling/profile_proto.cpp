#include "service/profiling/profile_proto.hpp"

#include <fmt/format.h>

#include <map>

namespace berth::service {
namespace {

// Writes the parts of protocol buffers that a profile needs.
class Message {
 public:
  void Number(int field, std::uint64_t value) {
    Varint(static_cast<std::uint64_t>(field) << 3);
    Varint(value);
  }
  void Bytes(int field, std::string_view bytes) {
    Varint(static_cast<std::uint64_t>(field) << 3 | 2);
    Varint(bytes.size());
    text_ += bytes;
  }
  void Packed(int field, const std::vector<std::uint64_t>& values) {
    Message inner;
    for (const std::uint64_t value : values) inner.Varint(value);
    Bytes(field, inner.text_);
  }
  const std::string& text() const { return text_; }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

class Profile {
 public:
  Profile(const Symbols& symbols, const std::vector<Mapping>& mappings)
      : symbols_(symbols), mappings_(mappings) {
    Text("");  // string 0 must be empty
  }

  std::string Write(std::span<const std::vector<std::uint64_t>> stacks, std::chrono::nanoseconds period,
                    WallTime began, Duration took) {
    const auto nanoseconds = static_cast<std::uint64_t>(period.count());
    out_.Bytes(1, ValueType("samples", "count"));
    out_.Bytes(1, ValueType("cpu", "nanoseconds"));
    std::map<std::vector<std::uint64_t>, std::uint64_t> counts;
    for (const auto& stack : stacks) ++counts[stack];
    for (const auto& [stack, count] : counts) Sample(stack, count, count * nanoseconds);
    for (std::size_t i = 0; i < mappings_.size(); ++i) AddMapping(i);
    for (const auto& [address, id] : locations_) AddLocation(address, id);
    for (const auto& [name, id] : functions_) AddFunction(name, id);
    const std::string period_type = ValueType("cpu", "nanoseconds");
    for (const std::string& text : table_) out_.Bytes(6, text);
    out_.Number(9, static_cast<std::uint64_t>(began.time_since_epoch().count()));
    out_.Number(10, static_cast<std::uint64_t>(took.count()));
    out_.Bytes(11, period_type);
    out_.Number(12, nanoseconds);
    return out_.text();
  }

 private:
  std::uint64_t Text(const std::string& text) {
    const auto [entry, added] = texts_.try_emplace(text, table_.size());
    if (added) table_.push_back(text);
    return entry->second;
  }
  std::string ValueType(const std::string& type, const std::string& unit) {
    Message message;
    message.Number(1, Text(type));
    message.Number(2, Text(unit));
    return message.text();
  }
  void Sample(const std::vector<std::uint64_t>& stack, std::uint64_t count, std::uint64_t time) {
    std::vector<std::uint64_t> ids;
    for (const std::uint64_t address : stack) {
      ids.push_back(locations_.try_emplace(address, locations_.size() + 1).first->second);
    }
    Message message;
    message.Packed(1, ids);
    message.Packed(2, {count, time});
    out_.Bytes(2, message.text());
  }
  void AddMapping(std::size_t i) {
    const Mapping& mapping = mappings_[i];
    Message message;
    message.Number(1, i + 1);
    message.Number(2, mapping.begin);
    message.Number(3, mapping.end);
    message.Number(4, mapping.offset);
    message.Number(5, Text(mapping.file));
    message.Number(7, 1);  // has functions
    out_.Bytes(3, message.text());
  }
  void AddLocation(std::uint64_t address, std::uint64_t id) {
    Message message;
    message.Number(1, id);
    for (std::size_t i = 0; i < mappings_.size(); ++i) {
      if (address >= mappings_[i].begin && address < mappings_[i].end) message.Number(2, i + 1);
    }
    message.Number(3, address);
    std::string name = symbols_.NameOf(address);
    if (name.empty()) name = fmt::format("{:#x}", address);
    Message line;
    line.Number(1, functions_.try_emplace(name, functions_.size() + 1).first->second);
    message.Bytes(4, line.text());
    out_.Bytes(4, message.text());
  }
  void AddFunction(const std::string& name, std::uint64_t id) {
    Message message;
    message.Number(1, id);
    message.Number(2, Text(name));
    message.Number(3, Text(name));
    out_.Bytes(5, message.text());
  }

  const Symbols& symbols_;
  const std::vector<Mapping>& mappings_;
  Message out_;
  std::map<std::string, std::uint64_t> texts_;
  std::vector<std::string> table_;
  std::map<std::uint64_t, std::uint64_t> locations_;  // ids by address
  std::map<std::string, std::uint64_t> functions_;    // ids by name
};

}  // namespace

std::string WriteProfile(std::span<const std::vector<std::uint64_t>> stacks, std::chrono::nanoseconds period,
                         WallTime began, Duration took, const Symbols& symbols,
                         const std::vector<Mapping>& mappings) {
  return Profile(symbols, mappings).Write(stacks, period, began, took);
}

}  // namespace berth::service
