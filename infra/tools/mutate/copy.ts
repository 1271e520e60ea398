/**
 * A copy of the work tree to run tests in: what they write is not written into the tree, and edits of the tree do not change
 * a run that has begun.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Copy {
  readonly root: string;
  readonly files: readonly string[];
  readonly remove: () => void;
}

export function copyTree(from: string): Copy {
  const root = mkdtempSync(join(tmpdir(), "lifeboat-mutate-"));
  const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], { cwd: from, encoding: "utf8" });
  const files = listed.split("\0").filter((file) => file !== "" && existsSync(join(from, file)));
  for (const file of files) cpSync(join(from, file), join(root, file));
  symlinkSync(join(from, "node_modules"), join(root, "node_modules"));
  return { root, files, remove: () => rmSync(root, { recursive: true, force: true }) };
}
