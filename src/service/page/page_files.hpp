// The files of the page. Made by ui/build.mjs.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace berth::service {

struct PageFile {
  std::string_view path;  // below kPageRoot; "": the page itself
  std::string_view content_type;
  std::string_view etag;  // with its quotes; changes with the content
  std::span<const unsigned char> gzip;
  std::size_t size = 0;  // of the content, uncompressed
};

// Empty if the program was built without the page (BERTH_UI=OFF).
std::span<const PageFile> PageFiles();

}  // namespace berth::service
