#include "base/redact.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(RedactUrl, ReplacesThePasswordOnly) {
  const struct {
    const char *what, *url, *expected;
  } cases[] = {
      {"no user", "http://host:80/path?q#f", "http://host:80/path?q#f"},
      {"a user without password", "http://user@host/", "http://user@host/"},
      {"a password", "https://user:secret@host:8443/p", "https://user:xxxxx@host:8443/p"},
      {"an empty password", "http://user:@host", "http://user:xxxxx@host"},
      {"colons and at signs in the password", "http://u:a:b@c@host/", "http://u:xxxxx@host/"},
      {"no path", "http://u:p@[::1]:80", "http://u:xxxxx@[::1]:80"},
      {"an at sign in the path", "http://host:80/a:b@c", "http://host:80/a:b@c"},
      {"an at sign in the query", "http://host?a:b@c", "http://host?a:b@c"},
      {"no URL", "u:p@host", "u:p@host"},
      {"nothing", "", ""},
  };
  for (const auto& test : cases) EXPECT_EQ(RedactUrl(test.url), test.expected) << test.what;
}

}  // namespace
}  // namespace berth
