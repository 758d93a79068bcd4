// Reads recordings.
#pragma once

#include <zstd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace berth::testing {

// The content of a file, which is compressed with zstd if its name ends with ".zst". Throws
// std::runtime_error if it is missing or damaged.
inline std::string ReadRecording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::string packed{std::istreambuf_iterator<char>(file), {}};
  if (!path.ends_with(".zst")) return packed;
  std::string text;
  std::string buffer(ZSTD_DStreamOutSize(), '\0');
  ZSTD_DStream* stream = ZSTD_createDStream();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t left = 1;
  while (in.pos < in.size) {
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    left = ZSTD_decompressStream(stream, &out, &in);
    if (ZSTD_isError(left)) throw std::runtime_error(path + ": " + ZSTD_getErrorName(left));
    text.append(buffer, 0, out.pos);
  }
  ZSTD_freeDStream(stream);
  if (left != 0) throw std::runtime_error(path + ": cut off");
  return text;
}

}  // namespace berth::testing
