/** virt-api's server answers anything it gets, and goes on. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startVirtApi, type VirtApi } from "../../kubevirt/virt-api.ts";
import { PATHS } from "../../kubevirt/webhooks/configurations.ts";
import { startSandbox, type Sandbox } from "../../sandbox.ts";

let sandbox: Sandbox;
let virtApi: VirtApi;
beforeAll(async () => {
  sandbox = await startSandbox({ empty: true });
  virtApi = await startVirtApi(sandbox.client, sandbox.authority);
});
afterAll(async () => {
  await virtApi.stop();
  await sandbox.stop();
});

test.each([
  ["a path that is no URL", "//", "{}", 404],
  ["a path that is not its own", "/nothing", "{}", 404],
  ["no review at all", PATHS.mutateVmi, "{", 400],
  ["a review of nothing", PATHS.admitEviction, "{}", 400],
  ["a review", `${PATHS.mutateVmi}?timeout=10s`, '{"request":{"uid":"u","operation":"DELETE"}}', 200],
])("%s", async (_title, path, body, code) => {
  const outgoing = request(virtApi.url, { path, method: "POST", ca: sandbox.caPem });
  outgoing.end(body);
  const [answer] = await once(outgoing, "response");
  await text(answer);
  expect(answer.statusCode).toBe(code);
});
