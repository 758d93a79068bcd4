#include "base/yaml_documents.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "base/utf8.hpp"

namespace berth::yaml {
namespace {

// Characters that libyaml refuses.
Expected<void> CheckCharacters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool plain = byte >= 0x20 && byte < 0x7f;
    if (plain || byte == '\t' || byte == '\n' || byte == '\r') continue;
    const std::size_t size = byte < 0x80 ? 0 : Utf8CharacterSize(text.substr(i));
    if (byte >= 0x80 && size == 0) return Invalid("yaml: invalid UTF-8");
    const std::string_view character = text.substr(i, size);
    const bool control = size == 0 ||
                         (character >= "\u0080" && character < "\u00a0" && character != "\u0085") ||
                         character == "\ufffe" || character == "\uffff";
    if (control) return Invalid("yaml: control characters are not allowed");
    i += size - 1;
  }
  return {};
}

// Whether a marker ("---" or "...") follows the beginning of the first document.
bool HasSeveralDocuments(std::string_view text) {
  bool begun = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool marker = line.starts_with("---") || line.starts_with("...");
    if (marker && begun) return true;
    begun |= marker || !(line.empty() || line.starts_with('#') || line.starts_with('%'));
  }
  return false;
}

// Only "\n" and "\r\n" are line breaks for yaml-cpp.
std::string WithLineFeeds(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; (i = out.find('\r', i)) != out.npos; ++i) {
    if (out.compare(i, 2, "\r\n") != 0) out[i] = '\n';
  }
  return out;
}

// Where a document begins, and whether its root is a scalar.
class DocumentStart final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    start_ = mark;
    depth_ = 0;
    is_scalar_ = false;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {
    is_scalar_ |= depth_ == 0;
  }
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    ++depth_;
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    ++depth_;
  }
  void OnMapEnd() override { --depth_; }

  const YAML::Mark& start() const { return start_; }
  bool is_scalar() const { return is_scalar_; }

 private:
  YAML::Mark start_;
  int depth_ = 0;
  bool is_scalar_ = false;
};

// Walks over the documents of a text. yaml-cpp throws where it finds an error.
class DocumentWalk {
 public:
  explicit DocumentWalk(const std::string& text) : stream_(text), parser_(stream_) {}

  // Goes to the next document; false at the end. yaml-cpp returns empty documents for ever where it finds a
  // token that begins no value (","); that is an error here.
  Expected<bool> Next() {
    const int previous = document_.start().pos;
    if (!parser_.HandleNextDocument(document_)) return false;
    if (++count_ > 1 && document_.start().pos == previous)
      return Invalid(
          fmt::format("yaml: line {}: did not find expected node content", document_.start().line + 1));
    return true;
  }
  const DocumentStart& document() const { return document_; }

 private:
  std::istringstream stream_;
  YAML::Parser parser_;
  DocumentStart document_;
  std::size_t count_ = 0;
};

// Finds what yaml-cpp's Load does not see: it reads the first document only.
Expected<void> CheckWhatFollows(const std::string& text, const YAML::Node& first) {
  DocumentWalk walk(text);
  for (int i = 0; i < 2; ++i) {
    BERTH_TRY(const bool found, walk.Next());
    if (!found) return {};
  }
  // yaml-cpp takes text that does not belong to the first document for a second one. Go's parser ignores it,
  // too, unless it continues a block with something that is neither an item nor a key.
  const DocumentStart& second = walk.document();
  if (second.is_scalar() && first.Style() != YAML::EmitterStyle::Flow)
    return Invalid(fmt::format("yaml: line {}: could not find expected ':'", second.start().line + 1));
  return {};
}

}  // namespace

Expected<YAML::Node> LoadFirstDocument(std::string_view text) {
  BERTH_RETURN_IF_ERROR(CheckCharacters(text));
  const std::string terminated = WithLineFeeds(text);
  if (HasSeveralDocuments(terminated)) return YAML::Load(terminated);
  // yaml-cpp accepts a quote that is still open at the end of the text, but not at a marker.
  const bool complete = terminated.ends_with('\n');
  const std::string with_marker = terminated + (complete ? "...\n" : "\n...\n");
  YAML::Node first = YAML::Load(complete ? with_marker : terminated);
  BERTH_RETURN_IF_ERROR(CheckWhatFollows(with_marker, first));
  return first;
}

Expected<std::vector<YAML::Node>> LoadDocuments(const std::string& text) {
  for (DocumentWalk walk(text);;) {
    BERTH_TRY(const bool found, walk.Next());
    if (!found) return YAML::LoadAll(text);
  }
}

}  // namespace berth::yaml
