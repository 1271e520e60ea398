/** A bundle in a bare workerd: no Miniflare, no dev proxy, nothing before the Worker but workerd's own HTTP server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { modulesOf } from "../../tools/build-worker.ts";
import { cpuMsOf } from "./processes.ts";

export interface BareWorkerd {
  readonly url: string;
  /** Of the process so far, all threads. */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

export interface BareWorkerdOptions {
  readonly bundle: string;
  /** The secret `CLUSTERS`. */
  readonly clusters?: Readonly<Record<string, unknown>>;
  /** API servers it trusts. */
  readonly caPem?: string;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** workerd comes with miniflare, as the version that this runs. */
function executable(): string {
  const requireFromMiniflare = createRequire(import.meta.resolve("miniflare"));
  return z.object({ default: z.string() }).parse(requireFromMiniflare("workerd")).default;
}

export async function startBareWorkerd(options: BareWorkerdOptions): Promise<BareWorkerd> {
  // A folder that no other user can read: CLUSTERS holds tokens.
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-bench-"));
  const modules = await modulesOf(options.bundle);
  await writeFile(
    join(folder, "config.capnp"),
    await configurationOf(
      options,
      modules.map((path) => basename(path)),
    ),
  );
  // Embedded: parsing a configuration with the source as a text in it would be measured as start-up.
  for (const module of modules) await copyFile(module, join(folder, basename(module)));
  const child = spawn(executable(), ["serve", "config.capnp", "--control-fd=3"], {
    // Lifeboat's log is not read: that would be work for this process, beside what is measured.
    stdio: ["ignore", "ignore", "inherit", "pipe"],
    cwd: folder,
  });
  const end = once(child, "close");
  const port = await listeningPort(child.stdio[3]);
  await rm(folder, { recursive: true });
  return {
    url: `http://127.0.0.1:${port}`,
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    async stop() {
      child.kill();
      await end;
    },
  };
}

const Listening = z.object({ event: z.literal("listen"), port: z.number() });

async function listeningPort(control: unknown): Promise<number> {
  if (!(control instanceof Readable)) throw new Error("workerd has no control channel");
  for await (const line of createInterface(control)) return Listening.parse(JSON.parse(line)).port;
  throw new Error("workerd does not say where it listens");
}

/** Cap'n Proto's text takes JSON's strings. */
async function configurationOf({ clusters, caPem }: BareWorkerdOptions, modules: readonly string[]): Promise<string> {
  const text = JSON.stringify;
  const bindings = clusters ? `bindings = [(name = "CLUSTERS", text = ${text(text(clusters))})],` : "";
  const trusted = caPem ? `, tlsOptions = (trustBrowserCas = true, trustedCertificates = [${text(caPem)}])` : "";
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"]${trusted})),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [${modules.map((module) => `(name = ${text(module)}, esModule = embed ${text(module)})`).join(", ")}],
  ${bindings}
  compatibilityDate = "${await compatibilityDate()}",
);
`;
}

async function compatibilityDate(): Promise<string> {
  const date = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(await readFile(`${root}/wrangler.toml`, "utf8"))?.[1];
  if (date === undefined) throw new Error("wrangler.toml names no compatibility_date");
  return date;
}
