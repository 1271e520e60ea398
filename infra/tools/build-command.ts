/**
 * Bundles the command into .build/lifeboat.mjs: plain JavaScript with everything in it, for Node 22 and later: undici, which client-node
 * brings, does not load on an older one.
 * Owns: that one file. Does not own: publishing it (package.json, .github/workflows).
 */
import { chmod } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const COMMAND_BUNDLE = `${root}.build/lifeboat.mjs`;

/** Some of client-node's dependencies are CommonJS, and call `require` for what is Node's own. */
const BANNER = `import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
if (Number.parseInt(process.versions.node) < 22) {
  console.error(\`error: lifeboat needs Node 22 or later, this is \${process.version}\`);
  process.exit(1);
}`;

export async function buildCommand(outfile = COMMAND_BUNDLE): Promise<string> {
  await build({
    entryPoints: [`${root}infra/cli/main.ts`],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    banner: { js: BANNER },
    legalComments: "none",
    logLevel: "error",
  });
  await chmod(outfile, 0o755);
  return outfile;
}

if (import.meta.main) console.log(await buildCommand());
