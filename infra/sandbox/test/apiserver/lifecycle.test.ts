/** Tests restarts of the server, expired tokens, the end of watches, and compaction. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type Started, start } from "./started.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";
const map = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

let started: Started | undefined;
afterEach(() => started?.stop());

async function starting(...options: Parameters<typeof start>): Promise<Started> {
  started = await start(...options);
  return started;
}

describe("a restart", () => {
  test("keeps all objects", async () => {
    const { admin, server } = await starting();
    const created = await admin.send({ method: "POST", path: MAPS, body: map("a") });
    await server.suspend();
    await expect(admin.send({ method: "GET", path: `${MAPS}/a` })).rejects.toThrow();
    await server.resume();
    expect((await admin.send({ method: "GET", path: `${MAPS}/a` })).body).toEqual(created.body);
  });

  test("is not delayed by a client that has not finished its TLS handshake", async () => {
    const { server } = await starting();
    const client = connect(server.port, "127.0.0.1");
    await once(client, "connect");
    const closed = once(client, "close");
    await server.suspend();
    await closed;
    await server.resume();
  });

  test("lets a watch continue from its last resourceVersion", async () => {
    const { admin, server } = await starting();
    const from = String(
      Reflect.get(Object((await admin.send({ method: "GET", path: MAPS })).body.metadata), "resourceVersion"),
    );
    await admin.send({ method: "POST", path: MAPS, body: map("a") });
    await server.suspend();
    await expect(admin.send({ method: "GET", path: MAPS })).rejects.toThrow();
    await server.resume();
    const { text } = await admin.send({
      method: "GET",
      path: `${MAPS}?watch=1&timeoutSeconds=1&resourceVersion=${from}`,
    });
    expect(text).toContain('"type":"ADDED"');
  });
});

describe("with the server's clock", () => {
  test("a service account's token expires", async () => {
    let now = new Date("2030-01-01T00:00:00Z");
    const { admin } = await starting({ now: () => now });
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await admin.send({ method: "POST", path: accounts, body: { metadata: { name: "a" } } });
    const request = { spec: { expirationSeconds: 600 } };
    const { body } = await admin.send({ method: "POST", path: `${accounts}/a/token`, body: request });
    const { token, expirationTimestamp } = Object(body.status);
    expect(expirationTimestamp).toBe("2030-01-01T00:10:00Z");
    const ask = async () => (await admin.send({ method: "GET", path: "/api", token })).code;
    expect(await ask()).toBe(200);
    now = new Date("2030-01-01T00:10:01Z");
    expect(await ask()).toBe(401);
  });

  test("a token of a deleted account is invalid", async () => {
    const { admin } = await starting();
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await admin.send({ method: "POST", path: accounts, body: { metadata: { name: "a" } } });
    const { body } = await admin.send({ method: "POST", path: `${accounts}/a/token`, body: {} });
    const { token } = Object(body.status);
    await admin.send({ method: "DELETE", path: `${accounts}/a` });
    expect((await admin.send({ method: "GET", path: "/api", token })).code).toBe(401);
  });
});

describe("after a compaction", () => {
  test("old resourceVersions are gone, and a watch from an old resourceVersion gets an error event", async () => {
    const { admin, server } = await starting();
    for (const name of ["a", "b", "c"]) await admin.send({ method: "POST", path: MAPS, body: map(name) });
    const page = await admin.send({ method: "GET", path: `${MAPS}?limit=2` });
    const { continue: token, resourceVersion } = Object(page.body.metadata);
    await admin.send({ method: "DELETE", path: `${MAPS}/a` });
    server.compact();
    const watch = await admin.send({ method: "GET", path: `${MAPS}?watch=true&resourceVersion=${resourceVersion}` });
    expect(watch.code).toBe(200);
    expect(JSON.parse(watch.text)).toMatchObject({
      type: "ERROR",
      object: {
        kind: "Status",
        code: 410,
        reason: "Expired",
        message: expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/),
      },
    });
    const exact = await admin.send({
      method: "GET",
      path: `${MAPS}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
    });
    expect(exact.body).toMatchObject({ code: 410, reason: "Expired" });
    const next = await admin.send({ method: "GET", path: `${MAPS}?limit=2&continue=${token}` });
    expect(next.body).toMatchObject({ code: 410, reason: "Expired", metadata: { continue: expect.any(String) } });
    const inconsistent = Object(next.body.metadata).continue;
    await admin.send({ method: "POST", path: MAPS, body: map("d") });
    const rest = await admin.send({ method: "GET", path: `${MAPS}?limit=2&continue=${inconsistent}` });
    expect(rest.body).toMatchObject({ items: [{ metadata: { name: "c" } }, { metadata: { name: "d" } }] });
  });
});
