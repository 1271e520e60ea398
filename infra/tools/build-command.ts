/** Bundles the command and its dependencies into .build/lifeboat.mjs for Node.js 20 and later. */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { BANNER } from "./build-image.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const COMMAND_BUNDLE = `${root}.build/lifeboat.mjs`;
const OLDEST_NODE = 20;

const FOR_OLD_NODES = `
if (Number.parseInt(process.versions.node) < ${OLDEST_NODE}) {
  console.error(\`error: lifeboat needs Node.js ${OLDEST_NODE} or later; this is \${process.version}.\`);
  process.exit(1);
}`;

/** Bundles the command, and returns the paths of the bundled source files. */
export async function buildCommand(outfile = COMMAND_BUNDLE): Promise<readonly string[]> {
  const { RELEASED_IMAGE } = process.env;
  const released = RELEASED_IMAGE === undefined ? {} : { RELEASED_IMAGE: JSON.stringify(RELEASED_IMAGE) };
  const { metafile } = await build({
    metafile: true,
    absWorkingDir: root,
    entryPoints: ["infra/cli/main.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: `node${OLDEST_NODE}`,
    inject: ["infra/cli/older-node.ts"],
    // client-node depends on undici 8, which does not run on Node.js 20. undici 7 has everything that client-node uses.
    alias: { undici: "undici-7" },
    banner: { js: BANNER + FOR_OLD_NODES },
    define: { BUNDLED_MANIFESTS: JSON.stringify(manifests()), BUILT_FROM: JSON.stringify(commit()), ...released },
    minifySyntax: true,
    minifyWhitespace: true,
    // Splits the bundle into lines, because a stack trace prints the whole line in which an error occurred.
    lineLimit: 200,
    legalComments: "none",
    logLevel: "error",
  });
  await chmod(outfile, 0o755);
  return Object.keys(metafile.inputs);
}

function manifests(): Readonly<Record<string, string>> {
  const paths = globSync("{kubernetes,relay/kubernetes,server/kubernetes}/**/*.yaml", {
    cwd: `${root}infra`,
  }).toSorted();
  return Object.fromEntries(paths.map((path) => [path, readFileSync(`${root}infra/${path}`, "utf8")]));
}

/**
 * Returns the commit of the source files. Appends `-dirty` if a file has changed. Returns `unknown` outside of a Git
 * repository.
 */
function commit(): string {
  const { status, stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], {
    cwd: root,
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : "unknown";
}

if (import.meta.main) {
  await buildCommand();
  console.log(COMMAND_BUNDLE);
}
