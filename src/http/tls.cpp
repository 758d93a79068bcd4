#include "http/tls.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>

namespace berth::http {

namespace ssl = boost::asio::ssl;

Expected<std::shared_ptr<ssl::context>> MakeTlsContext(const TlsOptions& options) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  boost::system::error_code ec;
  const auto failed = [&](std::string_view what) { return Invalid(std::string(what) + ": " + ec.message()); };
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // Only HTTP/1.1 is supported; without this a server that offers h2 may choose it.
  static constexpr unsigned char kAlpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(context->native_handle(), kAlpn, sizeof kAlpn);
  context->set_verify_mode(options.insecure ? ssl::verify_none : ssl::verify_peer);
  // As in Go, a trusted certificate need not be a root: it may be an intermediate authority or the server's
  // own.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context->native_handle()), X509_V_FLAG_PARTIAL_CHAIN);

  if (options.ca_pem.empty()) {
    if (context->set_default_verify_paths(ec)) return failed("the system's certificate authorities");
  } else if (context->add_certificate_authority(boost::asio::buffer(options.ca_pem), ec)) {
    return failed("certificate authority");
  }
  if (options.certificate_pem.empty() != options.key_pem.empty()) {
    return Invalid("a client certificate and its key must be given together");
  }
  if (!options.certificate_pem.empty()) {
    if (context->use_certificate_chain(boost::asio::buffer(options.certificate_pem), ec)) {
      return failed("client certificate");
    }
    if (context->use_private_key(boost::asio::buffer(options.key_pem), ssl::context::pem, ec)) {
      return failed("client key");
    }
    if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
      return Invalid("client key: does not belong to the client certificate");
    }
  }
  return context;
}

}  // namespace berth::http
