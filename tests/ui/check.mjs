// The page in Chromium, on a scheduler with 5,000 nodes and 10,000 waiting pods. See tests/ui/check.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Cluster, kDeveloper, kOperator, waitFor } from "./cluster.mjs";

const { values: options } = parseArgs({
  options: { berth: { type: "string" }, modules: { type: "string" }, pictures: { type: "string" }, nodes: { type: "string", default: "5000" }, pods: { type: "string", default: "10000" }, limits: { type: "boolean", default: false } },
});
const require = createRequire(join(options.modules, "x.js"));
const { chromium } = require("playwright-core");
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const kLimit = 600_000;  // milliseconds for everything: a minute, more on a busy machine

let failures = 0;
function check(condition, what) {
  if (!condition) ++failures;
  console.log(`${condition ? "ok" : "FAILED"}: ${what}`);
}

// A page whose errors and requests are recorded.
async function open(browser, url, settings = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 }, ...settings });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(`script error: ${error.message}`));
  page.on("console", (message) => {
    // The browser itself reports responses with an error status, which some steps expect.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin)) page.problems.push(`request to ${request.url()}`);
    const token = request.headers()["authorization"];
    if (request.url().includes("/ui/") && token !== undefined) page.problems.push(`credentials sent to ${request.url()}`);
    if (request.url().includes("-token")) page.problems.push("a token is in a URL");
  });
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`)));
  await page.goto(url);
  return page;
}

async function signIn(page, token) {
  await page.getByLabel("Bearer token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function picture(page, name) {
  if (options.pictures === undefined) return;
  mkdirSync(options.pictures, { recursive: true });
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  await session.detach();
  writeFileSync(join(options.pictures, `${name}.webp`), Buffer.from(data, "base64"));
}

// The rules of WCAG 2.1 A and AA. Evaluated in an isolated world: the policy of the page forbids foreign scripts.
async function checkAccess(page, what) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  await session.send("Runtime.evaluate", { contextId, expression: axeSource });
  // Thousands of equal cells would take minutes: those of the legend are the same.
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    contextId,
    awaitPromise: true,
    returnByValue: true,
    expression: `axe.run({exclude: [[".heat"]]}, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"]})
      .then((r) => r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target + " " + (n.any[0]?.message ?? v.help)).join("; ")))`,
  });
  await session.detach();
  const violations = exceptionDetails ? [exceptionDetails.text] : result.value;
  check(violations.length === 0, `${what}: WCAG A and AA${violations.length ? "\n    " + violations.join("\n    ") : ""}`);
}

// The elements that make the page wider than the screen.
async function tooWide(page) {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const beyond = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > clientWidth && !e.closest(".wide, .scroller"));
    return [`${scrollWidth} pixels`, ...beyond.slice(0, 5).map((e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`)];
  });
}

async function heading(page, text) {
  await page.getByRole("heading", { level: 1, name: text }).waitFor();
}

// --- the steps ---

async function login(browser, cluster) {
  const page = await open(browser, `${cluster.url}/ui/`);
  await heading(page, "Berth");
  check(await page.getByLabel("Bearer token").evaluate((input) => input === document.activeElement), "the token field has the focus");
  await checkAccess(page, "login");
  await picture(page, "login");
  await signIn(page, "wrong-token");
  await page.getByRole("alert").getByText("did not accept the token").waitFor();
  check(true, "a wrong token is refused with a message");
  await signIn(page, "");
  await page.getByRole("alert").getByText("Enter a token").waitFor();
  await signIn(page, kOperator);
  await heading(page, "Queue");
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie);
  check(!stored.includes("token"), "the token is stored nowhere");
  return page;
}

async function queue(page, pods) {
  await page.getByText(/pods in the queue/).waitFor();
  const lead = await page.locator(".lead").innerText();
  check(Number(lead.replace(/,/g, "").match(/\d+/)[0]) >= pods, `the queue counts its pods: ${lead}`);
  check((await page.getByRole("region", { name: "Shortfall" }).innerText()).includes("nvidia.com/gpu"), "the shortfall names the resource that no node has enough of");
  await checkAccess(page, "queue");
  await picture(page, "queue");
  await page.getByRole("link", { name: "later →" }).click();
  await page.getByText("51–100 of").waitFor();
  await page.getByRole("link", { name: "NodeAffinity" }).click();
  await page.getByRole("link", { name: /plugin NodeAffinity/ }).waitFor();
  await waitFor("only pods that NodeAffinity rejected", async () => {
    const cells = await page.locator('[aria-label="Pods in the queue"] tbody tr td:last-child').allInnerTexts();
    return cells.length > 0 && cells.every((text) => text.includes("NodeAffinity"));
  });
  check(true, "a cause filters the pods");
}

