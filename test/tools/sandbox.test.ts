/**
 * `npm run sandbox` comes and goes cleanly.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../infra/sandbox/actors/client.ts";
import { namespaces, nodes, type Resource } from "../../infra/sandbox/actors/resources.ts";
import { kubeVirts, virtualMachineInstances } from "../../infra/sandbox/kubevirt/resources.ts";

const main = fileURLToPath(new URL("../../infra/tools/sandbox.ts", import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandbox-"));
});
afterAll(() => rm(folder, { recursive: true }));

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
