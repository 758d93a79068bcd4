#include "client/informers.hpp"

#include "base/random.hpp"
#include "client/reflector.hpp"
#include "http/loop.hpp"
#include "log/log.hpp"

namespace berth::client {

struct ClusterSource::Impl {
  Impl(http::Loop& loop, Api& api, metrics::Registry& registry, framework::ClusterSink& sink,
       ClusterSourceOptions options)
      : loop(loop),
        sink(sink),
        random(options.seed),
        pods(loop, api, decoder, registry, random,
             {.resource = "pods",
              .path = "/api/v1/pods",
              .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
              .streaming = options.streaming},
             {.on_change = [&sink](framework::Change<api::Pod> c) { sink.On(std::move(c)); },
              .on_synced = [this] { OnSynced(); }}),
        nodes(loop, api, decoder, registry, random,
              {.resource = "nodes", .path = "/api/v1/nodes", .streaming = options.streaming},
              {.on_change = [&sink](framework::Change<api::Node> c) { sink.On(std::move(c)); },
               .on_synced = [this] { OnSynced(); }}) {}

  void OnSynced() {
    if (--unsynced > 0) return;
    log::Info("Caches are synced", {{"pods", pods.size()}, {"nodes", nodes.size()}});
    sink.OnSynced();
  }

  http::Loop& loop;
  framework::ClusterSink& sink;
  Random random;
  api::Decoder decoder;
  int unsynced = 2;
  Reflector<api::Pod> pods;
  Reflector<api::Node> nodes;
};

ClusterSource::ClusterSource(http::Loop& loop, Api& api, metrics::Registry& registry,
                             framework::ClusterSink& sink, ClusterSourceOptions options)
    : impl_(std::make_unique<Impl>(loop, api, registry, sink, options)) {}

ClusterSource::~ClusterSource() {
  http::Loop& loop = impl_->loop;
  loop.Sync([this] { impl_.reset(); });
}

void ClusterSource::Start() {
  impl_->loop.Post([impl = impl_.get()] {
    impl->nodes.Start();
    impl->pods.Start();
  });
}

}  // namespace berth::client
