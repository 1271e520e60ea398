/** Pages with much on them in a real browser: a node with 500 VMs, one of them with hostile words; a fleet of two clusters. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { COOKIE, signGrant } from "../../../functions/page/session.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../../../infra/bench/api-server.ts";
import { createLaunchers, createPlaces, createPlannedVms, planVm } from "../../../infra/bench/population.ts";
import { createAuthority } from "../../../infra/sandbox/certificates.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { openBrowser } from "../../../infra/tools/browser.ts";
import { numbered } from "../../../infra/tools/in-parallel.ts";
import { type RunningWorker, startWorker } from "../../../infra/tools/worker.ts";
import { HOSTILE } from "../support/fake-visit.ts";
import { TOKENS } from "../support/page-stage.ts";
import { arrive, complaintsOf, violationsOf, type VisitorOptions } from "./visitor.ts";

const VMS = 500;
const CLUSTERS = ["harbour", "quay"];
const { node: NODE } = planVm(0);
const AT_NODE = `/fleet/${CLUSTERS[0]}/nodes/${NODE}`;

let browser: Browser;
let server: MeasuredApiServer;
let worker: RunningWorker;
const pages: Page[] = [];

beforeAll(async () => {
  [browser, server] = await Promise.all([openBrowser(), startMeasuredApiServer()]);
  const { client, url, caPem, lifeboatToken: token } = server;
  await installLifeboat(client, {});
  await createPlaces(client, 0, VMS);
  const vms = await createPlannedVms(
    client,
    numbered(VMS).map((index) => ({ ...planVm(index), node: NODE })),
  );
  await createLaunchers(client, vms);
  const body = {
    status: { conditions: [{ type: "LiveMigratable", status: "False", reason: HOSTILE, message: HOSTILE }] },
  };
  await client.patch(kubevirt.virtualMachineInstances, planVm(VMS - 1), { type: "merge", body });
  const entry = { server: url, token, ...TOKENS };
  worker = await startWorker({
    authority: await createAuthority("pages"),
    trusted: [caPem],
    clusters: Object.fromEntries(CLUSTERS.map((name) => [name, entry])),
  });
}, 60_000);
afterAll(async () => {
  await browser.close();
  await worker.stop();
  await server.stop();
});
afterEach(async () => {
  await Promise.all(pages.splice(0).map((page) => page.context().close()));
});

/** Signed in to both clusters. */
async function cookie(): Promise<string> {
  const until = Math.floor(Date.now() / 1000) + 3600;
  const entry = { server: "", token: "", headers: {}, ...TOKENS };
  const grant = (cluster: string) => signGrant({ cluster, name: "operator", mayAct: true, until }, entry);
  return `${COOKIE}=${(await Promise.all(CLUSTERS.map(grant))).join("~")}`;
}

async function visit(path: string, options: VisitorOptions = {}): Promise<Page> {
  const page = await arrive(browser, { worker, cookie }, options);
  pages.push(page);
  await page.goto(path);
  return page;
}

const PHONE = { width: 360, height: 740 };
const WALL = { width: 3840, height: 2160 };
const isWider = "document.documentElement.scrollWidth > document.documentElement.clientWidth";

test("a node with 500 VMs: what is in the way first, 50 VMs to see, 150 folded, the rest counted", async () => {
  const page = await visit(AT_NODE);
  const headings = await page.locator("h2").allInnerTexts();
  expect(headings.slice(0, 2)).toEqual(["What would be in the way of a drain", "VMs on this node 500"]);
  const rows = page.locator("table.rows tbody tr");
  const seen = () => rows.filter({ visible: true }).count();
  expect([await rows.count(), await seen()]).toEqual([200, 50]);
  await page.getByText("150 more").click();
  expect(await seen()).toBe(200);
  expect(await page.locator("main").innerText()).toContain("300 more are not listed");
});

test("what is unfolded stays so while the page goes on", async () => {
  const page = await visit(AT_NODE);
  await page.getByText("150 more").click();
  // Twice: whatever the first look found, the second one comes after the click.
  for (const _ of [1, 2]) await nextLook(page);
  expect(await page.locator("details").first().getAttribute("open")).toBe("");
});

/** Resolves once the page has been looked at again. */
async function nextLook(page: Page): Promise<void> {
  const age = async () => Number(/[0-9]+/.exec(await page.locator("#asof .words").innerText())?.[0]);
  await expect.poll(age, { timeout: 20_000 }).toBeGreaterThan(0);
  await expect.poll(age, { timeout: 20_000 }).toBe(0);
}

test.each([
  ["a phone", PHONE],
  ["a wall", WALL],
])("on %s nothing is wider than the screen, and axe finds nothing", async (_, viewport) => {
  for (const path of [AT_NODE, "/"]) {
    const page = await visit(path, { viewport });
    expect([path, await page.evaluate(isWider)]).toEqual([path, false]);
    expect(await violationsOf(page)).toEqual([]);
  }
});

test.each(["light", "dark"] as const)("axe finds nothing on a fleet in the %s theme", async (colorScheme) => {
  const page = await visit("/", { colorScheme });
  expect(await page.locator("li.card h2").count()).toBe(2);
  expect(await violationsOf(page)).toEqual([]);
});

test("hostile words of a tenant are text: nothing of them runs, loads or turns what is around it", async () => {
  const page = await arrive(browser, { worker, cookie });
  pages.push(page);
  const complaints = complaintsOf(page);
  const [elsewhere, dialogs]: [string[], string[]] = [[], []];
  page.on("request", (request) => {
    if (!request.url().startsWith(worker.url)) elsewhere.push(request.url());
  });
  page.on("dialog", (dialog) => void dialogs.push(dialog.message()));
  const { namespace, name } = planVm(VMS - 1);
  for (const path of [AT_NODE, `/fleet/${CLUSTERS[0]}`, `/fleet/${CLUSTERS[0]}/vms/${namespace}/${name}`]) {
    await page.goto(path);
    const text = await page.locator("main").innerText();
    expect([path, text.includes("<script>alert(1)</script>")]).toEqual([path, path !== `/fleet/${CLUSTERS[0]}`]);
    expect(await page.locator("main script, main img").count()).toBe(0);
    expect(text).not.toContain("\u202e");
  }
  expect([elsewhere, dialogs, complaints]).toEqual([[], [], []]);
});
