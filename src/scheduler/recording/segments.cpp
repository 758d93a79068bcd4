#include "scheduler/recording/segments.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/check.hpp"

namespace berth::recording {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".jsonl.zst";

fs::path NameOf(std::uint64_t number) { return fmt::format("{:06}{}", number, kSuffix); }

// The number of a segment; nullopt: another file.
std::optional<std::uint64_t> NumberOf(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.ends_with(kSuffix)) return std::nullopt;
  const char* const end = name.data() + name.size() - kSuffix.size();
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end || name.size() < 6 + kSuffix.size()) return std::nullopt;
  return number;
}

// Segments of a directory in their order.
Expected<std::vector<fs::path>> SegmentsIn(const fs::path& directory) {
  std::error_code failed;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end; at.increment(failed)) {
    if (NumberOf(at->path())) found.push_back(at->path());
  }
  if (failed) return Invalid(fmt::format("{}: {}", directory.string(), failed.message()));
  std::ranges::sort(found, {}, [](const fs::path& path) { return *NumberOf(path); });
  return found;
}

Error SystemError(const fs::path& path) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", path.string(), std::strerror(errno))};
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Expected<void> SetAside(const fs::path& directory) {
  std::error_code failed;
  if (!fs::exists(directory, failed)) return {};
  BERTH_TRY(const std::vector<fs::path> segments, SegmentsIn(directory));
  if (segments.empty()) return {};
  const fs::path previous = directory / "previous";
  const bool has_data = std::ranges::any_of(
      segments, [&](const fs::path& segment) { return fs::file_size(segment, failed) > 0; });
  if (has_data) {
    fs::remove_all(previous, failed);
    if (!failed) fs::create_directory(previous, failed);
  }
  for (const fs::path& segment : segments) {
    if (failed) break;
    if (has_data) {
      fs::rename(segment, previous / segment.filename(), failed);
    } else {
      fs::remove(segment, failed);
    }
  }
  if (failed) return Invalid(fmt::format("{}: {}", directory.string(), failed.message()));
  return {};
}

// --- writing ---

struct SegmentWriter::Compressor {
  Compressor() { ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1); }

  void Compress(std::string_view text, std::string& out) const {
    out.resize(ZSTD_compressBound(text.size()));
    const std::size_t size = ZSTD_compress2(context.get(), out.data(), out.size(), text.data(), text.size());
    BERTH_CHECK(!ZSTD_isError(size), ZSTD_getErrorName(size));
    out.resize(size);
  }

  struct Free {
    void operator()(ZSTD_CCtx* one) const { ZSTD_freeCCtx(one); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context{ZSTD_createCCtx()};
};

Expected<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(fs::path directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return Invalid(fmt::format("{}: {}", directory.string(), failed.message()));
  BERTH_TRY(const std::vector<fs::path> existing, SegmentsIn(directory));
  if (!existing.empty())
    return Fail(ErrorCode::kAlreadyExists,
                fmt::format("{}: contains a recording: {}", directory.string(), existing.front().string()));
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter(std::move(directory)));
  BERTH_RETURN_IF_ERROR(writer->OpenNext());
  return writer;
}

SegmentWriter::SegmentWriter(fs::path directory)
    : directory_(std::move(directory)), compressor_(std::make_unique<Compressor>()) {}

SegmentWriter::~SegmentWriter() { CloseFile(); }

Expected<void> SegmentWriter::Append(std::string_view lines) {
  BERTH_CHECK(lines.size() <= kMaxFrame && lines.ends_with('\n'), lines.size());
  if (file_ < 0) BERTH_RETURN_IF_ERROR(OpenNext());
  compressor_->Compress(lines, frame_);
  Segment& segment = segments_.back();
  if (!WriteAll(file_, frame_)) {
    const Error error = SystemError(segment.path);
    // A part of the frame would be damage to a reader, which ends there.
    if (::ftruncate(file_, static_cast<off_t>(segment.bytes)) != 0) segment.bytes += frame_.size();
    CloseFile();
    return std::unexpected(error);
  }
  segment.bytes += frame_.size();
  return {};
}

