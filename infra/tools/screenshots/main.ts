/**
 * `npm run screenshots`: takes the README's screenshots, and writes them to .build/screenshots. The folder
 * .github/pictures contains the compressed pictures.
 */
import { mkdir } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { signGrant, withGrant } from "../../../functions/page/session.ts";
import { openBrowser } from "../browser.ts";
import { CLUSTER, NODE, setScene } from "./scene.ts";

const FOLDER = ".build/screenshots";
const PICTURES = [
  { name: "node", path: `/fleet/${CLUSTER}/nodes/${NODE}`, colorScheme: "light" },
  { name: "cluster", path: `/fleet/${CLUSTER}`, colorScheme: "dark" },
] as const;

const scene = await setScene();
const browser = await openBrowser();
try {
  await mkdir(FOLDER, { recursive: true });
  scene.beginDrain();
  // After 15 s, seven of the twelve VMs have migrated, and one migration has failed.
  await delay(15_000);
  const until = Math.floor(Date.now() / 1000) + 3600;
  const entry = { server: "", token: "", webhookToken: scene.webhookToken, headers: {} };
  const grant = await signGrant({ cluster: CLUSTER, name: "operator", until }, entry);
  const value = withGrant(undefined, CLUSTER, grant);
  const { url } = scene.worker;
  for (const { name, path, colorScheme } of PICTURES) {
    const viewport = { width: 1280, height: 900 };
    const context = await browser.newContext({
      ignoreHTTPSErrors: true,
      colorScheme,
      viewport,
      deviceScaleFactor: 1.5,
    });
    await context.addCookies([
      { name: "__Host-lifeboat", value, url, secure: true, httpOnly: true, sameSite: "Strict" },
    ]);
    const page = await context.newPage();
    await page.goto(`${url}${path}`);
    await page.locator("#asof[data-state=live]").waitFor();
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
    await context.close();
  }
} finally {
  await browser.close();
  await scene.stop();
}