async function pod(page, cluster, nodes) {
  await page.locator('[aria-label="Pods in the queue"] tbody a').first().click();
  await heading(page, /^Pod shop\/cache/);
  await page.locator(".advice li").first().waitFor();
  const advice = await page.locator(".advice").innerText();
  check(/topology.kubernetes.io\/zone/.test(advice), `the advice names the label: ${advice.split("\n")[0]}`);
  // Scores of all nodes, of a pod that is bound now: records of earlier ones may have been dropped.
  await cluster.pod("shop", "fresh", { cpu: "1" });
  await waitFor("a node for shop/fresh", async () => (await cluster.get("/api/v1/namespaces/shop/pods/fresh")).spec.nodeName);
  await page.getByLabel("Pod, as namespace/name").fill("shop/fresh");
  await page.getByRole("button", { name: "Show pod" }).click();
  await heading(page, "Pod shop/fresh");
  await page.getByText(`${nodes.toLocaleString("en-US")} of ${nodes.toLocaleString("en-US")} nodes`, { exact: true }).waitFor();
  await checkAccess(page, "pod");
  await page.locator(".decision").scrollIntoViewIfNeeded();
  await picture(page, "pod");

  const totals = async () => (await page.locator(".decision tbody tr:not(.spacer) td:nth-child(3)").allInnerTexts()).filter((text) => text !== "–");
  const sorted = (numbers, sign) => numbers.every((number, i) => i === 0 || sign * (Number(number) - Number(numbers[i - 1])) >= 0);
  const number = await page.locator(".decision tbody tr").count();
  check(number > 10 && number < 100, `only visible rows are in the document (${number})`);
  check(sorted(await totals(), -1), "the highest totals come first");
  // Measured in the page, as the user waits for it: the median, since the machine has other work.
  const took = await page.evaluate(async () => {
    const times = [];
    for (const button of [...document.querySelectorAll(".decision .sort")].slice(0, 6)) {
      const start = performance.now();
      button.click();
      document.querySelector(".decision").getBoundingClientRect();
      times.push(performance.now() - start);
      await new Promise(requestAnimationFrame);
    }
    return times.sort((a, b) => a - b)[times.length >> 1];
  });
  const speed = `sorting and showing ${nodes} nodes takes ${took.toFixed(1)} ms`;
  if (options.limits) check(took < 100, speed);
  else console.log(speed);
  const total = page.getByRole("button", { name: /^Total/ });
  await total.click();
  await total.click();
  check(sorted(await totals(), 1), "another click reverses the order");
  check((await page.locator('th[aria-sort="ascending"]').innerText()).startsWith("Total"), "the order is announced");
  await page.getByLabel("Only nodes with this text in their name").fill(cluster.nodeNames[17]);
  await page.getByText(/^\d+ of [\d,]+ nodes$/).waitFor();
  check((await page.locator(".decision tbody tr:not(.spacer) th").first().innerText()).includes(cluster.nodeNames[17]), "the name filters the nodes");
  await page.getByLabel("Only nodes with this text in their name").fill("");
  await page.locator(".scroller").evaluate((element) => (element.scrollTop = element.scrollHeight));
  await waitFor("the last row is shown", async () => (await page.locator(".decision tbody tr:not(.spacer)").last().getAttribute("aria-rowindex")) === String(nodes + 1));
  check(true, "the table scrolls to its last row");
}

async function preemptionPreview(page, cluster) {
  await cluster.pod("vault", "urgent", { cpu: "6" }, { priorityClassName: "urgent", nodeSelector: { "kubernetes.io/hostname": cluster.guardedNode } });
  await page.goto(`${cluster.url}/ui/#/pods/vault/urgent`);
  const preview = page.getByRole("region", { name: "Preemption by node" });
  await preview.waitFor();
  const [row, ...others] = await preview.locator("tbody > tr").allInnerTexts();
  check(others.length === 0 && row.startsWith(cluster.guardedNode) && /\b1\s+selected\b/.test(row), `the preview names the node that preemption would select: ${row}`);
  check(/vault\/filler-\w+ \(ReplicaSet vault\/filler\), priority 0, started /.test(row), "and the pod that it would evict");
  await checkAccess(page, "preview of preemption");
}

