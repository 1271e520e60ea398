/**
 * Installs the locked dependencies if one is missing. Every npm script runs this file first, on the machine's Node.js
 * (20 or later). The npm script itself then runs on Node.js 24, which is a dependency.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** @param {string} file @returns {Record<string, { version?: string, optional?: boolean }>} */
function packagesOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).packages : {};
}

/**
 * Compares the lock file with node_modules/.package-lock.json, which npm writes last. Skips optional packages, because
 * npm installs only those of this platform.
 */
function isInstalled() {
  const installed = packagesOf(`${root}/node_modules/.package-lock.json`);
  return Object.entries(packagesOf(`${root}/package-lock.json`)).every(
    ([path, { version, optional }]) => path === "" || optional || installed[path]?.version === version,
  );
}

if (!isInstalled()) {
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
}
