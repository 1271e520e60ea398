/** `lifeboat drain` that does not simply end: too long, interrupted, not answered, not allowed, not understood. */
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { grant } from "../../../infra/sandbox/actors/rbac.ts";
import { serviceAccounts } from "../../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { applyManifests } from "../../../infra/sandbox/manifests.ts";
import { NAMESPACE } from "../stage.ts";
import { timesSaid, useDrains } from "./drain-stage.ts";

const on = useDrains();
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });
const isCordonedSaid = (said: string) => said.includes("cordoned");

describe("what goes on for long", () => {
  test("--timeout ends it, and says what is left: 1; run again once there is a way, it goes on: 0", async () => {
    const node = await on.freshNode();
    const name = await on.vmOn(node);
    await on.limitMigrations(0);
    const stuck = await on.lifeboat(["drain", node, "--timeout", "30s"]);
    await on.limitMigrations(5);
    expect({ code: stuck.code, out: stuck.out }).toEqual({
      code: 1,
      out: expect.stringMatching(`node/${node} is not drained after 3\\ds: 1 left[^]*VM vms/${name}: `),
    });
    expect((await on.lifeboat(["drain", node])).code).toBe(0);
    expect(await on.nodeOf(name)).not.toBe(node);
  });

  test("Ctrl-C leaves it cordoned, and says what goes on from there; which it does, joining what moves: 130, then 0", async () => {
    const node = await on.freshNode();
    const names = [await on.vmOn(node), await on.vmOn(node), await on.vmOn(node)];
    await on.limitMigrations(0);
    const words = ["drain", node, "--timeout", "1h"];
    const stopped = await on.lifeboat(words, { interruptAt: isCordonedSaid });
    expect(stopped.code).toBe(130);
    expect(stopped.out).toContain(`interrupted, node/${node} stays cordoned: 3 left (nothing has left)`);
    expect(stopped.out).toContain(`lifeboat drain ${node} --timeout 1h`);
    expect(stopped.out).toContain(`kubectl uncordon ${node}`);
    expect(await on.isCordoned(node)).toBe(true);
    await on.limitMigrations(5);
    const resumed = await on.lifeboat(words);
    expect({ code: resumed.code, err: resumed.err }).toEqual({
      code: 0,
      err: expect.stringContaining("already cordoned"),
    });
    for (const name of names) {
      expect(await on.nodeOf(name)).not.toBe(node);
      const { items } = await on.stage.client.list(kubevirt.migrations, NAMESPACE);
      expect(items.filter(({ spec }) => spec.vmiName === name)).toHaveLength(1);
    }
  });

  test("an API server that does not answer for a while: said once, and gone on: 0", async () => {
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
});

describe("what cannot be done", () => {
  test("a node that does not exist: 1", async () => {
    const { code, err } = await on.lifeboat(["drain", "nowhere"]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('node "nowhere" not found') });
  });

  test("an account that may not evict: 1, in the API server's words", async () => {
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
});
