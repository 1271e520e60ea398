/**
 * Bundles the command into .build/lifeboat.mjs: plain JavaScript with everything in it, for Node 22 and later: undici, which client-node
 * brings, does not load on an older one.
 */
import { globSync, readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { BANNER } from "./build-image.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const COMMAND_BUNDLE = `${root}.build/lifeboat.mjs`;

const OF_OLD_NODES = `
if (Number.parseInt(process.versions.node) < 22) {
  console.error(\`error: lifeboat needs Node 22 or later, this is \${process.version}. In Lifeboat's own repository \\\`npm run lifeboat --\\\` brings its own.\`);
  process.exit(1);
}`;

export async function buildCommand(outfile = COMMAND_BUNDLE): Promise<string> {
  const { RELEASED_IMAGE } = process.env;
  const released = RELEASED_IMAGE === undefined ? {} : { RELEASED_IMAGE: JSON.stringify(RELEASED_IMAGE) };
  await build({
    entryPoints: [`${root}infra/cli/main.ts`],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    banner: { js: BANNER + OF_OLD_NODES },
    define: { BUNDLED_MANIFESTS: JSON.stringify(manifests()), ...released },
    legalComments: "none",
    logLevel: "error",
  });
  await chmod(outfile, 0o755);
  return outfile;
}

/** By path below `infra`, as infra/cli/install/manifests.ts asks for them. */
function manifests(): Readonly<Record<string, string>> {
  const paths = globSync("{kubernetes,relay/kubernetes,server/kubernetes}/**/*.yaml", {
    cwd: `${root}infra`,
  }).toSorted();
  return Object.fromEntries(paths.map((path) => [path, readFileSync(`${root}infra/${path}`, "utf8")]));
}

if (import.meta.main) console.log(await buildCommand());
