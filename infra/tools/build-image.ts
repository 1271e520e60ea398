/** Bundles the server and the relay for the container image: each into one file in .build/image. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const IMAGE_FOLDER = `${root}.build/image`;

/** Defines `require`, because some dependencies of client-node are CommonJS modules. */
export const BANNER = `import { createRequire } from "node:module";
const require = createRequire(import.meta.url);`;

export async function buildImage(): Promise<string> {
  await build({
    absWorkingDir: root,
    entryPoints: { server: "infra/server/main.ts", relay: "infra/relay/main.ts" },
    outdir: IMAGE_FOLDER,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    banner: { js: BANNER },
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    logLevel: "error",
  });
  return IMAGE_FOLDER;
}

if (import.meta.main) console.log(await buildImage());
