/** Runs the server and the relay from their bundled image in plain Node, without installed packages. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod/mini";
import { IMAGE_FOLDER } from "../../../infra/tools/build-image.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

export interface Image {
  readonly folder: string;
  /** The Node arguments for the server, from CMD in the image. */
  readonly command: readonly string[];
  remove(): Promise<void>;
}

export async function layOutImage(): Promise<Image> {
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-image-"));
  await cp(IMAGE_FOLDER, folder, { recursive: true });
  const dockerfile = await readFile(`${root}infra/Dockerfile`, "utf8");
  const [entry, command] = ["ENTRYPOINT", "CMD"].map((word) => {
    const [, words = "[]"] = new RegExp(`^${word} (.*)$`, "m").exec(dockerfile) ?? [];
    return z.array(z.string()).parse(JSON.parse(words));
  });
  if (entry?.join(" ") !== "node") throw new Error(`the image runs ${entry?.join(" ")}`);
  return { folder, command: command ?? [], remove: () => rm(folder, { recursive: true }) };
}

const Line = z.record(z.string(), z.unknown());

export interface RelayProcess {
  readonly child: ChildProcess;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly output: () => string;
  port(): Promise<number>;
  signal(name: "SIGTERM"): void;
  readonly exited: Promise<number>;
}

export function relayArguments(): readonly string[] {
  const text = readFileSync(`${root}infra/relay/kubernetes/deployment.yaml`, "utf8");
  const [, words = ""] = /^ +args: \[(.*)\]$/m.exec(text) ?? [];
  return words.split(", ");
}

export function runRelay(image: Image, env: Readonly<Record<string, string>>): RelayProcess {
  return run({ ...image, command: relayArguments() }, env);
}

export function run({ folder, command }: Image, env: Readonly<Record<string, string>>): RelayProcess {
  const child = spawn(process.execPath, [...command], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const parse = () =>
    output
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => Line.parse(JSON.parse(line)));
  const exited = once(child, "close").then(([code]) => Number(code));
  return {
    child,
    get lines() {
      return parse();
    },
    output: () => output,
    async port() {
      while (child.exitCode === null) {
        const started = parse().find(({ message }) => message === "started");
        if (started !== undefined) return Number(started["port"]);
        await Promise.race([once(child.stdout, "data"), exited]);
      }
      throw new Error(`the process ended: ${output}`);
    },
    signal: (name) => void child.kill(name),
    exited,
  };
}
