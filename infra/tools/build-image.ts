/** Bundles the server and the relay into one file each in .build/image, for the container image. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const IMAGE_FOLDER = `${root}.build/image`;

/** Defines `require` for dependencies of client-node that are CommonJS modules. */
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
