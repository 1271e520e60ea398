/** Watching in a real browser: a drain to its end, a cluster that goes away and comes back, and what a page must never do. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../../infra/demo/drain-client.ts";
import { nodes } from "../../../infra/sandbox/actors/resources.ts";
import { createVirtualMachineInstance } from "../../../infra/sandbox/fleet.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { openBrowser } from "../../../infra/tools/browser.ts";
import { CLUSTER, NODES, type PageStage, startPageStage } from "../support/page-stage.ts";
import { arrive, complaintsOf, violationsOf } from "./visitor.ts";

const [NODE] = NODES;
const AT_NODE = `/fleet/${CLUSTER}/nodes/${NODE}`;
let browser: Browser;
let stage: PageStage;
const pages: Page[] = [];

beforeAll(async () => {
  [browser, stage] = await Promise.all([openBrowser(), startPageStage()]);
  await Promise.all([createVm("web-1"), createVm("web-2"), createLedger()]);
});
afterAll(async () => {
  await browser.close();
  await stage.stop();
});
afterEach(async () => {
  await Promise.all(pages.splice(0).map((page) => page.context().close()));
});

function createVm(name: string, more: object = {}) {
  const vm = { namespace: "shop", name, evictionStrategy: "LiveMigrate", node: NODE, ...more };
  return createVirtualMachineInstance(stage.sandbox.client, vm);
}

/** No eviction can move it. */
const createLedger = () => createVm("ledger", { migratable: false });

async function visit(path: string, options: Parameters<typeof arrive>[2] = {}): Promise<Page> {
  const page = await arrive(browser, stage, options);
  pages.push(page);
  await page.goto(path);
  return page;
}

const textOf = (page: Page) => page.locator("main").innerText();

test("before the drain: what it would come to, and what is in its way", async () => {
  const page = await visit(AT_NODE);
  expect(await page.locator("h1").innerText()).toContain(NODE);
  const text = await textOf(page);
  expect(text).toContain("shop/ledger");
  expect(text).toContain("DisksNotLiveMigratable");
});

test("without a script the page is the same, with a link to refresh it", async () => {
  const page = await visit(AT_NODE, { javaScriptEnabled: false });
  expect(await textOf(page)).toContain("shop/ledger");
  const refresh = page.getByRole("link", { name: "Refresh" });
  expect(await refresh.isVisible()).toBe(true);
  await refresh.click();
  expect(await textOf(page)).toContain("shop/ledger");
});

test("a drain is followed to its end without a click", { timeout: 90_000 }, async () => {
  const page = await visit(AT_NODE);
  const complaints = complaintsOf(page);
  const { client } = stage.sandbox;
  const { signal } = new AbortController();
  const draining = drainNode({ client, node: NODE, onLine: () => undefined, signal, retryMs: 500, pollMs: 50 });
  await expect.poll(() => textOf(page), { timeout: 30_000 }).toMatch(/2 of 3 gone/);
  expect(await textOf(page)).toContain("shop/ledger");
  // What the page advises.
  await client.delete(kubevirt.virtualMachineInstances, { namespace: "shop", name: "ledger" });
  await draining;
  await expect.poll(() => textOf(page), { timeout: 30_000 }).toContain("Every VM has left.");
  expect(await page.locator("h1").innerText()).toContain("Empty of VMs");
  expect(complaints).toEqual([]);

  const body = { spec: { unschedulable: null } };
  await client.patch(nodes, { name: NODE }, { type: "strategic", body });
  await createLedger();
});

/** Now there is something on each of them. */
const AT_CLUSTER = `/fleet/${CLUSTER}`;
const PAGES = [AT_NODE, AT_CLUSTER, `${AT_CLUSTER}/vms/shop/ledger`, `${AT_CLUSTER}/none`, "/signin"];

test.each(PAGES)("axe finds nothing on %s, in either theme", async (path) => {
  for (const colorScheme of ["light", "dark"] as const) {
    expect(await violationsOf(await visit(path, { colorScheme }))).toEqual([]);
  }
});

test("the focus stays while the page changes", async () => {
  const page = await visit(AT_NODE);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate("document.activeElement?.outerHTML");
  const before = await focused();
  await createVm("late");
  await expect.poll(() => textOf(page)).toContain("shop/late");
  expect(await focused()).toBe(before);
});

test(
  "a cluster that goes away is told, with what was last seen; and that it is back",
  { timeout: 60_000 },
  async () => {
    const page = await visit(`/fleet/${CLUSTER}`);
    const alert = page.getByRole("alert");
    stage.proxy.cut = true;
    await expect.poll(() => alert.count()).toBe(1);
    expect(await alert.innerText()).toContain("cannot read from this cluster");
    stage.proxy.cut = false;
    await expect.poll(() => alert.count()).toBe(0);
  },
);

test("a Worker that goes away is told too: no page pretends to be new", { timeout: 60_000 }, async () => {
  const page = await visit(`/fleet/${CLUSTER}`);
  const words = page.locator("#asof .words");
  await expect.poll(() => words.innerText()).toMatch(/^as of/);
  await stage.stopWorker();
  await expect.poll(() => words.innerText(), { timeout: 30_000 }).toMatch(/^no word for/);
  await stage.restartWorker();
  await expect.poll(() => words.innerText(), { timeout: 30_000 }).toMatch(/^as of/);
});

test("a command is copied with its button", async () => {
  const page = await visit(AT_NODE);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stage.worker.url });
  const button = page.locator(".command button").first();
  const command = await page.locator(".command code").first().innerText();
  await button.click();
  await expect.poll(() => button.innerText()).toBe("Copied");
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(command);
});

test("hostile names are text: nothing of them runs, and nothing is loaded from elsewhere", async () => {
  const page = await arrive(browser, stage);
  pages.push(page);
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(stage.worker.url)) elsewhere.push(request.url());
  });
  const complaints = complaintsOf(page);
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => void dialogs.push(dialog.message()));
  await page.goto(`/fleet/${CLUSTER}/nodes/${encodeURIComponent('"><img src=x onerror=alert(1)>')}`);
  await page.goto(AT_NODE);
  expect([elsewhere, dialogs, complaints]).toEqual([[], [], []]);
});
