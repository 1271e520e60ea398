/**
 * Tests that a revoked token of the Worker stays revoked, and that a rotation revokes the old token without an
 * interruption.
 */
import { rm, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { applyManifests, secrets } from "../../../infra/sandbox/index.ts";
import { type InstallStage, kustomized, startInstallStage, untilFilled } from "./install-stage.ts";
import { documentsIn } from "../../../infra/cli/install/manifests.ts";

const SYSTEM = "lifeboat-system";

let stage: InstallStage;
beforeAll(async () => void (stage = await startInstallStage()));
beforeEach(async () => expect(await stage.install()).toMatchObject({ code: 0 }));
afterAll(() => stage.stop());

async function secretNames(): Promise<readonly string[]> {
  const { items } = await stage.sandbox.client.list(secrets, SYSTEM);
  return items.map(({ metadata }) => metadata.name);
}

async function revoke(): Promise<void> {
  for (const name of await secretNames()) await stage.sandbox.client.delete(secrets, { namespace: SYSTEM, name });
}

test("a revoked token stays revoked", async () => {
  const { token: leaked } = await stage.readEntry();
  expect(await stage.codeOf(leaked)).toBe(200);
  await revoke();
  expect(await stage.codeOf(leaked)).toBe(401);

  const installed = await stage.install();
  expect(installed).toMatchObject({ code: 1 });
  expect(installed.err.at(-1)).toBe(
    `error: this cluster does not accept the token in ${stage.entryFile}: it was revoked, or has expired. ` +
      "Remove the file and run this command again to make new tokens",
  );
  expect(await stage.call("install --yes")).toMatchObject({ code: 0 });
  await applyManifests(stage.sandbox.client, kustomized());
  expect(await secretNames()).toEqual([]);

  await rm(stage.entryFile);
  expect(await stage.install("--force-conflicts")).toMatchObject({ code: 0 });
  const { token } = await stage.readEntry();
  expect([await stage.codeOf(leaked), await stage.codeOf(token)]).toEqual([401, 200]);
});

test("during a rotation the old token works until the Worker has the new one, and afterwards is invalid", async () => {
  const { client } = stage.sandbox;
  const before = await stage.readEntry();
  const [old = ""] = await secretNames();
  const [body] = documentsIn("kubernetes/worker/token.yaml");
  await client.raw({ method: "POST", path: `/api/v1/namespaces/${SYSTEM}/secrets`, body });
  await untilFilled(stage.sandbox);
  const made = (await client.list(secrets, SYSTEM)).items.find(({ metadata }) => metadata.name !== old);
  const token = Buffer.from(made?.data?.["token"] ?? "", "base64").toString();
  expect([await stage.codeOf(before.token), await stage.codeOf(token)]).toEqual([200, 200]);
  await writeFile(stage.entryFile, JSON.stringify({ ...before, token }));
  await stage.giveEntry();
  await client.delete(secrets, { namespace: SYSTEM, name: old });
  expect([await stage.codeOf(before.token), await stage.codeOf(token)]).toEqual([401, 200]);
  const headers = { authorization: `Bearer ${before.operatorToken}` };
  expect((await stage.worker.fetch("/clusters/prod/readyz", { headers })).status).toBe(200);
});
