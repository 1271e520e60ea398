/** Signing in, acting and signing out in a real browser: cookies, forms and their origin are the browser's own. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createVirtualMachineInstance } from "../../../infra/sandbox/fleet.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { openBrowser } from "../../../infra/tools/browser.ts";
import { evacuations } from "../../../infra/tools/evacuations.ts";
import { pageInvitation, pageToken } from "../../../infra/tools/page-invitation.ts";
import { CLUSTER, NODES, type PageStage, startPageStage, TOKENS } from "../support/page-stage.ts";
import { arrive, complaintsOf, violationsOf } from "./visitor.ts";

const pathOf = (vm: string) => `/fleet/${CLUSTER}/vms/shop/${vm}`;
const AT_VM = pathOf("web");
let browser: Browser;
let stage: PageStage;
beforeAll(async () => {
  [browser, stage] = await Promise.all([openBrowser(), startPageStage()]);
  for (const name of ["web", "with-script", "without", "firewall"]) {
    const evictionStrategy = name === "firewall" ? "External" : "LiveMigrate";
    const vm = { namespace: "shop", name, evictionStrategy, node: NODES[0] };
    await createVirtualMachineInstance(stage.sandbox.client, vm);
  }
});
afterAll(async () => {
  await browser.close();
  await stage.stop();
});

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const signedOut = { signedIn: false };
const heading = (page: Page) => page.locator("h1").innerText();

test("the address and the token that a terminal prints open the page", async () => {
  const text = (await pageInvitation(stage.sandbox.client, `${stage.worker.url}/clusters/${CLUSTER}`)).join("\n");
  const [address = "", token = ""] = [/https:\S+/.exec(text)?.[0], /eyJ\S+/.exec(text)?.[0]];
  const page = await arrive(browser, stage, signedOut);
  const complaints = complaintsOf(page);
  await page.goto(address);
  expect(await heading(page)).toBe("Sign in");
  expect(await violationsOf(page)).toEqual([]);
  await signIn(page, token);
  expect(page.url()).toBe(address);
  const cookies = await page.context().cookies();
  expect(cookies).toMatchObject([{ name: "__Host-lifeboat", httpOnly: true, secure: true, sameSite: "Strict" }]);
  expect(await page.evaluate("document.cookie")).toBe("");
  expect(complaints).toEqual([]);
  const another = await arrive(browser, stage, signedOut);
  await another.goto(address);
  await signIn(another, TOKENS.operatorToken);
  expect(await another.getByRole("alert").innerText()).toContain("That token is not for this page");
});

test.each([true, false])(
  "evacuate, and back at the VM: what has come of it (script: %s)",
  async (javaScriptEnabled) => {
    const path = pathOf(javaScriptEnabled ? "with-script" : "without");
    const page = await arrive(browser, stage, { ...signedOut, javaScriptEnabled });
    await page.goto(path);
    await signIn(page, await pageToken(stage.sandbox.client));
    expect(new URL(page.url()).pathname).toBe(path);
    await page.getByRole("link", { name: /^Evacuate/ }).click();
    expect(await page.locator("main").innerText()).toContain("KubeVirt migrates it to another node");
    if (javaScriptEnabled) expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Evacuate", exact: true }).click();
    expect(page.url()).toContain(`${path}?result=`);
    expect(await page.getByRole("status").first().innerText()).toContain("The evacuation has begun.");
    expect(await page.locator("main").innerText()).toContain("asked by system:serviceaccount:lifeboat-system:visitor");
  },
);

test("cancel: what it would do, and the Evacuation is withdrawn", async () => {
  const page = await arrive(browser, stage);
  const complaints = complaintsOf(page);
  await page.goto(pathOf("firewall"));
  await page.getByRole("link", { name: /^Evacuate/ }).click();
  expect(await page.locator("main").innerText()).toContain("Its owner is to move it");
  await page.getByRole("button", { name: "Evacuate", exact: true }).click();
  await page.getByRole("link", { name: /^Cancel/ }).click();
  expect(await page.locator("main").innerText()).toContain(`The VM stays on node ${NODES[0]}.`);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Cancel the evacuation" }).click();
  expect(await page.getByRole("status").first().innerText()).toContain("The evacuation is cancelled.");
  const { items } = await stage.sandbox.client.list(evacuations, "shop");
  const ofFirewall = items.filter(({ spec }) => spec.virtualMachineInstance.name === "firewall");
  expect(ofFirewall).toMatchObject([{ status: { phase: "Withdrawn" } }]);
  const vmi = await stage.sandbox.client.get(kubevirt.virtualMachineInstances, { namespace: "shop", name: "firewall" });
  expect(vmi?.status?.evacuationNodeName).toBeUndefined();
  expect(complaints).toEqual([]);
});

test("signing out closes the page", async () => {
  const page = await arrive(browser, stage);
  await page.goto(AT_VM);
  await page.getByRole("button", { name: "Sign out" }).click();
  expect(await heading(page)).toBe("Sign in");
  expect(await page.context().cookies()).toEqual([]);
});

test("a form on another site does nothing with the visitor's session", async () => {
  const page = await arrive(browser, stage);
  const target = `${stage.worker.url}${AT_VM}/evacuate`;
  await page.route("https://evil.example/", (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<form method="post" action="${target}"><button>Win</button></form><iframe src="${target}"></iframe>`,
    }),
  );
  await page.goto("https://evil.example/");
  expect(page.frames()[1]?.url()).not.toContain("/fleet/");
  const [answer] = await Promise.all([page.waitForResponse(target), page.getByRole("button").click()]);
  // The browser sends no cookie along: a stranger has asked.
  expect([answer.status(), answer.headers()["location"]]).toEqual([303, expect.stringMatching(/^\/signin/)]);
});
