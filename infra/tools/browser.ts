/** Starts headless Chromium, as an npm package brings it, for the tests and the pictures of the pages. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = `${ROOT}/.build/chromium`;

/** Options without which Chromium checks for updates and contacts Google's hosts. */
const QUIET = [
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
  // A container may have too little shared memory for a screenshot.
  "--disable-dev-shm-usage",
];

/** The package unpacks Chromium, fonts, and libraries that a bare machine lacks, into the temporary folder. */
const UNPACK = 'await (await import("@sparticuz/chromium")).default.executablePath()';

/** The configuration of fonts. The package itself uses these folders only on other platforms. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${FOLDER}/fonts</dir>
  <cachedir>${FOLDER}/fonts-cache</cachedir>
</fontconfig>
`;

/** Opens the browser. The first time takes seconds, because Chromium is unpacked. */
export async function openBrowser(): Promise<Browser> {
  if (!existsSync(FOLDER)) await unpack();
  return await chromium.launch({
    executablePath: `${FOLDER}/chromium`,
    // In a container the browser may run as root. It opens only the pages under test.
    args: ["--no-sandbox", "--disable-gpu", ...QUIET],
    env: { ...process.env, LD_LIBRARY_PATH: `${FOLDER}/al2023/lib`, FONTCONFIG_PATH: `${FOLDER}/fonts` },
  });
}

/** Unpacks into another folder and then moves the result, because other processes may do the same. */
async function unpack(): Promise<void> {
  await mkdir(`${ROOT}/.build`, { recursive: true });
  const aside = await mkdtemp(`${ROOT}/.build/unpacking-`);
  // The package runs in its own process, because it changes LD_LIBRARY_PATH, which would affect workerd.
  const env = { ...process.env, TMPDIR: aside, AWS_LAMBDA_JS_RUNTIME: "nodejs24.x" };
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", UNPACK], { cwd: ROOT, env });
  await writeFile(`${aside}/fonts/fonts.conf`, FONTS);
  // If another process was faster, its result stays.
  await rename(aside, FOLDER).catch(() => rm(aside, { recursive: true }));
}
