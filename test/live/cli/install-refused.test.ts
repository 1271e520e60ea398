/**
 * Tests that `lifeboat install` fails if a value or a precondition is missing, and that an installation of the Worker
 * replaces the in-cluster server.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { manifestsIn, nameOf } from "../../../infra/cli/install/manifests.ts";
import { applyManifests, kubeVirts, secrets } from "../../../infra/sandbox/index.ts";
import { WEBHOOK_CONFIGURATIONS } from "../stage.ts";
import { type InstallStage, startInstallStage, untilFilled } from "./install-stage.ts";

let stage: InstallStage;
function useCluster(): void {
  beforeAll(async () => void (stage = await startInstallStage()));
  afterAll(() => stage.stop());
}

const install: InstallStage["install"] = (...said) => stage.install(...said);

describe("install is refused", () => {
  useCluster();

  // prettier-ignore
  const MISTAKES = [
  ["install",                                            "expected either --in-cluster or --worker URL: Lifeboat is not installed"],
  ["install --in-cluster",                               "--image: expected the image of the server"],
  ["install --worker https://a.example --cluster ../x",  '--cluster: expected letters, digits, ".", "_" and "-", got "../x"'],
] as const;

  test("with exit code 2 if a value is missing or is no name", async () => {
    for (const [line, message] of MISTAKES) {
      const { code, err } = await stage.call(line);
      expect({ code, message: err[0] }).toEqual({ code: 2, message: expect.stringContaining(message) });
    }
  });

  test("with exit code 1 if the entry cannot be written, and the new token is deleted", async () => {
    const { code, err } = await install("--entry /nowhere/entry.json", { meanwhile: () => untilFilled(stage.sandbox) });
    expect({ code, said: err.at(-1) }).toEqual({
      code: 1,
      said: expect.stringContaining("/nowhere/entry.json cannot be written: ENOENT"),
    });
    expect((await stage.sandbox.client.list(secrets)).items).toEqual([]);
  });

  test("with exit code 1 and no webhook if the Worker never gets its entry", async () => {
    const { code, err } = await install("--timeout 1m", { meanwhile: () => undefined });
    expect(code).toBe(1);
    expect(err.join("\n")).toMatch(
      /Keep .*entry\.json secret, and give it to the Worker .*\n +npm run cluster -- add prod --entry/,
    );
    expect(err.join("\n")).toContain(
      "error: the Worker is not ready: it does not know this cluster, or has another entry for it",
    );
    expect(await stage.sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })).toBeUndefined();
  });

  test("without KubeVirt's gate for the shield, and succeeds with it", async () => {
    const { code, out, err } = await install("--with guard,shield");
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err.join("\n")).toContain("--with shield needs KubeVirt's feature gate Plugins, which is off");
    const [, namespace = "", name = "", body = ""] =
      /kubectl -n (\S+) patch kubevirt (\S+) --type merge -p '(.*featureGates.*)'/.exec(err.join("\n")) ?? [];
    await stage.sandbox.client.patch(
      kubeVirts,
      { namespace, name },
      { type: "merge", body: z.looseObject({}).parse(JSON.parse(body)) },
    );
    const again = await install("--with guard,shield");
    expect([again.code, again.out]).toEqual([
      0,
      expect.arrayContaining(["plugin.plugin.kubevirt.io/lifeboat-shield created"]),
    ]);
  });
});

describe("given Lifeboat in the cluster, an installation of the Worker", () => {
  useCluster();

  test("points the webhook to the Worker, and removes the server", async () => {
    const [shipped] = manifestsIn("kubernetes/webhook.yaml");
    const webhook = z.looseObject({ webhooks: z.array(z.looseObject({})) }).parse(shipped);
    const service = {
      namespace: "lifeboat-system",
      name: "lifeboat-server",
      path: "/clusters/local/admission/evictions/old",
    };
    const clientConfig = { service, caBundle: Buffer.from(stage.sandbox.authority.caPem).toString("base64") };
    const body = { ...webhook, webhooks: webhook.webhooks.map((one) => ({ ...one, clientConfig })) };
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    expect((await stage.sandbox.client.raw({ method: "POST", path, body })).code).toBe(201);

    const server = ["deployment", "service", "lease"].flatMap((name) => {
      return manifestsIn(`server/kubernetes/component/${name}.yaml`);
    });
    await applyManifests(stage.sandbox.client, [...manifestsIn("kubernetes/namespace.yaml"), ...server]);

    const { code, out } = await install();
    expect(code).toBe(0);
    const removed = server.map((one) => `${nameOf(one)} deleted`);
    expect(out.filter((line) => line.endsWith(" deleted")).toSorted()).toEqual(removed.toSorted());
    const found = await stage.sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" });
    expect(found as unknown).toMatchObject({
      webhooks: [{ clientConfig: { url: expect.stringContaining(stage.worker.url) } }],
    });
    expect(JSON.stringify(found)).not.toContain(service.name);
  });
});