async function nodesView(page, cluster, nodes) {
  await page.getByRole("link", { name: "Nodes", exact: true }).click();
  await heading(page, "Nodes");
  await page.locator(".heat .cell").nth(nodes - 1).waitFor();
  check((await page.locator(".heat .cell").count()) === nodes, `${nodes} cells`);
  await page.getByRole("link", { name: "cpu", exact: true }).first().click();
  await page.getByRole("heading", { name: "Requested share of cpu" }).waitFor();
  await checkAccess(page, "nodes");
  await picture(page, "nodes");
  await page.locator('.chip[href*="measured"]').getByText("cpu", { exact: true }).click();
  await page.getByText(/its values are \d+s old/).waitFor();
  check((await page.getByText(/The signal .* is fresh/).count()) === 1, "the age of the signal is shown");
  await picture(page, "measured");
  // Keyboard only: into the map, two cells to the right, open.
  await page.locator('.heat .cell[tabindex="0"]').focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const label = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  check((await page.locator(".heat-text").innerText()) === label, `the cell in focus is described: ${label}`);
  await page.keyboard.press("Enter");
  await heading(page, `Node ${label.split(":")[0]}`);
  await page.getByRole("heading", { name: "Recent rejections" }).waitFor();
  await checkAccess(page, "node");
  await picture(page, "node");
}

