/**
 * Installs the locked dependencies if the checkout has none, or older ones than its lock file.
 * Runs before every npm script that needs them, so on the Node that happens to be installed (20 or later);
 * the scripts themselves then run on the Node 24 that is one of the dependencies.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const stamp = `${root}/node_modules/.lifeboat-lock`;
const lock = createHash("sha256")
  .update(readFileSync(`${root}/package-lock.json`))
  .digest("hex");

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) {
  console.error("Installing dependencies (npm ci) …");
  const { status, error } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    console.error(`npm ci failed: ${error?.message ?? `exit code ${status}`}`);
    process.exit(1);
  }
  writeFileSync(stamp, lock);
}
