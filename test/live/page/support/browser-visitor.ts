/** A visitor with a real browser. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { COOKIE } from "../../../../functions/page/session.ts";
import type { PageStage } from "./page-stage.ts";

export interface VisitorOptions extends Pick<BrowserContextOptions, "javaScriptEnabled"> {
  /** By default they have. */
  readonly signedIn?: boolean;
  readonly mayAct?: boolean;
}

/** A page of their own, with nothing on it yet; whatever its script throws is collected. */
export async function arrive(
  browser: Browser,
  stage: Pick<PageStage, "worker" | "cookie">,
  options: VisitorOptions = {},
): Promise<Page> {
  const { signedIn = true, mayAct = true, ...rest } = options;
  const context = await browser.newContext({ ignoreHTTPSErrors: true, baseURL: stage.worker.url, ...rest });
  if (signedIn) {
    const value = (await stage.cookie(mayAct)).replace(`${COOKIE}=`, "");
    await context.addCookies([
      { name: COOKIE, value, url: stage.worker.url, secure: true, httpOnly: true, sameSite: "Strict" },
    ]);
  }
  return await context.newPage();
}

/** What is wrong for the page's own script or policy: nothing should ever be. */
export function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(message.text());
  });
  return complaints;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Axe {
  run(options: unknown): Promise<{ violations: readonly { id: string; nodes: readonly { html: string }[] }[] }>;
}

/** Rule and element of each violation that axe finds. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The script above has put it there.
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  });
}
