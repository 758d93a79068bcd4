#include "http/server_names.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "http/origin.hpp"

namespace berth::http {
namespace {

int TableIndex() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* table, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<ServerNames*>(table); });
  return index;
}

int AddressIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

bool IsFor(SSL_CTX* context, const std::string& name) {
  X509* certificate = SSL_CTX_get0_certificate(context);
  return certificate != nullptr && X509_check_host(certificate, name.data(), name.size(),
                                                   X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1;
}

// Returns null for the standard certificate.
SSL_CTX* Choose(const ServerNames& names, SSL_CTX* standard, const std::string& name) {
  if (const auto exact = names.by_name.find(name); exact != names.by_name.end()) return exact->second.get();
  if (const auto dot = name.find('.'); dot != name.npos) {
    const auto wildcard = names.by_name.find("*" + name.substr(dot));
    if (wildcard != names.by_name.end()) return wildcard->second.get();
  }
  if (IsFor(standard, name)) return nullptr;
  const auto claims = std::ranges::find_if(names.all, [&](const auto& c) { return IsFor(c.get(), name); });
  return claims == names.all.end() ? nullptr : claims->get();
}

int OnServerName(SSL* connection, int*, void*) {
  SSL_CTX* const standard = SSL_get_SSL_CTX(connection);
  const auto* names = static_cast<const ServerNames*>(SSL_CTX_get_ex_data(standard, TableIndex()));
  if (names == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_CTX* chosen = nullptr;
  if (const char* asked = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name)) {
    std::string name = ToAsciiLower(asked);
    if (name.ends_with('.')) name.pop_back();
    chosen = Choose(*names, standard, name);
  } else if (const auto* own = static_cast<const std::string*>(SSL_get_ex_data(connection, AddressIndex()))) {
    const auto found = names->by_name.find(*own);
    if (found != names->by_name.end()) chosen = found->second.get();
  }
  if (chosen != nullptr) SSL_set_SSL_CTX(connection, chosen);
  return SSL_TLSEXT_ERR_OK;
}

bool IsHostNameLike(std::string_view text) {
  if (IsIpAddress(text)) return false;
  if (text == "*") return true;
  if (text.starts_with("*.")) text.remove_prefix(2);
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  char last = '.';
  for (const char c : text) {
    if (!alphanumeric(c) && c != '-' && c != '.') return false;
    if (!alphanumeric(c) && !alphanumeric(last) && !(c == '-' && last == '-')) return false;
    last = c;
  }
  return !text.empty() && text.size() <= 253 && alphanumeric(last);
}

}  // namespace

void ChooseByName(SSL_CTX* standard, ServerNames names) {
  if (names.all.empty()) return;
  SSL_CTX_set_ex_data(standard, TableIndex(), new ServerNames(std::move(names)));
  SSL_CTX_set_tlsext_servername_callback(standard, &OnServerName);
}

void SetLocalAddress(SSL* connection, const std::string& address) {
  SSL_set_ex_data(connection, AddressIndex(), const_cast<std::string*>(&address));
}

std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> names;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  std::string common_name;
  for (int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) {
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size >= 0) common_name.assign(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
  }
  if (IsHostNameLike(common_name)) names.push_back(ToAsciiLower(common_name));
  auto* alternatives =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives, i);
    if (name->type != GEN_DNS) continue;
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    names.push_back(ToAsciiLower({text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName))}));
  }
  GENERAL_NAMES_free(alternatives);
  return names;
}

}  // namespace berth::http
