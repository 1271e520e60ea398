/**
 * `npm run sandbox`: its flags, and that it comes and goes cleanly.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../infra/sandbox/actors/client.ts";
import { namespaces, nodes, type Resource } from "../../infra/sandbox/actors/resources.ts";
import { kubeVirts, virtualMachineInstances } from "../../infra/sandbox/kubevirt/resources.ts";
import { parseArguments } from "../../infra/tools/sandbox-command-line.ts";

describe("flags", () => {
  // prettier-ignore
  const rows: readonly (readonly [args: readonly string[], meaning: object])[] = [
    [[],                                       { port: 0,     kubeconfig: resolve("sandbox.kubeconfig"), empty: false, help: false }],
    [["--empty"],                              { port: 0,     kubeconfig: resolve("sandbox.kubeconfig"), empty: true,  help: false }],
    [["--port", "6443", "--kubeconfig", "/k"], { port: 6443,  kubeconfig: "/k",                          empty: false, help: false }],
    [["--help"],                               { port: 0,     kubeconfig: resolve("sandbox.kubeconfig"), empty: false, help: true  }],
    [["--port=65535"],                         { port: 65535, kubeconfig: resolve("sandbox.kubeconfig"), empty: false, help: false }],
  ];
  test.each(rows)("%j", (args, meaning) => expect(parseArguments(args)).toEqual(meaning));

  // prettier-ignore
  const wrong: readonly (readonly [args: readonly string[], message: string])[] = [
    [["--port", "http"],   '--port: expected a port number, got "http"'],
    [["--port", "65536"],  '--port: expected a port number, got "65536"'],
    [["--port", "-1"],     "--port"],
    [["--kubeconfig", ""], "--kubeconfig: expected the name of a file"],
  ];
  test.each(wrong)("%j is refused", (args, message) => expect(() => parseArguments(args)).toThrow(message));
});

describe("the process", () => {
  const main = fileURLToPath(new URL("../../infra/tools/sandbox.ts", import.meta.url));
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sandbox-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("a wrong flag: usage on stderr, exit code 2", async () => {
    const child = spawn(process.execPath, [main, "--bogus"]);
    const output: string[] = [];
    child.stderr.on("data", (chunk) => output.push(String(chunk)));
    const [code] = await once(child, "close");
    expect(code).toBe(2);
    expect(output.join("")).toMatch(/--bogus[^]*Usage: npm run sandbox/);
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "--empty: an administrator's kubeconfig, and it ends by itself on %s",
    async (signal) => {
      const kubeconfig = join(folder, signal);
      const child = spawn(process.execPath, [main, "--empty", "--kubeconfig", kubeconfig], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [greeting] = await once(child.stdout, "data");
      expect(String(greeting)).toContain(`export KUBECONFIG=${kubeconfig}`);
      const config = new KubeConfig();
      config.loadFromString(await readFile(kubeconfig, "utf8"));
      const client = createClient(config);
      expect((await client.list(namespaces)).items.map(({ metadata }) => metadata.name)).toContain("kube-system");
      const empty: readonly Resource[] = [nodes, virtualMachineInstances, kubeVirts];
      for (const resource of empty) expect((await client.list(resource)).items).toEqual([]);
      const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
      expect(await client.raw({ method: "GET", path: webhooks })).toMatchObject({ code: 200, body: { items: [] } });
      client.close();
      child.kill(signal);
      expect(await once(child, "close")).toEqual([0, null]);
    },
  );
});