Expected<void> SegmentWriter::OpenNext() {
  const fs::path path = directory_ / NameOf(number_ + 1);
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) return std::unexpected(SystemError(path));
  ++number_;
  segments_.push_back({path, 0});
  return {};
}

void SegmentWriter::CloseFile() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

// The file that is open stays.
void SegmentWriter::RemoveOldest(std::uint64_t total) {
  while (segments_.size() > 1 && bytes() > total) {
    std::error_code ignored;  // it was removed already
    fs::remove(segments_.front().path, ignored);
    segments_.pop_front();
    ++removed_;
  }
}

std::uint64_t SegmentWriter::bytes() const {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.bytes;
  return sum;
}

// --- reading ---

Expected<SegmentReader> SegmentReader::Open(const fs::path& directory) {
  BERTH_TRY(std::vector<fs::path> files, SegmentsIn(directory));
  if (files.empty())
    return Fail(ErrorCode::kNotFound, fmt::format("{}: no recording: expected files such as {}",
                                                  directory.string(), NameOf(1).string()));
  return SegmentReader(std::move(files));
}

SegmentReader::SegmentReader(std::vector<fs::path> files)
    : files_(std::move(files)), from_start_(NumberOf(files_.front()) == 1) {}

std::optional<std::string_view> SegmentReader::Next() {
  if (line_ == frame_.size() && !NextFrame()) return std::nullopt;
  const std::size_t end = frame_.find('\n', line_);
  const std::string_view line = std::string_view(frame_).substr(line_, end - line_);
  line_ = end + 1;
  at_file_start_ = std::exchange(file_begins_, false);
  return line;
}

bool SegmentReader::NextFrame() {
  frame_.clear();
  line_ = 0;
  if (damage_) return false;
  while (at_ == packed_.size()) {
    if (!NextFile()) return false;
  }
  const std::string_view rest = std::string_view(packed_).substr(at_);
  const std::size_t size = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
  if (ZSTD_isError(size)) return Damaged(ZSTD_getErrorName(size));
  const unsigned long long content = ZSTD_getFrameContentSize(rest.data(), size);
  if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR || content == 0)
    return Damaged("a frame without the size of its content");
  if (content > kMaxFrame) return Damaged(fmt::format("a frame of {} bytes: at most {}", content, kMaxFrame));
  frame_.resize(content);
  const std::size_t unpacked = ZSTD_decompress(frame_.data(), frame_.size(), rest.data(), size);
  if (ZSTD_isError(unpacked)) return Damaged(ZSTD_getErrorName(unpacked));
  if (frame_.back() != '\n') return Damaged("a line without an end");
  at_ += size;
  return true;
}

bool SegmentReader::SkipToNextFile() {
  frame_.clear();
  line_ = 0;
  damage_.reset();
  packed_.clear();
  at_ = 0;
  skips_gap_ = true;
  return next_file_ < files_.size();
}

bool SegmentReader::NextFile() {
  if (next_file_ == files_.size()) return false;
  const fs::path& path = files_[next_file_];
  packed_.clear();
  at_ = 0;
  const bool skips_gap = std::exchange(skips_gap_, false);
  if (!skips_gap && next_file_ > 0 && *NumberOf(path) != *NumberOf(files_[next_file_ - 1]) + 1)
    return Damaged(fmt::format("{} is missing", NameOf(*NumberOf(path) - 1).string()));
  ++next_file_;
  std::error_code failed;
  const std::uint64_t size = fs::file_size(path, failed);
  if (failed) return Damaged(failed.message());
  if (size > kMaxFile) return Damaged(fmt::format("a file of {} bytes: at most {}", size, kMaxFile));
  std::ifstream file(path, std::ios::binary);
  packed_.assign(std::istreambuf_iterator<char>(file), {});
  if (!file) return Damaged("cannot be read");
  file_begins_ = true;
  return true;
}

bool SegmentReader::Damaged(std::string reason) {
  const std::size_t file = next_file_ == 0 ? 0 : next_file_ - 1;
  damage_ = Damage{files_[file].string(), at_, std::move(reason)};
  frame_.clear();
  line_ = 0;
  return false;
}

}  // namespace berth::recording
