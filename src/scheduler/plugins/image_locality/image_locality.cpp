#include "scheduler/plugins/image_locality/image_locality.hpp"

#include "base/truncate.hpp"
#include "base/wrap.hpp"

namespace berth::plugins {
namespace {

constexpr std::int64_t kLeastBytes = 23LL << 20;               // smaller sums score 0
constexpr std::int64_t kMostBytesPerContainer = 1000LL << 20;  // larger sums score the maximum

// An image counts in proportion to the number of nodes that have it, so that pods are not concentrated on the
// only node that has pulled an image.
std::int64_t SpreadSize(const cluster::ImageState& image, std::size_t nodes) {
  const double spread = static_cast<double>(image.rows.Count()) / static_cast<double>(nodes);
  return Truncate(static_cast<double>(image.size_bytes) * spread);
}

std::int64_t ScoreOf(std::int64_t bytes, std::int64_t images) {
  const std::int64_t most = WrapMul(kMostBytesPerContainer, images);
  if (bytes < kLeastBytes) {
    bytes = kLeastBytes;
  } else if (bytes > most) {
    bytes = most;
  }
  return framework::kMaxScore * (bytes - kLeastBytes) / (most - kLeastBytes);
}

}  // namespace

framework::Status ImageLocality::Score(const framework::Attempt& attempt, const RowSet&,
                                       framework::ScoreColumn& scores) const {
  const cluster::NodeTable& nodes = attempt.nodes();
  std::vector<const cluster::ImageState*> images;
  for (const cluster::ImageId id : attempt.pod().images()) {
    if (const cluster::ImageState* image = nodes.Image(id)) images.push_back(image);
  }
  const auto size_of = [&](const cluster::ImageState& image) {
    return SpreadSize(image, nodes.node_count());
  };
  const std::int64_t users = attempt.pod().image_users();
  if (images.size() == 1) {
    scores.SetAll(ScoreOf(0, users));
    scores.Set(images.front()->rows, ScoreOf(size_of(*images.front()), users));
  } else if (!images.empty()) {
    const auto sums = scores.Mutable();
    for (const cluster::ImageState* image : images) {
      const std::int64_t bytes = size_of(*image);
      image->rows.ForEach([&](std::size_t row) { sums[row] = WrapAdd(sums[row], bytes); });
    }
    // Adjacent rows often have equal sums, so the last score is cached.
    std::int64_t bytes = 0;
    std::int64_t score = ScoreOf(bytes, users);
    for (std::int64_t& value : sums) {
      if (value != bytes) score = ScoreOf(bytes = value, users);
      value = score;
    }
  }
  return {};
}

}  // namespace berth::plugins
