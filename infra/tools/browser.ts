/** Chromium, headless, as an npm package brings it: for the pages' tests and pictures. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = `${ROOT}/.build/chromium`;

/** Without these it looks for updates and for Google's hosts. */
const QUIET = [
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
  // A container may have too little shared memory for a picture.
  "--disable-dev-shm-usage",
];

/** The package unpacks Chromium, fonts, and libraries that a bare machine lacks, into the temporary folder. */
const UNPACK = 'await (await import("@sparticuz/chromium")).default.executablePath()';

/** The package's own file looks for them where another machine has them. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${FOLDER}/fonts</dir>
  <cachedir>${FOLDER}/fonts-cache</cachedir>
</fontconfig>
`;

/** Opens the browser. The first time takes seconds. */
export async function openBrowser(): Promise<Browser> {
  if (!existsSync(FOLDER)) await unpack();
  return await chromium.launch({
    executablePath: `${FOLDER}/chromium`,
    // It may be root that starts it, as in a container; only the pages under test are opened.
    args: ["--no-sandbox", "--disable-gpu", ...QUIET],
    env: { ...process.env, LD_LIBRARY_PATH: `${FOLDER}/al2023/lib`, FONTCONFIG_PATH: `${FOLDER}/fonts` },
  });
}

/** Unpacks elsewhere and then moves the result, because another process may do the same. */
async function unpack(): Promise<void> {
  await mkdir(`${ROOT}/.build`, { recursive: true });
  const aside = await mkdtemp(`${ROOT}/.build/unpacking-`);
  // In a process of its own: there the package changes LD_LIBRARY_PATH, which is none of workerd's business.
  const env = { ...process.env, TMPDIR: aside, AWS_LAMBDA_JS_RUNTIME: "nodejs24.x" };
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", UNPACK], { cwd: ROOT, env });
  await writeFile(`${aside}/fonts/fonts.conf`, FONTS);
  // The one that came first counts.
  await rename(aside, FOLDER).catch(() => rm(aside, { recursive: true }));
}
