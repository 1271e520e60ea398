/** The Worker's token of a cluster: revoked, it stays revoked; rotated, nothing is interrupted, and the old one opens nothing any more. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { applyManifests, secrets } from "../../../infra/sandbox/index.ts";
import { startWorker } from "../../../infra/lab/stage/worker.ts";
import { type InstallStage, kustomized, startInstallStage, untilFilled } from "./install-stage.ts";
import type { Said } from "../../support/cli/lifeboat.ts";

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

async function restartWorker(): Promise<void> {
  await stage.worker.stop();
  const clusters = { prod: await stage.readEntry() };
  stage.worker = await startWorker({ authority: stage.sandbox.authority, clusters, port: stage.worker.port });
}

/** The Worker gets the entry when the command waits for that. */
async function rotate(old: string, whileWaiting: () => unknown = () => undefined): Promise<Said> {
  let isGiven = false;
  const meanwhile = async () => {
    await untilFilled(stage.sandbox);
    await whileWaiting();
    if (isGiven || (await stage.readEntry()).token === old) return;
    isGiven = true;
    await restartWorker();
    await stage.worker.scheduled();
  };
  return await stage.call(`rotate --cluster prod --entry ${stage.entryFile}`, { meanwhile });
}

test("a token that has leaked: after its revocation nothing brings it back", async () => {
  const { token: leaked } = await stage.readEntry();
  expect(await stage.codeOf(leaked)).toBe(200);
  await revoke();
  expect(await stage.codeOf(leaked)).toBe(401);

  const installed = await stage.install();
  expect(installed).toMatchObject({ code: 1 });
  expect(installed.err.at(-1)).toBe(
    `error: this cluster does not accept the token in ${stage.entryFile}: it was revoked, or has ended. ` +
      `To make another one: lifeboat rotate --cluster prod --entry ${stage.entryFile}`,
  );
  expect(await stage.call("install")).toMatchObject({ code: 0 });
  await applyManifests(stage.sandbox.client, kustomized());
  expect(await secretNames()).toEqual([]);

  const rotated = await rotate(leaked);
  expect(rotated).toMatchObject({ code: 0, err: expect.arrayContaining(["√ the Worker uses its new token"]) });
  const { token } = await stage.readEntry();
  expect([await stage.codeOf(leaked), await stage.codeOf(token)]).toEqual([401, 200]);
  expect(await stage.install("--force-conflicts")).toMatchObject({ code: 0 });
});

test("rotated: until the Worker has the new token the old one goes on, and afterwards it opens nothing", async () => {
  const before = await stage.readEntry();
  const [old = ""] = await secretNames();
  const opened: number[] = [];
  const { code, out, err } = await rotate(before.token, async () => opened.push(await stage.codeOf(before.token)));
  expect({ code, out }).toEqual({
    code: 0,
    out: [
      expect.stringMatching(/^secret\/lifeboat-token-\w{5} -n lifeboat-system created$/),
      `secret/${old} -n lifeboat-system deleted`,
    ],
  });
  expect(err).toEqual([
    `Secret ${old}, with the old token, stays until the Worker has the new one.`,
    `The Worker needs the new token. Give it ${stage.entryFile} (keep that secret), one of:`,
    ...Array.from({ length: 3 }, () => expect.any(String)),
    "√ the Worker uses its new token",
    "For 90 s more it may use the old one as well. Waiting …",
  ]);
  expect(new Set(opened)).toEqual(new Set([200]));
  const after = await stage.readEntry();
  expect(after).toEqual({ ...before, token: after.token });
  expect([await stage.codeOf(before.token), await stage.codeOf(after.token)]).toEqual([401, 200]);
  const { operatorToken } = after;
  const headers = { authorization: `Bearer ${operatorToken}` };
  expect((await stage.worker.fetch("/clusters/prod/readyz", { headers })).status).toBe(200);
  expect(await secretNames()).not.toContain(old);
});

test("given no entry, rotate says which name it has looked for, and how to say another", async () => {
  const said = await stage.call(`rotate --entry ${stage.entryFile}.none --cluster prod`);
  expect(said).toMatchObject({
    code: 1,
    out: [],
    err: [expect.stringMatching(/there is no .*\.none, the Worker's entry for cluster "prod": .* say --cluster NAME/)],
  });
});
