/** Bundles the server and the relay for the image into .build/image: one file each, which contains everything. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const IMAGE_FOLDER = `${root}.build/image`;

/** Some dependencies of client-node are CommonJS, and call `require` for Node's own modules. */
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
