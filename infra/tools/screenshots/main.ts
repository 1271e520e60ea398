/** `npm run screenshots`: pictures of each page in both themes, into .build/screenshots, or where the first argument says. */
import { mkdir } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { signGrant, withGrant } from "../../../functions/page/session.ts";
import { openBrowser } from "../browser.ts";
import { CLUSTER, NODE, setScene } from "./scene.ts";

const THEMES = ["light", "dark"] as const;
const WIDTHS = { phone: 360, laptop: 1280, wall: 2560 } as const;

const PAGES = {
  "sign-in": "/signin",
  cluster: "/fleet/frankfurt",
  node: `/fleet/frankfurt/nodes/${NODE}`,
  preflight: "/fleet/frankfurt/nodes/worker-1",
  vm: "/fleet/frankfurt/vms/ci/build-cache",
  cancel: "/fleet/frankfurt/vms/billing/postgres/cancel",
  missing: "/fleet/frankfurt/nodes/none",
} as const;

/** In which theme. Compressed, they are .github/pictures. */
const IN_README: Readonly<Record<string, (typeof THEMES)[number]>> = { node: "light", cluster: "dark" };

const folder = process.argv[2] ?? ".build/screenshots";
const wanted = process.argv.slice(3);

async function signedIn(): Promise<string> {
  const until = Math.floor(Date.now() / 1000) + 3600;
  const entry = { server: "", token: "", webhookToken: scene.webhookToken, headers: {} };
  return withGrant(
    undefined,
    CLUSTER,
    await signGrant({ cluster: CLUSTER, name: "operator", mayAct: true, maintains: ["look", "empty"], until }, entry),
  );
}

async function openPage(browser: Browser, url: string, colorScheme: "light" | "dark", width: number): Promise<Page> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    colorScheme,
    viewport: { width, height: 900 },
    deviceScaleFactor: width === WIDTHS.wall ? 1 : 1.5,
  });
  await context.addCookies([
    { name: "__Host-lifeboat", value: await signedIn(), url, secure: true, httpOnly: true, sameSite: "Strict" },
  ]);
  return await context.newPage();
}

const scene = await setScene();
const browser = await openBrowser();
try {
  await mkdir(folder, { recursive: true });
  scene.beginDrain();
  // Seven of the twelve have gone, and one migration has failed.
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  for (const theme of THEMES) {
    for (const [size, width] of Object.entries(WIDTHS)) {
      for (const [name, path] of Object.entries(PAGES)) {
        if (wanted.length > 0 && !wanted.includes(name)) continue;
        const page = await openPage(browser, scene.worker.url, theme, width);
        await page.goto(`${scene.worker.url}${path}`);
        await page.locator("main").waitFor();
        if ((await page.locator("#asof").count()) > 0) await page.locator("#asof[data-state=live]").waitFor();
        await page.screenshot({ path: `${folder}/${name}-${theme}-${size}.png`, fullPage: true });
        // What README shows: as much as fits on a screen.
        if (IN_README[name] === theme && size === "laptop")
          await page.screenshot({ path: `${folder}/readme-${name}.png` });
        await page.context().close();
      }
    }
  }
} finally {
  await browser.close();
  await scene.stop();
}
