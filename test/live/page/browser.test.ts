/** The pages in a real browser: signing in, acting, a drain followed to its end, what a page must never do, and for whom it must work. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../../infra/lab/stage/drain-client.ts";
import { createVirtualMachineInstance, kubevirt, nodes } from "../../../infra/sandbox/index.ts";
import { openBrowser } from "../../../infra/tools/browser.ts";
import { pageInvitation, pageToken } from "../../../infra/lab/stage/page-invitation.ts";
import { arrive, complaintsOf, violationsOf, type VisitorOptions } from "./support/browser-visitor.ts";
import { CLUSTER, NODES, OTHER, type PageStage, startPageStage, TOKENS } from "./support/page-stage.ts";

const [NODE, ACTED, MAINTAINED] = NODES;
const AT_CLUSTER = `/fleet/${CLUSTER}`;
const pathOfNode = (node: string) => `${AT_CLUSTER}/nodes/${node}`;
const AT_NODE = pathOfNode(NODE);
const pathOf = (vm: string) => `${AT_CLUSTER}/vms/shop/${vm}`;
const AT_LEDGER = pathOf("ledger");
const signedOut = { signedIn: false };

let browser: Browser;
let stage: PageStage;
const pages: Page[] = [];

beforeAll(async () => {
  [browser, stage] = await Promise.all([openBrowser(), startPageStage([CLUSTER, OTHER])]);
  await Promise.all([createVm("web-1"), createVm("web-2"), createLedger()]);
  for (const name of ["with-script", "without"]) await createVm(name, { node: ACTED });
}, 60_000);
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

async function blank(options: VisitorOptions = {}): Promise<Page> {
  const page = await arrive(browser, stage, options);
  pages.push(page);
  return page;
}

async function visit(path: string, options: VisitorOptions = {}): Promise<Page> {
  const page = await blank(options);
  await page.goto(path);
  return page;
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const textOf = (page: Page) => page.locator("main").innerText();
const heading = (page: Page) => page.locator("h1").innerText();

test("the address and the token that a terminal prints open the page; signing out closes it", async () => {
  const text = (await pageInvitation(stage.sandbox.client, `${stage.worker.url}/clusters/${CLUSTER}`)).join("\n");
  const [address = "", token = ""] = [/https:\S+/.exec(text)?.[0], /eyJ\S+/.exec(text)?.[0]];
  const page = await blank(signedOut);
  const complaints = complaintsOf(page);
  await page.goto(address);
  expect(await heading(page)).toBe("Sign in");
  await signIn(page, TOKENS.operatorToken);
  expect(await page.getByRole("alert").innerText()).toContain("That token is not for this page");
  await signIn(page, token);
  expect(page.url()).toBe(address);
  const cookies = await page.context().cookies();
  expect(cookies).toMatchObject([{ name: "__Host-lifeboat", httpOnly: true, secure: true, sameSite: "Strict" }]);
  expect(await page.evaluate("document.cookie")).toBe("");
  await page.getByRole("button", { name: "Sign out" }).click();
  expect(await heading(page)).toBe("Sign in");
  expect(await page.context().cookies()).toEqual([]);
  expect(complaints).toEqual([]);
});

test.each([false])("evacuate, and back at the VM: what has come of it (script: %s)", async (javaScriptEnabled) => {
  const path = pathOf(javaScriptEnabled ? "with-script" : "without");
  const page = await visit(path, { ...signedOut, javaScriptEnabled });
  await signIn(page, await pageToken(stage.sandbox.client));
  expect(new URL(page.url()).pathname).toBe(path);
  await page.getByText("Evacuate…").click();
  expect(await textOf(page)).toContain("KubeVirt migrates it to another node");
  if (javaScriptEnabled) expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Evacuate", exact: true }).click();
  expect(page.url()).toContain(`${path}?result=`);
  expect(await page.getByRole("status").first().innerText()).toContain("The evacuation has started.");
  expect(await textOf(page)).toContain("asked by system:serviceaccount:lifeboat-system:visitor");
});

test("a node is emptied: asked for, paused, cancelled, and each time back at the node", async () => {
  const page = await visit(pathOfNode(MAINTAINED), signedOut);
  await signIn(page, await pageToken(stage.sandbox.client));
  const unfold = async (act: string) => {
    await page.getByText(`${act}…`).click();
    expect(await violationsOf(page)).toEqual([]);
  };
  const press = async (act: string) => {
    await page.getByRole("button", { name: act, exact: true }).click();
    return await page.getByRole("status").first().innerText();
  };
  await unfold("Empty this node");
  expect(await textOf(page)).toContain("Lifeboat cordons the node");
  await page.getByLabel("Not before").fill("2099-01-01T22:00");
  expect(await press("Empty this node")).toContain("The maintenance of the node is asked for.");
  expect(await textOf(page)).toContain("2099-01-01T22:00:00Z");
  await unfold("Pause");
  expect(await press("Pause")).toContain("Paused");
  await unfold("Resume");
  expect(await press("Resume")).toContain("The maintenance continues.");
  await page.goto(AT_CLUSTER);
  expect(await textOf(page)).toContain("Maintenance");
  await page.goto(pathOfNode(MAINTAINED));
  await unfold("Cancel the maintenance");
  expect(await press("Cancel the maintenance")).toContain("The maintenance is cancelled.");
  await expect.poll(() => textOf(page)).not.toContain("2099-01-01");
});

test("a drain is followed to its end without a click", { timeout: 90_000 }, async () => {
  const page = await visit(AT_NODE);
  const complaints = complaintsOf(page);
  const { client } = stage.sandbox;
  const { signal } = new AbortController();
  const draining = drainNode({ client, node: NODE, onLine: () => undefined, signal, retryMs: 500, pollMs: 50 });
  await expect.poll(() => textOf(page), { timeout: 30_000 }).toMatch(/[2-9] of \d VMs have left/);
  expect(await textOf(page)).toContain("shop/ledger");
  await client.delete(kubevirt.virtualMachineInstances, { namespace: "shop", name: "ledger" });
  await draining;
  await expect.poll(() => textOf(page), { timeout: 30_000 }).toContain("Every VM has left.");
  expect(await heading(page)).toContain("Empty of VMs");
  expect(complaints).toEqual([]);
  const body = { spec: { unschedulable: null } };
  await client.patch(nodes, { name: NODE }, { type: "strategic", body });
  await createLedger();
});

const PAGES = ["/", AT_CLUSTER, AT_NODE, AT_LEDGER, `${AT_CLUSTER}/none`, "/signin"];

test.each(PAGES)(
  "axe finds nothing on %s, in either theme; on a phone and a wall nothing is too wide",
  async (path) => {
    const isWider = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
    const page = await visit(path);
    for (const [colorScheme, width, height] of [
      ["light", 360, 740],
      ["dark", 3840, 2160],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height });
      expect(await violationsOf(page)).toEqual([]);
      expect(await page.evaluate(isWider)).toBe(false);
    }
  },
);

test("focus, and what is unfolded, stay while the page changes", { timeout: 60_000 }, async () => {
  const page = await visit(AT_NODE);
  await page.getByText("From a terminal").click();
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate("document.activeElement?.outerHTML");
  const before = await focused();
  await createVm("late");
  await expect.poll(() => textOf(page), { timeout: 30_000 }).toContain("shop/late");
  expect(await focused()).toBe(before);
  expect(await page.locator("details[data-key=terminal]").getAttribute("open")).toBe("");
});

test(
  "a cluster that goes away is said, beside what was seen last; and that it is back",
  { timeout: 90_000 },
  async () => {
    const page = await visit(AT_NODE);
    const state = () => page.locator("#asof").getAttribute("data-state");
    stage.proxy.cut = true;
    await expect.poll(state, { timeout: 30_000 }).toBe("silent");
    expect(await textOf(page)).toContain("shop/ledger");
    expect(await (await visit(AT_NODE)).locator("h1").innerText()).toBe("The cluster cannot be read");
    stage.proxy.cut = false;
    await expect.poll(state, { timeout: 30_000 }).toBe("live");
  },
);
