/**
 * Tests the garbage collector, the deletion of namespaces, and the deletion of the token Secrets of deleted service
 * accounts.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { configMaps, namespaces, secrets, serviceAccounts } from "../../actors/resources.ts";
import { useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "apps";
const world = useSandbox({ empty: true });

beforeAll(async () => {
  await world.sandbox.client.create(namespaces, { metadata: { name: NAMESPACE } });
});

const keyOf = (name: string) => ({ namespace: NAMESPACE, name });
const exists = async (name: string) => (await world.sandbox.client.get(configMaps, keyOf(name))) !== undefined;
const isGone = (name: string) => world.pass(async () => !(await exists(name)));

async function create(name: string, owners: readonly { name: string; uid: string; block?: boolean }[] = []) {
  const ownerReferences = owners.map(({ name, uid, block }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name,
    uid,
    ...(block && { blockOwnerDeletion: true }),
  }));
  const metadata = { namespace: NAMESPACE, name, ...(owners.length > 0 && { ownerReferences }) };
  return (await world.sandbox.client.create(configMaps, { metadata })).metadata;
}

const NOBODY = { name: "nobody", uid: "00000000-0000-0000-0000-000000000000" };

describe("the garbage collector", () => {
  test("deletes an object whose only owner does not exist", async () => {
    await create("orphan", [NOBODY]);
    await isGone("orphan");
  });

  test("deletes an object if no object has the owner's UID, although another object has the owner's name", async () => {
    const namesake = await create("namesake");
    await create("mistaken", [{ name: namesake.name, uid: NOBODY.uid }]);
    await isGone("mistaken");
    expect(await exists("namesake")).toBe(true);
  });

  test("deletes the dependents of a deleted owner, and then the dependents of these dependents", async () => {
    const owner = await create("grandparent");
    const child = await create("parent", [owner]);
    await create("child", [child]);
    await world.sandbox.client.delete(configMaps, owner);
    await isGone("child");
    expect(await exists("parent")).toBe(false);
  });

  test("keeps an object while one of its two owners exists, and removes the reference to the missing owner", async () => {
    const [stays, goes] = [await create("stays"), await create("goes")];
    await create("shared", [stays, goes]);
    await world.sandbox.client.delete(configMaps, goes);
    const shared = await world.until(
      configMaps,
      keyOf("shared"),
      ({ metadata }) => metadata.ownerReferences?.length === 1,
    );
    expect(shared.metadata.ownerReferences).toMatchObject([{ name: "stays" }]);
  });

  test("deletes blocking dependents first if their owner is deleted in the foreground", async () => {
    const owner = await create("foreground");
    const dependent = await create("blocking", [{ ...owner, block: true }]);
    const held = { metadata: { finalizers: ["example.com/hold"] } };
    await world.sandbox.client.patch(configMaps, dependent, { type: "merge", body: held });
    await world.sandbox.client.delete(configMaps, owner, { propagationPolicy: "Foreground" });
    await world.until(configMaps, dependent, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(await exists("foreground")).toBe(true);
    await world.sandbox.client.patch(configMaps, dependent, { type: "merge", body: { metadata: { finalizers: [] } } });
    await isGone("foreground");
    expect(await exists("blocking")).toBe(false);
  });

  test("removes the owner reference of orphaned dependents", async () => {
    const owner = await create("leaver");
    await create("left", [owner]);
    await world.sandbox.client.delete(configMaps, owner, { propagationPolicy: "Orphan" });
    await isGone("leaver");
    const left = await world.sandbox.client.get(configMaps, keyOf("left"));
    expect(left?.metadata.ownerReferences ?? []).toEqual([]);
  });
});

test("a deleted namespace is removed with everything in it", async () => {
  const { client } = world.sandbox;
  await client.create(namespaces, { metadata: { name: "doomed" } });
  await client.create(configMaps, { metadata: { namespace: "doomed", name: "content" } });
  await client.delete(namespaces, { name: "doomed" });
  await world.pass(async () => (await client.get(namespaces, { name: "doomed" })) === undefined);
  expect(await client.get(configMaps, { namespace: "doomed", name: "content" })).toBeUndefined();
});

const whoIs = (token: string) =>
  world.sandbox.client.raw({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    headers: { authorization: `Bearer ${token}` },
    body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
  });

describe("token Secrets", () => {
  const type = "kubernetes.io/service-account-token";
  const LAST_USED = "kubernetes.io/legacy-token-last-used";
  const createSecret = (name: string, account: string) =>
    world.sandbox.client.create(secrets, {
      metadata: { ...keyOf(name), annotations: { "kubernetes.io/service-account.name": account } },
      type,
    });

  test("get a valid token, the CA certificate and the namespace", async () => {
    const { client, caPem } = world.sandbox;
    const account = await client.create(serviceAccounts, { metadata: keyOf("robot") });
    await createSecret("robot-token", "robot");
    const secret = await world.until(secrets, keyOf("robot-token"), ({ data }) => data?.["token"] !== undefined);
    expect(secret.metadata.annotations).toMatchObject({ "kubernetes.io/service-account.uid": account.metadata.uid });
    expect(decode(secret.data?.["ca.crt"])).toBe(caPem);
    expect(decode(secret.data?.["namespace"])).toBe(NAMESPACE);
    expect(secret.metadata.labels?.[LAST_USED]).toBeUndefined();
    expect(await whoIs(decode(secret.data?.["token"]))).toMatchObject({
      code: 201,
      body: { status: { userInfo: { username: `system:serviceaccount:${NAMESPACE}:robot` } } },
    });
    const used = await client.get(secrets, keyOf("robot-token"));
    expect(used?.metadata.labels?.[LAST_USED]).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  test("have the same token if they are recreated with the same name, and a different token with another name", async () => {
    const { client } = world.sandbox;
    const made = async (name: string) => {
      await createSecret(name, "maker");
      const { data } = await world.until(secrets, keyOf(name), (one) => one.data?.["token"] !== undefined);
      return decode(data?.["token"]);
    };
    await client.create(serviceAccounts, { metadata: keyOf("maker") });
    const [first, other] = [await made("first"), await made("other")];
    expect(other).not.toBe(first);
    await client.delete(secrets, keyOf("first"));
    expect(await whoIs(first)).toMatchObject({ code: 401 });
    expect(await made("first")).toBe(first);
    expect(await whoIs(first)).toMatchObject({ code: 201 });
  });

  test("are deleted together with their account, or at once if the account does not exist", async () => {
    const { client } = world.sandbox;
    const isGone = (name: string) => world.pass(async () => (await client.get(secrets, keyOf(name))) === undefined);
    await createSecret("of-nobody", "nobody");
    await isGone("of-nobody");
    await client.delete(serviceAccounts, keyOf("robot"));
    await isGone("robot-token");
  });
});

function decode(text = ""): string {
  return Buffer.from(text, "base64").toString();
}