async function others(page, cluster) {
  await cluster.pod("shop", "payments", { cpu: "6" }, { priorityClassName: "urgent", nodeSelector: { "kubernetes.io/hostname": cluster.fullNode } });
  await page.getByRole("link", { name: "Preemptions" }).click();
  await heading(page, "Preemptions");
  await page.getByRole("link", { name: "shop/payments" }).first().waitFor();
  check((await page.locator("main").innerText()).includes("batch/filler"), "a preemption names its victims");
  await checkAccess(page, "preemptions");
  await picture(page, "preemptions");
  await page.getByRole("link", { name: "Status" }).click();
  await heading(page, "Status");
  await page.getByText("leader", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Latency by extension point" }).waitFor();
  await page.getByText("at most").nth(1).waitFor();
  await checkAccess(page, "status");
  await picture(page, "status");
}

async function live(page, cluster) {
  await page.goto(`${cluster.url}/ui/#/pods/batch/late`);
  await page.getByText("is not pending in this scheduler").first().waitFor();
  await cluster.pod("batch", "late", { cpu: "900" });
  await page.locator(".message").getByText("Insufficient cpu").first().waitFor();
  check(true, "a new pod appears without a reload");
  await cluster.pod("batch", "gated", { cpu: "1" }, { schedulingGates: [{ name: "example.com/quota" }] });
  await page.goto(`${cluster.url}/ui/#/pods/batch/gated`);
  await page.locator(".advice li").getByText("remove the scheduling gate example.com/quota").waitFor();
  check(true, "a pod without attempts has advice");
  await page.getByRole("button", { name: "Live" }).click();
  await page.getByRole("button", { name: "Paused" }).waitFor();
  const pods = () => page.locator('[aria-label="Pods in the queue"] tbody a').allInnerTexts();
  for (const namespace of ["shop", "batch"]) {
    await page.goto(`${cluster.url}/ui/#/queue?namespace=${namespace}`);
    await waitFor(`only pods of ${namespace}`, async () => {
      const names = await pods();
      return names.length > 0 && names.every((name) => name.startsWith(`${namespace}/`));
    });
  }
  check(true, "another filter is applied during a pause");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Bearer token").waitFor();
  check(!(await page.content()).includes("batch/late"), "nothing of the cluster is left after signing out");
}

async function developer(browser, cluster) {
  const page = await open(browser, `${cluster.url}/ui/`);
  await signIn(page, kDeveloper);
  await page.getByRole("alert").getByText(/forbidden/).waitFor();
  const { items } = await cluster.get("/api/v1/namespaces/shop/pods?labelSelector=app%3Dcache&limit=1");
  const name = items[0].metadata.name;
  await page.getByLabel("Pod, as namespace/name").fill(`shop/${name}`);
  await page.keyboard.press("Enter");
  await page.locator(".advice li").first().waitFor();
  const text = await page.locator("main").innerText();
  check(text.includes("The nodes are shown to users who"), "a developer sees their own pod, without nodes");
  check(!cluster.nodeNames.slice(0, 100).some((node) => text.includes(node + ",")), "no name of a node is shown to a developer");
  await page.getByLabel("Pod, as namespace/name").fill("batch/late");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText(/forbidden/).waitFor();
  check(true, "the pods of others are refused");
  return page;
}

async function narrowAndDark(browser, cluster) {
  const page = await open(browser, `${cluster.url}/ui/`, { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
  await signIn(page, kOperator);
  const { items } = await cluster.get("/api/v1/namespaces/batch/pods?labelSelector=app%3Dtrain&limit=1");
  for (const [address, title] of [
    ["queue", "Queue"],
    ["nodes", "Nodes"],
    ["preemptions", "Preemptions"],
    ["status", "Status"],
    [`pods/batch/${items[0].metadata.name}`, /^Pod /],
  ]) {
    await page.goto(`${cluster.url}/ui/#/${address}`);
    await heading(page, title);
    await page.locator(".card").first().waitFor();
    const wide = await tooWide(page);
    check(wide.length === 0, `${address.split("/")[0]} fits a screen of 360 pixels ${wide.join("; ")}`);
    await checkAccess(page, `${address.split("/")[0]}, dark`);
    await picture(page, `dark-${address.split("/")[0]}`);
  }
  return page;
}

// `berth ui`: no login, and of no use to others.
async function localServer(browser, cluster) {
  const child = cluster.run("ui", "ui", `--kubeconfig=${cluster.userKubeconfig(kOperator)}`, `--server=${cluster.url}`, "--insecure-skip-tls-verify");
  let address = "";
  await waitFor("the address of berth ui", () => (address = /http:\S+/.exec(child.output)?.[0] ?? "") !== "");
  const origin = new URL(address).origin;
  const status = async (headers) => (await fetch(`${origin}/apis/berth.dev/v1alpha1/status`, { headers })).status;
  check(new URL(address).hostname === "127.0.0.1", "berth ui listens on 127.0.0.1");
  check((await status({})) === 401, "berth ui refuses requests without its key");
  const key = address.split("#key=")[1];
  check((await status({ Authorization: `Bearer ${key}` })) === 200, "berth ui forwards requests with its key");
  check((await status({ Authorization: `Bearer ${key}`, Origin: "https://evil.example" })) === 403, "berth ui refuses pages of other sites");
  const page = await open(browser, address);
  await heading(page, "Queue");
  await page.getByText(/pods in the queue/).waitFor();
  check(!page.url().includes(key), "the key does not stay in the address");
  await page.reload();
  await page.getByText(/pods in the queue/).waitFor();
  check(true, "the page of berth ui can be loaded again");
  await page.getByRole("link", { name: "Nodes", exact: true }).click();
  await page.locator(".heat .cell").first().waitFor();
  const stranger = await open(browser, `${origin}/ui/`);
  await stranger.getByLabel("Bearer token").waitFor();
  check(true, "another browser gets the login");
  await cluster.end(cluster.scheduler);
  const withKey = { Authorization: `Bearer ${key}` };
  await waitFor("an error without a scheduler", async () => (await status(withKey)) === 502);
  await cluster.startScheduler();
  await waitFor("a response of the new scheduler", async () => (await status(withKey)) === 200);
  check(true, "berth ui connects again");
  await cluster.end(child);
  await page.getByRole("alert").getByText("Not connected").waitFor();
  check(true, "the page reports the end of berth ui");
  return page;
}

async function headers(cluster) {
  const page = await cluster.ask("/ui/");
  check(page.status === 200 && page.headers["content-security-policy"].startsWith("default-src 'none'"), "the page is served without credentials, with its policy");
  check((await cluster.ask("/ui/page.js", { "If-None-Match": (await cluster.ask("/ui/page.js")).headers.etag })).status === 304, "an unchanged file is not sent again");
  check((await cluster.ask("/apis/berth.dev/v1alpha1/status")).status === 403, "the API still needs credentials");
}

async function main() {
  const nodes = Number(options.nodes), pods = Number(options.pods);
  const cluster = new Cluster(options.berth);
  let browser = null;
  const timeout = setTimeout(() => {
    console.error(`FAILED: not within ${kLimit / 1000} s`);
    void cluster.stop().finally(() => process.exit(1));
  }, kLimit);
  try {
    await cluster.start(nodes);
    await cluster.fill({ bound: Math.ceil(nodes * 0.9), waiting: pods });
    browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    await headers(cluster);
    const operator = await login(browser, cluster);
    await queue(operator, pods);
    await pod(operator, cluster, nodes);
    await preemptionPreview(operator, cluster);
    await nodesView(operator, cluster, nodes);
    await others(operator, cluster);
    await live(operator, cluster);
    const pages = [operator, await developer(browser, cluster), await narrowAndDark(browser, cluster), await localServer(browser, cluster)];
    const problems = pages.flatMap((page) => page.problems);
    check(problems.length === 0, `no script error, no violation of the policy, no foreign request${problems.length ? "\n    " + problems.slice(0, 10).join("\n    ") : ""}`);
  } catch (error) {
    ++failures;
    console.error(`FAILED: ${error.stack}`);
    const page = browser?.contexts().at(-1)?.pages()[0];
    if (page !== undefined) console.error(`The page showed:\n${(await page.locator("body").innerText()).slice(0, 1500)}`);
    if (options.pictures !== undefined && page !== undefined) await picture(page, "failure");
  } finally {
    clearTimeout(timeout);
    await browser?.close();
    await cluster.stop();
  }
  console.log(failures === 0 ? "all checks passed" : `${failures} checks failed`);
  process.exitCode = failures === 0 ? 0 : 1;
}

await main();
