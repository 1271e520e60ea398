/** Builds the package into dist: JavaScript, type declarations and data files. */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, rmSync } from "node:fs";

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
const { status, error } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) throw new Error("tsc failed", { cause: error });
for (const file of globSync("*/**/*.yaml", { exclude: ["dist/**", "node_modules/**", "test/**"] }))
  cpSync(file, `dist/${file}`);
cpSync("../../LICENSE", "dist/LICENSE");
