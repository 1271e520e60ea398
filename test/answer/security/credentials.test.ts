/**
 * Tests each sentence of the table in SECURITY.md. The tests act as the holder of each credential in a cluster with the
 * shipped manifests.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  applyManifests,
  core,
  createNode,
  type KubeClient,
  type Sandbox,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

import { APPS, type Deed, type Given, NEVER_WAS, OTHERS, OWN, cancelsEvacuation, givenIn, merge } from "./deeds.ts";
import { HOLDERS, JANE } from "./holders.ts";
const BASE = [
  "namespace.yaml",
  "crds/evacuations.yaml",
  "crds/nodeevacuations.yaml",
  "crds/rollingmaintenances.yaml",
  "crds/lifeboatconfigurations.yaml",
  "serviceaccount.yaml",
  "rbac.yaml",
  "evacuation-roles.yaml",
  "evacuation-requester.yaml",
];

describe.each(HOLDERS)("$of", ({ user, files = [], sentences }) => {
  let sandbox: Sandbox;
  let by: KubeClient;
  let given: Given;
  beforeAll(async () => {
    sandbox = await startSandbox({});
    const { client } = sandbox;
    await createNode(client, "node-1");
    await applyManifests(
      client,
      [...BASE, ...files.filter((file) => !file.startsWith("test:"))].flatMap(readManifests),
    );
    for (const name of [APPS, OTHERS])
      await client.create(core.namespaces, { metadata: { name } }).catch(() => undefined);
    await client.create(core.secrets, { metadata: { namespace: OWN, name: "lifeboat-server" } }).catch(() => undefined);
    const lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace: OWN, name: "lifeboat-server" },
    };
    await client.raw({ method: "POST", path: `/apis/coordination.k8s.io/v1/namespaces/${OWN}/leases`, body: lease });
    for (const role of files.filter((file) => file.startsWith("test:"))) await bind(client, role.slice(5));
    const groups =
      user === JANE
        ? ["system:authenticated"]
        : ["system:serviceaccounts", `system:serviceaccounts:${OWN}`, "system:authenticated"];
    by = client.as(user, groups);
    given = givenIn(sandbox);
  });
  afterAll(() => sandbox.stop());

  test.each(sentences.map(([words, can, cannot = []]) => ({ words, can, cannot })))(
    "$words",
    async ({ can, cannot }) => {
      for (const deed of can)
        expect(await codeOf(deed)).toSatisfy(
          (code: number) => code < 300 || (deed === cancelsEvacuation && code === 500),
        );
      for (const deed of cannot) expect([403, 422]).toContain(await codeOf(deed));
    },
  );

  const codeOf = async (deed: Deed) => (await by.raw(await deed(given))).code;
});

async function bind(client: KubeClient, role: string): Promise<void> {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${APPS}/rolebindings`;
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: JANE }];
  const body = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: role, namespace: APPS },
    roleRef,
    subjects,
  };
  expect((await client.raw({ method: "POST", path, body })).code).toBe(201);
}

test("a VMI with an owner that does not exist is deleted by garbage collection", async () => {
  const sandbox = await startSandbox({});
  await sandbox.client.create(core.namespaces, { metadata: { name: APPS } });
  const path = await givenIn(sandbox).vmi();
  await sandbox.client.raw(merge(path, { metadata: { ownerReferences: [NEVER_WAS] } }));
  await expect.poll(async () => (await sandbox.client.raw({ method: "GET", path })).code).toBe(404);
  await sandbox.stop();
});

/**
 * Matches the rows of SECURITY.md for keys to Lifeboat's endpoints, and for read or write access to objects. Other
 * tests cover these rows.
 */
const ELSEWHERE = /^(`webhookToken`|`operatorToken`|`relaySecret`|write access to|read access to)/;

test("SECURITY.md has exactly the tested sentences", () => {
  const text = readFileSync(new URL("../../../SECURITY.md", import.meta.url), "utf8");
  const [, table = ""] = text.split("| holder of | can |\n| --- | --- |\n");
  const [rows = ""] = table.split("\n\n");
  const written = rows.split("\n").filter((row) => !ELSEWHERE.test(row.replace(/^\| /, "")));
  expect(written).toEqual(
    HOLDERS.map(({ of, sentences }) => `| ${of} | ${sentences.map(([words]) => words).join("; ")} |`),
  );
});
