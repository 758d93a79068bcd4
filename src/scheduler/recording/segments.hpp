// The files of a recording: lines of text in numbered segments, compressed and with checksums.
//
// A directory holds one recording: "000001.jsonl.zst", "000002.jsonl.zst", ... Each file is a sequence of
// zstd frames with the size of their content and a checksum, so that `zstdcat DIR/*.zst` prints the lines.
// Each frame holds whole lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::recording {

// Content of one frame, in bytes. A reader takes a longer one for damage.
inline constexpr std::size_t kMaxFrame = 64u << 20;
// A file, in compressed bytes.
inline constexpr std::uint64_t kMaxFile = 1u << 30;

// Makes room for another recording in the directory: moves one that is there to its subdirectory `previous`,
// whose content is removed; one without data is removed. Errors name the path.
Expected<void> SetAside(const std::filesystem::path& directory);

// Writes a recording. The owner decides where files end and how many are kept. Not thread-safe. A file has
// mode 0600. Data is not synchronized to the disk: after a loss of power the last frames may be missing.
class SegmentWriter {
 public:
  // Creates the directory, or uses one without segments. Errors name the path.
  static Expected<std::unique_ptr<SegmentWriter>> Create(std::filesystem::path directory);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // Appends lines, each with a newline at its end, as one frame of at most kMaxFrame bytes. After an error
  // the frame is not part of the recording, and the next call begins another file.
  Expected<void> Append(std::string_view lines);

  // The next frame begins a file.
  void EndFile() { CloseFile(); }
  // Removes the oldest files, but not the last one, until the others take at most so many bytes.
  void RemoveOldest(std::uint64_t total);

  std::uint64_t bytes() const;  // compressed, of all files that exist
  std::uint64_t last_file_bytes() const { return file_ < 0 ? 0 : segments_.back().bytes; }
  std::uint64_t removed() const { return removed_; }  // files

 private:
  struct Compressor;
  struct Segment {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
  };
  explicit SegmentWriter(std::filesystem::path directory);
  Expected<void> OpenNext();
  void CloseFile();

  const std::filesystem::path directory_;
  const std::unique_ptr<Compressor> compressor_;
  std::string frame_;
  std::deque<Segment> segments_;  // the last one is open if file_ is
  int file_ = -1;                 // -1: the next frame begins a file
  std::uint64_t number_ = 0;      // of the last file
  std::uint64_t removed_ = 0;
};

// Reads a recording. Not thread-safe; holds one file and one frame in memory.
class SegmentReader {
 public:
  // A part that cannot be read: it and the rest of its file are left out.
  struct Damage {
    std::string file;
    std::uint64_t offset = 0;  // of the frame in the file
    std::string reason;
  };

  // Fails if the directory cannot be read or has no segments.
  static Expected<SegmentReader> Open(const std::filesystem::path& directory);

  // The next line without its newline, valid until the next call. nullopt: there is no more, see damage().
  std::optional<std::string_view> Next();
  const std::optional<Damage>& damage() const { return damage_; }
  // Continues, also after damage, with the first line of the next file. Returns false if there is none.
  bool SkipToNextFile();
  // Whether the last line was the first one of its file.
  bool at_file_start() const { return at_file_start_; }
  // Whether the recording begins with its first file; otherwise that was removed.
  bool from_start() const { return from_start_; }

 private:
  explicit SegmentReader(std::vector<std::filesystem::path> files);
  bool NextFrame();
  bool NextFile();
  bool Damaged(std::string reason);

  std::vector<std::filesystem::path> files_;
  std::size_t next_file_ = 0;
  std::string packed_;    // the file
  std::size_t at_ = 0;    // of the next frame in packed_
  std::string frame_;     // lines
  std::size_t line_ = 0;  // the next one in frame_
  bool from_start_ = true;
  bool at_file_start_ = false;
  bool skips_gap_ = false;    // files may be missing before the next one
  bool file_begins_ = false;  // the next line is the first one of its file
  std::optional<Damage> damage_;
};

}  // namespace berth::recording
