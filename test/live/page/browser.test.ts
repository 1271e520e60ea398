/** Tests the pages in a real browser: sign-in, reading, copying, the page's script, and accessibility. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeEvacuations, rollingMaintenances } from "../../../infra/lab/stage/evacuations.ts";
import { createVirtualMachineInstance } from "../../../infra/sandbox/index.ts";
import { openBrowser } from "../../../infra/tools/browser.ts";
import { pageInvitation, pageToken } from "../../../infra/lab/stage/page-invitation.ts";
import { CLUSTERS, NODE, OPERATOR_TOKEN, type PageStage, startPageStage } from "./page-stage.ts";

const [CLUSTER] = CLUSTERS;
const AT_CLUSTER = `/fleet/${CLUSTER}`;
const AT_NODE = `${AT_CLUSTER}/nodes/${NODE}`;
const AT_ROLLING = `${AT_CLUSTER}/rollingmaintenances/weekend`;
const AT_MAINTENANCE = `${AT_CLUSTER}/nodeevacuations/kernel`;
const pathOf = (vm: string) => `${AT_CLUSTER}/vms/shop/${vm}`;

let browser: Browser;
let stage: PageStage;
let signedIn: BrowserContext;
beforeAll(async () => {
  [browser, stage] = await Promise.all([openBrowser(), startPageStage()]);
  await Promise.all([createVm("web"), createVm("ledger", { migratable: false })]);
  const schedule = { notBefore: new Date(Date.now() + 3_600_000).toISOString() };
  await stage.sandbox.client.create(nodeEvacuations, {
    metadata: { name: "kernel" },
    spec: { nodeName: "node02", schedule },
  });
  await createWeekend();
  signedIn = await newContext();
  const token = await pageToken(stage.sandbox.client);
  for (const cluster of CLUSTERS)
    await signedIn.request.post("/signin", { form: { cluster, token }, headers: { origin: stage.worker.url } });
}, 60_000);
afterAll(async () => {
  await browser.close();
  await stage.stop();
});

const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

async function createWeekend(): Promise<void> {
  const { metadata } = await stage.sandbox.client.create(rollingMaintenances, {
    metadata: { name: "weekend" },
    spec: { nodes: { names: [NODE, "node02", "node03"] } },
  });
  const status = {
    phase: "Running",
    message: "node02 is being drained",
    startTime: at(-1200),
    estimatedCompletionTime: at(1800),
    nodeCounts: { total: 3, pending: 1, active: 1, evacuated: 1, failed: 0 },
    nodes: [
      { name: NODE, phase: "Returned", startTime: at(-1200), completionTime: at(-300) },
      { name: "node02", phase: "Blocked", startTime: at(-300), message: "VM shop/ledger cannot migrate" },
      { name: "node03", phase: "Pending" },
    ],
  };
  await stage.sandbox.client.patch(
    rollingMaintenances,
    metadata,
    { type: "merge", body: { status } },
    { subresource: "status" },
  );
}

function createVm(name: string, more: object = {}) {
  const vm = { namespace: "shop", name, evictionStrategy: "LiveMigrate", node: NODE, ...more };
  return createVirtualMachineInstance(stage.sandbox.client, vm);
}

const newContext = (options: BrowserContextOptions = {}) =>
  browser.newContext({ ignoreHTTPSErrors: true, baseURL: stage.worker.url, ...options });

function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const isOurs = message.type() === "error" && !message.text().startsWith("Failed to load resource");
    if (isOurs) complaints.push(message.text());
  });
  return complaints;
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const textOf = (page: Page) => page.locator("main").innerText();
const heading = (page: Page) => page.locator("h1").innerText();

test("a visitor opens the page with the address and token from a terminal, and signs out", async () => {
  const text = (await pageInvitation(stage.sandbox.client, `${stage.worker.url}/clusters/${CLUSTER}`)).join("\n");
  const [address = "", token = ""] = [/https:\S+/.exec(text)?.[0], /eyJ\S+/.exec(text)?.[0]];
  const context = await newContext();
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  await page.goto(address);
  await signIn(page, OPERATOR_TOKEN);
  expect(await page.getByRole("alert").innerText()).toContain("That token is not for this page");
  await signIn(page, token);
  expect(page.url()).toBe(address);
  expect(await context.cookies()).toMatchObject([{ httpOnly: true, secure: true, sameSite: "Strict" }]);
  await page.getByRole("button", { name: "Sign out" }).click();
  expect(await heading(page)).toBe("Sign in");
  expect(await context.cookies()).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});

test("without JavaScript a visitor reads the command of an action; with JavaScript a button copies the command", async () => {
  const storageState = await signedIn.storageState();
  const plain = await newContext({ javaScriptEnabled: false, storageState });
  const still = await plain.newPage();
  await still.goto(pathOf("web"));
  const command = "lifeboat evacuate web -n shop";
  expect(await textOf(still)).toContain(command);
  expect(await still.locator("main form, main button:visible").count()).toBe(0);
  await plain.close();
  const context = await newContext({ storageState, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  await page.goto(pathOf("web"));
  await page.getByRole("button", { name: `Copy: ${command}` }).click();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(command);
  await context.close();
});

test("with the keyboard alone, a visitor reaches a VM from the cluster's page and copies its command", async () => {
  const context = await newContext({
    storageState: await signedIn.storageState(),
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  await page.goto(AT_CLUSTER);
  const enter = async (name: string) => {
    const focused = () =>
      page.evaluate("document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent");
    for (let i = 0; i < 60 && (await focused()) !== name; i++) await page.keyboard.press("Tab");
    expect(await focused()).toBe(name);
    await page.keyboard.press("Enter");
  };
  await enter(NODE);
  await page.waitForURL(`**${AT_NODE}`);
  await enter("shop/web");
  await page.waitForURL(`**${pathOf("web")}`);
  await enter("Copy: lifeboat evacuate web -n shop");
  await expect.poll(() => page.locator(".act button").first().innerText()).toBe("Copied");
  await context.close();
});

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Axe {
  run(options: unknown): Promise<{ violations: readonly { id: string; nodes: readonly { html: string }[] }[] }>;
}

async function violationsOf(page: Page, options: object = {}): Promise<readonly string[]> {
  return await page.evaluate(async (more) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The test has put it there.
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ resultTypes: ["violations"], ...more });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  }, options);
}

const isWider = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");

test.each([
  "/",
  AT_CLUSTER,
  AT_NODE,
  AT_MAINTENANCE,
  AT_ROLLING,
  pathOf("ledger"),
  `${AT_CLUSTER}/none`,
  "/nosuch",
  "/signin",
])(
  "axe finds no violation on the unfolded page %s, in both themes, and the page fits phones and wall screens",
  async (path) => {
    const page = await signedIn.newPage();
    await page.goto(path);
    expect(new URL(page.url()).pathname).toBe(path);
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
    await page.evaluate(AXE);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [width, height] of [
        [360, 740],
        [375, 812],
        [1280, 900],
        [3840, 2160],
      ] as const) {
        await page.setViewportSize({ width, height });
        const options = colorScheme === "light" ? {} : { runOnly: ["color-contrast"] };
        expect([width, await violationsOf(page, options), await isWider(page)]).toEqual([width, [], false]);
      }
    }
    await page.close();
  },
);

test("the page updates itself, shows a cluster that cannot be read, and keeps focus and unfolded parts", async () => {
  const page = await signedIn.newPage();
  const complaints = complaintsOf(page);
  await page.clock.install();
  await page.goto(AT_NODE);
  const next = async (seen: () => Promise<string | null>) => {
    await page.clock.runFor(5000);
    return await seen();
  };
  await page.getByText("From a terminal").click();
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate("document.activeElement?.outerHTML");
  const before = await focused();
  await createVm("late");
  await expect.poll(() => next(() => textOf(page))).toContain("shop/late");
  expect(await focused()).toBe(before);
  expect(await page.locator("details[data-key=terminal]").getAttribute("open")).toBe("");
  const state = () => page.locator("#asof").getAttribute("data-state");
  stage.proxy.cut = true;
  await expect.poll(() => next(state)).toBe("silent");
  expect(await textOf(page)).toContain("shop/ledger");
  stage.proxy.cut = false;
  await expect.poll(() => next(state)).toBe("live");
  expect(complaints).toEqual([]);
});
