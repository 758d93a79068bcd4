// Server settings of the TLS handshake.
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>

#include "http/server_names.hpp"
#include "http/tls.hpp"

namespace berth::http {

namespace ssl = boost::asio::ssl;

namespace {

int ChooseHttp11(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                 unsigned size, void*) {
  static constexpr unsigned char kAlpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kAlpn, sizeof kAlpn, offered, size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// A client with an untrusted certificate gets an HTTP response instead of a failed handshake.
int AcceptAnyPeer(int, X509_STORE_CTX*) { return 1; }
int VerifyLater(X509_STORE_CTX* context, void*) {
  X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);
  return 1;
}

Expected<> Use(ssl::context& context, const std::string& certificate, const std::string& key) {
  boost::system::error_code ec;
  const auto failed = [&](std::string_view what) { return Invalid(std::string(what) + ": " + ec.message()); };
  if (context.use_certificate_chain(boost::asio::buffer(certificate), ec))
    return failed("server certificate");
  if (context.use_private_key(boost::asio::buffer(key), ssl::context::pem, ec)) return failed("server key");
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return Invalid("server key: does not belong to the server certificate");
  }
  return {};
}

Expected<> SetLimits(SSL_CTX* native, const ServerTlsOptions& options) {
  const int min_version = options.min_version == 0 ? TLS1_2_VERSION : options.min_version;
  // OpenSSL supports versions before TLS 1.2 only with security level 0, which allows their signatures.
  if (min_version < TLS1_2_VERSION) SSL_CTX_set_security_level(native, 0);
  SSL_CTX_set_min_proto_version(native, min_version);
  if (options.set_ciphers && options.ciphers.empty()) {
    SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION);
  } else if (options.set_ciphers && SSL_CTX_set_cipher_list(native, options.ciphers.c_str()) != 1) {
    return Invalid("cipher suites: OpenSSL supports none of " + options.ciphers);
  }
  if (!options.groups.empty() && SSL_CTX_set1_groups_list(native, options.groups.c_str()) != 1) {
    return Invalid("curves: OpenSSL does not support all of " + options.groups);
  }
  return {};
}

Expected<> RequestClientCertificate(ssl::context& context, const ServerTlsOptions& options) {
  SSL_CTX* native = context.native_handle();
  boost::system::error_code ec;
  if (!options.client_ca_pem.empty() &&
      context.add_certificate_authority(boost::asio::buffer(options.client_ca_pem), ec)) {
    return Invalid("client certificate authority: " + ec.message());
  }
  if (!options.trust_later) {
    if (!options.client_ca_pem.empty()) SSL_CTX_set_verify(native, SSL_VERIFY_PEER, &AcceptAnyPeer);
    return {};
  }
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(native, &VerifyLater, nullptr);
  STACK_OF(X509_NAME)* names = sk_X509_NAME_new_null();
  STACK_OF(X509_OBJECT)* known = X509_STORE_get0_objects(SSL_CTX_get_cert_store(native));
  for (int i = 0; i < sk_X509_OBJECT_num(known); ++i) {
    if (const X509* authority = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(known, i))) {
      sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(authority)));
    }
  }
  SSL_CTX_set_client_CA_list(native, names);
  return {};
}

Expected<ServerNames> MakeNames(const ServerTlsOptions& options) {
  ServerNames table;
  ServerNames claimed;  // names in the certificates; explicitly configured names take precedence
  for (const NamedCertificate& named : options.named) {
    ssl::context context(ssl::context::tls_server);
    BERTH_RETURN_IF_ERROR(Use(context, named.certificate_pem, named.key_pem));
    // OpenSSL takes these from the context of the chosen name, too.
    BERTH_RETURN_IF_ERROR(SetLimits(context.native_handle(), options));
    BERTH_RETURN_IF_ERROR(RequestClientCertificate(context, options));
    SSL_CTX_up_ref(context.native_handle());
    const ServerNames::Context shared(context.native_handle(), &SSL_CTX_free);
    table.all.push_back(shared);
    for (const std::string& name : named.names) table.by_name.emplace(name, shared);
    if (!named.names.empty()) continue;
    for (std::string& name : NamesOf(SSL_CTX_get0_certificate(shared.get()))) {
      claimed.by_name.emplace(std::move(name), shared);
    }
  }
  table.by_name.merge(claimed.by_name);
  return table;
}

}  // namespace

Expected<std::shared_ptr<ssl::context>> MakeServerTlsContext(const ServerTlsOptions& options) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  BERTH_RETURN_IF_ERROR(SetLimits(native, options));
  SSL_CTX_set_alpn_select_cb(native, &ChooseHttp11, nullptr);
  // Resumed sessions would not contain the client's identity.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  const bool own = !options.certificate_pem.empty() || options.named.empty();
  BERTH_RETURN_IF_ERROR(Use(*context, own ? options.certificate_pem : options.named.front().certificate_pem,
                            own ? options.key_pem : options.named.front().key_pem));
  BERTH_TRY(ServerNames names, MakeNames(options));
  ChooseByName(native, std::move(names));
  BERTH_RETURN_IF_ERROR(RequestClientCertificate(*context, options));
  return context;
}

}  // namespace berth::http
