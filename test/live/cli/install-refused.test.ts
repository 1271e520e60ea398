/** `lifeboat install` where something is missing, or another form is there. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { manifestsIn, nameOf } from "../../../infra/cli/install/manifests.ts";
import { applyManifests, kubeVirts, secrets } from "../../../infra/sandbox/index.ts";
import { WEBHOOK_CONFIGURATIONS } from "../stage.ts";
import { type InstallStage, startInstallStage, untilFilled } from "./install-stage.ts";

let stage: InstallStage;
/** One cluster for the tests of a group. */
function useCluster(): void {
  beforeAll(async () => void (stage = await startInstallStage()));
  afterAll(() => stage.stop());
}

const install: InstallStage["install"] = (...said) => stage.install(...said);

describe("given what keeps it from being installed", () => {
  useCluster();

  // prettier-ignore
  const MISTAKES = [
  ["install",                                            "expected either --in-cluster or --worker URL: Lifeboat is not installed"],
  ["install --in-cluster",                               "--image: expected the image of the server"],
  ["install --worker https://a.example --cluster ../x",  '--cluster: expected letters, digits, ".", "_" and "-", got "../x"'],
] as const;

  test("what is missing or no name is said: exit code 2", async () => {
    for (const [line, message] of MISTAKES) {
      const { code, err } = await stage.call(line);
      expect({ code, message: err[0] }).toEqual({ code: 2, message: expect.stringContaining(message) });
    }
  });

  test("an entry that cannot be written: exit code 1, and the token that was made for it is gone", async () => {
    const { code, err } = await install("--entry /nowhere/entry.json", { meanwhile: () => untilFilled(stage.sandbox) });
    expect({ code, said: err.at(-1) }).toEqual({
      code: 1,
      said: expect.stringContaining("/nowhere/entry.json cannot be written: ENOENT"),
    });
    expect((await stage.sandbox.client.list(secrets)).items).toEqual([]);
  });

  test("the Worker is never told: what to do, then exit code 1, and no webhook", async () => {
    const { code, err } = await install("--timeout 1m", { meanwhile: () => undefined });
    expect(code).toBe(1);
    expect(err.join("\n")).toMatch(/Give it .*entry\.json .*\n +npm run cluster -- add prod --entry/);
    expect(err.join("\n")).toContain(
      "error: the Worker is not ready: it does not know this cluster, or this entry of it",
    );
    expect(await stage.sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })).toBeUndefined();
  });

  test("the shield without KubeVirt's gate: the command that switches it on, and nothing is applied; with the gate it is", async () => {
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

describe("given Lifeboat in the cluster", () => {
  useCluster();

  test("its webhook leads to the Worker, with nothing of the Service left, and nothing runs there any more", async () => {
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
