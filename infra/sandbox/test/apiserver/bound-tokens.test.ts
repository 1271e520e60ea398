/** Tests tokens that are bound to an object. A bound token becomes invalid when its object is deleted. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { valueAt } from "../contract/value-at.ts";
import { type Started, start } from "./started.ts";

const CORE = "/api/v1/namespaces/default";
let started: Started;

beforeAll(async () => {
  started = await start();
  for (const name of ["default", "other"]) await create(`${CORE}/serviceaccounts`, { metadata: { name } });
});
afterAll(() => started.stop());

async function create(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await started.admin.send({ method: "POST", path, body });
  expect(answer.code, answer.text).toBe(201);
  return answer.body;
}

const spec = { containers: [{ name: "c", image: "i" }] };

// prettier-ignore
test.each([
  // kind     path                     body
  ["Pod",    `${CORE}/pods`,          { metadata: { name: "p" }, spec }],
  ["Secret", `${CORE}/secrets`,       { metadata: { name: "s" } }],
  ["Node",   "/api/v1/nodes",         { metadata: { name: "n" } }],
] as const)("a token bound to a %s is invalid after the deletion of this object", async (kind, path, body) => {
  const { name } = body.metadata;
  const uid = valueAt(await create(path, body), "metadata.uid");
  const boundObjectRef = { apiVersion: "v1", kind, name, uid };
  const issued = await create(`${CORE}/serviceaccounts/default/token`, { spec: { boundObjectRef } });
  const token = String(valueAt(issued, "status.token"));
  const ask = () =>
    started.admin.send({ method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: {}, token });
  const { code, body: me } = await ask();
  expect(code).toBe(201);
  expect(valueAt(me, "status.userInfo.username")).toBe("system:serviceaccount:default:default");
  const key = `authentication.kubernetes.io/${kind.toLowerCase()}-uid`;
  const extra = Object(valueAt(me, "status.userInfo.extra"));
  expect(extra[key]).toEqual(kind === "Secret" ? undefined : [uid]);
  const other = { ...boundObjectRef, uid: "0-0" };
  const refused = { method: "POST", path: `${CORE}/serviceaccounts/default/token`, body: { spec: { boundObjectRef: other } } };
  expect((await started.admin.send(refused)).code).toBe(409);
  await started.admin.send({ method: "DELETE", path: `${path}/${name}` });
  expect((await ask()).code).toBe(401);
});
