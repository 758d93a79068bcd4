#include "service/page/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/gzip.hpp"
#include "observability/metrics/registry.hpp"
#include "service/endpoints.hpp"
#include "service/page/page_files.hpp"

namespace berth::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

http::Response Get(const std::string& target, http::Headers headers = {}, std::string method = "GET") {
  return PageAnswer({std::move(method), target, std::move(headers), ""}, *ParseTarget(target));
}

TEST(Page, ServesEachOfItsFilesWithItsType) {
  if (!HasPage()) GTEST_SKIP() << "built with BERTH_UI=OFF";
  struct Case {
    const char* target;
    const char* type;
    const char* content;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"/ui/", "text/html; charset=utf-8", "<!doctype html>"},
           {"/ui/?x=1", "text/html; charset=utf-8", "<!doctype html>"},
           {"/ui/page.js", "text/javascript; charset=utf-8", "/apis/berth.dev/v1alpha1/"},
           {"/ui/page.css", "text/css; charset=utf-8", "prefers-color-scheme"},
           {"/ui/icon.svg", "image/svg+xml", "<svg"}}) {
    SCOPED_TRACE(c.target);
    const http::Response plain = Get(c.target);
    EXPECT_EQ(plain.status, 200);
    EXPECT_EQ(plain.content_type, c.type);
    EXPECT_THAT(*plain.body, HasSubstr(c.content));
    EXPECT_EQ(plain.headers.Find("Content-Encoding"), "");
    const http::Response packed = Get(c.target, {{"Accept-Encoding", "gzip, deflate, br"}});
    EXPECT_EQ(packed.headers.Find("Content-Encoding"), "gzip");
    EXPECT_EQ(http::Gunzip(*packed.body, 1 << 20).value(), *plain.body);
  }
}

TEST(Page, EveryResponseForbidsForeignContentInlineScriptsAndFrames) {
  for (const auto* target : {"/ui/", "/ui/page.js", "/ui/nothing", "/ui"}) {
    SCOPED_TRACE(target);
    const http::Response response = Get(target);
    const std::string_view policy = response.headers.Find("Content-Security-Policy");
    EXPECT_THAT(policy, AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self'"),
                              HasSubstr("frame-ancestors 'none'"), HasSubstr("base-uri 'none'"),
                              HasSubstr("require-trusted-types-for 'script'"), Not(HasSubstr("unsafe"))));
    EXPECT_EQ(response.headers.Find("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(response.headers.Find("X-Frame-Options"), "DENY");
    EXPECT_EQ(response.headers.Find("Referrer-Policy"), "no-referrer");
  }
}

TEST(Page, AFileThatTheClientHasIsNotSentAgain) {
  if (!HasPage()) GTEST_SKIP() << "built with BERTH_UI=OFF";
  const std::string tag(Get("/ui/page.js").headers.Find("ETag"));
  ASSERT_NE(tag, "");
  EXPECT_NE(tag, Get("/ui/page.css").headers.Find("ETag"));
  for (const std::string& given : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const http::Response response = Get("/ui/page.js", {{"If-None-Match", given}});
    EXPECT_EQ(response.status, 304) << given;
    EXPECT_EQ(response.body, nullptr) << given;
    EXPECT_EQ(response.headers.Find("ETag"), tag) << given;
  }
  EXPECT_EQ(Get("/ui/page.js", {{"If-None-Match", "\"other\""}}).status, 200);
}

TEST(Page, OtherPathsAndMethodsAreRefused) {
  for (const auto* target : {"/ui/page.js/", "/ui/../metrics", "/ui/%2e%2e/metrics", "/ui//", "/metrics"})
    EXPECT_EQ(Get(target).status, 404) << target;
  const http::Response refused = Get("/ui/", {}, "POST");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.Find("Allow"), "GET, HEAD");
  const http::Response moved = Get("/ui");
  EXPECT_EQ(moved.status, 308);
  EXPECT_EQ(moved.headers.Find("Location"), "/ui/");
}

TEST(Page, IsTheOnlyPublicPathOfItsEndpoints) {
  metrics::Registry registry;
  Endpoints endpoints(registry);
  EXPECT_FALSE(endpoints.IsPublic("/ui/"));
  AddPage(endpoints);
  for (const auto* path : {"/ui", "/ui/", "/ui/page.js", "/ui/nothing"})
    EXPECT_TRUE(endpoints.IsPublic(path)) << path;
  for (const auto* path : {"/metrics", "/", "/uix", "/apis/berth.dev/v1alpha1/status", "/ui-", ""})
    EXPECT_FALSE(endpoints.IsPublic(path)) << path;
}

}  // namespace
}  // namespace berth::service
