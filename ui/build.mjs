// Checks the types of the page, bundles it, and writes its files as a C++ source.
//
//   node build.mjs NODE_MODULES OUTPUT.cpp
//
// Equal sources give equal output: names, order and compression contain no time.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [modules, output] = process.argv.slice(2).map((path) => resolve(path));
if (output === undefined) {
  console.error("usage: node build.mjs NODE_MODULES OUTPUT.cpp");
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const sources = join(here, "src");

function checkTypes() {
  try {
    execFileSync(process.execPath, [join(modules, "typescript", "bin", "tsc"), "-p", here], { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  } catch (error) {
    console.error(error.stdout + error.stderr);
    process.exit(1);
  }
}

function bundle() {
  const esbuild = createRequire(join(modules, "x.js"))("esbuild");
  const { outputFiles } = esbuild.buildSync({
    entryPoints: [join(sources, "main.ts")],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    write: false,
    logLevel: "error",
  });
  const css = esbuild.transformSync(readFileSync(join(sources, "page.css"), "utf8"), { loader: "css", minify: true }).code;
  return [
    ["", "text/html; charset=utf-8", readFileSync(join(sources, "index.html"))],
    ["icon.svg", "image/svg+xml", readFileSync(join(sources, "icon.svg"))],
    ["page.css", "text/css; charset=utf-8", Buffer.from(css)],
    ["page.js", "text/javascript; charset=utf-8", Buffer.from(outputFiles[0].contents)],
  ];
}

function arrayOf(bytes) {
  const lines = [];
  for (let i = 0; i < bytes.length; i += 24) lines.push("    " + [...bytes.subarray(i, i + 24)].join(",") + ",");
  return lines.join("\n");
}

function sourceOf(files) {
  const arrays = files.map(([, , content], i) => `const unsigned char kFile${i}[] = {\n${arrayOf(gzipSync(content, { level: 9 }))}\n};`);
  const entries = files.map(([path, type, content], i) => {
    const tag = createHash("sha256").update(content).digest("hex").slice(0, 16);
    return `    {"${path}", "${type}", "\\"${tag}\\"", kFile${i}, ${content.length}},`;
  });
  return `// Made by ui/build.mjs.
#include "service/page/page_files.hpp"

namespace berth::service {
namespace {

${arrays.join("\n")}

const PageFile kFiles[] = {
${entries.join("\n")}
};

}  // namespace

std::span<const PageFile> PageFiles() { return kFiles; }

}  // namespace berth::service
`;
}

checkTypes();
writeFileSync(output, sourceOf(bundle()));
