/** Starts headless Chromium for tests and screenshots of the pages. Chromium comes from an npm package. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = `${ROOT}/.build/chromium`;

const QUIET = [
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
  // In a container, /dev/shm can be too small for a screenshot.
  "--disable-dev-shm-usage",
];

const UNPACK = 'await (await import("@sparticuz/chromium")).default.executablePath()';

/** The configuration of fonts. The package's configuration contains only folders of AWS Lambda. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${FOLDER}/fonts</dir>
  <cachedir>${FOLDER}/fonts-cache</cachedir>
</fontconfig>
`;

/** Opens the browser. The first call unpacks Chromium, which takes several seconds. */
export async function openBrowser(): Promise<Browser> {
  if (!existsSync(FOLDER)) await unpack();
  return await chromium.launch({
    executablePath: `${FOLDER}/chromium`,
    // Chromium needs `--no-sandbox` if it runs as root. Tests and screenshots open only trusted pages.
    args: ["--no-sandbox", "--disable-gpu", ...QUIET],
    env: { ...process.env, LD_LIBRARY_PATH: `${FOLDER}/al2023/lib`, FONTCONFIG_PATH: `${FOLDER}/fonts` },
  });
}

/** Unpacks into a separate folder and then renames it, because several processes can unpack at the same time. */
async function unpack(): Promise<void> {
  await mkdir(`${ROOT}/.build`, { recursive: true });
  const aside = await mkdtemp(`${ROOT}/.build/unpacking-`);
  // Runs in a separate process, because the package changes LD_LIBRARY_PATH, which would affect workerd.
  const env = { ...process.env, TMPDIR: aside, AWS_LAMBDA_JS_RUNTIME: "nodejs24.x" };
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", UNPACK], { cwd: ROOT, env });
  await writeFile(`${aside}/fonts/fonts.conf`, FONTS);
  await rename(aside, FOLDER).catch(() => rm(aside, { recursive: true }));
}
