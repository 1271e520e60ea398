/** `lifeboat drain` that does not simply end: too long, interrupted, not answered, not allowed, without room. */
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { applyManifests, grant, serviceAccounts } from "../../../infra/sandbox/index.ts";
import { timesSaid, useDrains } from "./drain-stage.ts";

const on = useDrains();
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

test("given Ctrl-C, or --timeout, the drain says what is left and how to go on; run again, it joins what moves: 0", async () => {
  const node = await on.freshNode();
  const name = await on.vmOn(node);
  await on.limitMigrations(0);
  const words = ["drain", node, "--timeout", "30s"];
  const stopped = await on.lifeboat(words, { interruptAt: (said) => said.includes("cordoned") });
  expect(stopped.code).toBe(130);
  expect(stopped.out).toContain(`interrupted, node/${node} stays cordoned: 1 left (nothing has left)`);
  expect(stopped.out).toContain(`lifeboat drain ${node} --timeout 30s`);
  expect(stopped.out).toContain(`kubectl uncordon ${node}`);
  const late = await on.lifeboat(words);
  expect({ code: late.code, out: late.out }).toEqual({
    code: 1,
    out: expect.stringMatching(`node/${node} is not drained after 3\\ds: 1 left[^]*VM vms/${name}: `),
  });
  await on.limitMigrations(5);
  const { code, err } = await on.lifeboat(["drain", node]);
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining("already cordoned") });
  expect(await on.nodeOf(name)).not.toBe(node);
});

test("given an API server that does not answer for a while, the drain says so once, and continues: 0", async () => {
  const node = await on.freshNode();
  await on.vmOn(node);
  await on.limitMigrations(0);
  const meanwhile = async (waits: number) => {
    if (waits === 1) await on.stage.sandbox.apiServer.suspend();
    if (waits === 4) await on.stage.sandbox.apiServer.resume();
    if (waits === 5) await on.limitMigrations(5);
  };
  const { code, err } = await on.lifeboat(["drain", node], { meanwhile });
  expect({ code, times: timesSaid(err, ": trying again") }).toEqual({ code: 0, times: 1 });
  expect(err).toContain("the API server answers again");
});

test("given no room elsewhere, nothing is changed without a yes; with one the VM runs on, and who can change it is said", async () => {
  const node = await on.freshNode({ memory: "512Gi" });
  const name = await on.vmOn(node, { memory: "300Gi" });
  const { code, err } = await on.lifeboat(["drain", node]);
  expect({ code, err }).toEqual({
    code: 3,
    err: expect.stringMatching(/for 1 of its VMs[^]*Resources.*\n {4}an administrator: /),
  });
  expect(await on.isCordoned(node)).toBe(false);
  const tried = await on.lifeboat(["drain", node, "--yes", "--timeout", "20s"]);
  expect({ code: tried.code, out: tried.out }).toEqual({ code: 1, out: expect.stringContaining("1 left") });
  expect((await on.vmi(name)).status).toMatchObject({ phase: "Running", nodeName: node });
});

test("given an account that may not evict, the drain ends with the API server's message: 1", async () => {
  const node = await on.freshNode();
  await on.vmOn(node);
  const subject = { kind: "ServiceAccount", name: "reader", namespace: "default" } as const;
  await applyManifests(on.stage.client, [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reader", namespace: "default" } },
    ...grant("reader", subject, [
      { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["nodes"], verbs: ["patch"] },
    ]),
  ]);
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
  const token = TokenRequest.parse(await on.stage.client.post(serviceAccounts, subject, "token", body)).status.token;
  const kubeconfig = on.stage.sandbox.kubeconfig.replace(on.stage.sandbox.adminToken, token);
  const { code, err } = await on.lifeboat(["drain", node], { kubeconfig });
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining("error: you are not allowed to evict pod vms/"),
  });
  expect(err).toContain('cannot create resource "pods/eviction"');
});
